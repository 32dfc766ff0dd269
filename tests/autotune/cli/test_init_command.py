"""``autotune init`` as it is typed, against the simulated box."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from autotune.cli.main import app
from autotune.spec import StudySpec
from tests.trials.box.conftest import KIMI, StartBox, start_box  # noqa: F401

OWN = "sglang serve --model-path moonshotai/Kimi-K2.5 --tp 8 --mem-fraction-static 0.86 --trust-remote-code"


def autotune(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_init_and_check(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    result = autotune("init", "--box", KIMI, "--command", OWN, "--output", file)
    assert result.exit_code == 0, result.stderr
    assert f"autotune check {file}" in result.stdout
    checked = autotune("check", file)
    assert checked.exit_code == 0, checked.stderr
    assert "--mem-fraction-static 0.86" in checked.stdout


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("mine")
    result = autotune("init", "--box", KIMI, "--command", OWN, "--output", file)
    assert result.exit_code == 2
    assert "is not overwritten" in result.stderr
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--command", OWN, "--url", "http://x"), "keep one of them"),
        ((), "say what to tune: --command"),
        (("--box", "no-such-box", "--model", "m"), "no-such-box"),
    ],
)
def test_bad_input(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    result = autotune("init", *words, "--output", tmp_path / "study.toml")
    assert result.exit_code == 2
    assert sentence in result.stderr


@pytest.mark.slow
def test_a_running_server_says_what_it_is(tmp_path: Path, start_box: StartBox) -> None:  # noqa: F811
    running = start_box("--mem-fraction-static", "0.87", "--trust-remote-code").wait_ready()
    file = tmp_path / "study.toml"
    result = autotune("init", "--box", KIMI, "--url", f"http://127.0.0.1:{running.port}", "--output", file)
    assert result.exit_code == 0, result.stderr
    assert autotune("check", file).exit_code == 0
    spec = StudySpec.load(file)
    assert spec.server.model_path == "some/model"
    assert spec.known_good[0]["layout"] == "tp8"
    assert spec.known_good[0]["mem_fraction_static"] == 0.87
    assert "--trust-remote-code" in spec.server.args
    assert "# Note: a running server does not tell" in spec.text
