"""``autotune explain`` on a study of the simulated box, with one real leave-one-out boot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from autotune.cli.main import app
from tests.autotune.cli.told_studies import ToldStudy, completed
from tests.e2e.box_study import BoxStudy


def autotune(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_nothing_has_won(tmp_path: Path) -> None:
    study = ToldStudy(tmp_path)
    study.tell(512, completed(82.0, 300.0), role="baseline")
    study.close()
    result = autotune("explain", "--studies", tmp_path)
    assert result.exit_code == 3
    assert "your own settings have won" in result.stderr


@pytest.mark.slow
def test_a_boot_without_a_setting_is_recorded_beside_the_study(tmp_path: Path) -> None:
    box = BoxStudy.write(tmp_path, trials=6)
    box.run()
    trials = len(box.trials())
    studies = box.study.parent
    believed = json.loads(autotune("explain", "--studies", studies, "--json").stdout)
    assert believed["simulated"] is True
    result = autotune("explain", "--studies", studies, "--boots", "1")
    assert result.exit_code == 0, result.stderr
    assert "booted to explain" in result.stdout or "does not run" in result.stdout
    assert len(json.loads((box.study / "explain.json").read_text())) == 1
    assert len(list((box.study / "explain").glob("000-*/server.log"))) == 1
    assert len(box.trials()) == trials
