from __future__ import annotations

from pathlib import Path

from trials.fingerprint import fingerprint


def model(folder: Path, *, config: str = "{}", weights: int = 1 << 20) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(config)
    (folder / "model-1.safetensors").write_bytes(b"\0" * weights)
    return str(folder)


def test_a_copy_has_the_same_fingerprint(tmp_path: Path) -> None:
    one, other = fingerprint(model(tmp_path / "a")), fingerprint(model(tmp_path / "b"))
    assert one == other
    assert one is not None
    assert "1 weight files of 0.0 GiB" in one


def test_another_config_or_other_weights_show(tmp_path: Path) -> None:
    found = {
        fingerprint(model(tmp_path / "a")),
        fingerprint(model(tmp_path / "b", config='{"heads": 8}')),
        fingerprint(model(tmp_path / "c", weights=5)),
    }
    assert len(found) == 3


def test_a_model_that_is_not_here_has_none(tmp_path: Path) -> None:
    assert fingerprint(str(tmp_path / "nowhere")) is None
    assert fingerprint("") is None
