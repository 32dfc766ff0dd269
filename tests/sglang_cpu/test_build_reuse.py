"""When a build of the real SGLang is reused. Builds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sglang_cpu import build
from tests.sglang_cpu.environment import require_sglang_cpu


def test_the_folder_is_outside_the_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AUTOTUNE_SGLANG_CPU", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert build.root_folder() == tmp_path / "sglang-autotune" / "sglang-cpu"
    monkeypatch.setenv("AUTOTUNE_SGLANG_CPU", str(tmp_path / "mine"))
    assert build.root_folder() == tmp_path / "mine"


def test_a_build_is_complete_until_the_recipe_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recipe, root = tmp_path / "recipe", tmp_path / "root"
    for folder in (recipe, root):
        folder.mkdir()
    (recipe / "packages.txt").write_text("one\n")
    monkeypatch.setattr(build, "RECIPE", recipe)
    assert not build.is_complete(root)
    (root / "stamp").write_text(build.recipe_stamp())
    assert build.is_complete(root)
    (recipe / "packages.txt").write_text("two\n")
    assert not build.is_complete(root)


def test_a_finished_build_is_not_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built: list[Path] = []
    monkeypatch.setenv("AUTOTUNE_SGLANG_CPU", str(tmp_path))
    monkeypatch.setattr(build, "_build", built.append)
    build.main()
    build.main()
    assert built == [tmp_path]
    assert f"is in {tmp_path}" in capsys.readouterr().out


@pytest.mark.parametrize(("ci", "ending"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_a_missing_build_is_skipped_at_home_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, ending: type[BaseException]
) -> None:
    monkeypatch.setenv("AUTOTUNE_SGLANG_CPU", str(tmp_path))
    monkeypatch.setenv("CI", ci)
    with pytest.raises(ending, match="make sglang-cpu"):
        require_sglang_cpu()
