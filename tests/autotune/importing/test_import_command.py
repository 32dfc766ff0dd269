"""``autotune import``: what is taken, as what, and what is refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import optuna
import pytest
from typer.testing import CliRunner, Result

from autotune.cli.main import app
from db.engine import open_reader
from db.imports import ImportedBoot, imported_boots
from tests.autotune.cli.told_studies import ToldStudy, completed, settings_failed

LOG = """\
[2026-11-29 15:03:57] server_args=ServerArgs(model_path='org/model', cuda_graph_max_bs=512, tp_size=8)
[2026-11-29 15:04:57] The server is fired up and ready to roll!
"""
CRASH = """\
[2026-11-29 15:03:57] server_args=ServerArgs(model_path='org/model', cuda_graph_max_bs=512, tp_size=8)
[2026-11-29 15:04:10 TP0] Load weight end. elapsed=12.00 s, type=X, avail mem=20.00 GB, mem usage=70.00 GB.
[2026-11-29 15:04:20 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=1.00 GB
[2026-11-29 15:04:30 TP0] Scheduler hit an exception: Traceback (most recent call last):
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 95 GiB
"""


def autotune(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["import", *map(str, words)])


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A study without trials that is told something."""
    study = ToldStudy(tmp_path / "studies")
    study.close()
    return study.path


def known(path: Path) -> list[ImportedBoot]:
    with open_reader(path) as reader, reader.connect() as connection:
        return imported_boots(connection)


def earlier(folder: Path) -> ToldStudy:
    study = ToldStudy(folder)
    study.tell(512, completed(80.0, 300.0), role="baseline")
    study.tell(128, settings_failed())
    return study


def test_the_same_machines_boots_are_data(target: Path, tmp_path: Path) -> None:
    source = earlier(tmp_path / "other")
    source.close()
    result = autotune(source.path, "--into", target)
    assert result.exit_code == 0, result.output
    assert "2 boots (1 worked, 1 failed), taken as data" in result.stdout
    good, bad = known(target)
    assert (good.settings, good.value, good.same) == ({"cuda_graph_max_bs": 512}, 80.0, True)
    assert bad.value is None
    assert bad.failure is not None
    assert bad.failure["kind"] == "oom_graph_capture"


def test_a_second_import_of_a_source_replaces_the_first(target: Path, tmp_path: Path) -> None:
    source = earlier(tmp_path / "other")
    autotune(source.path.parent, "--into", target)
    source.tell(128, completed(90.0, 310.0))
    source.close()
    autotune(source.path.parent, "--into", target)
    assert [boot.value for boot in known(target)] == [80.0, None, 90.0]


def test_what_differs_makes_it_a_weaker_prior_and_is_said(target: Path, tmp_path: Path) -> None:
    source = earlier(tmp_path / "other")
    source.close()
    change_card(source.path, "gpus", [{"name": "Imagined"}, {"name": "Imagined"}])
    told = json.loads(autotune(source.path, "--into", target, "--json").stdout)
    assert told[0]["reasons"] == ["GPUs: 2x Imagined there, 1x Imagined here"]
    assert "weaker prior (GPUs" in told[0]["sentence"]
    assert [boot.same for boot in known(target)] == [False, False]


def test_an_optuna_study_of_somebody_else_is_a_weaker_prior(target: Path, tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    study = optuna.create_study(storage=f"sqlite:///{path}", direction="maximize")
    for graph, value in ((128, 70.0), (999, 75.0)):
        study.enqueue_trial({"cuda_graph_max_bs": graph})
        trial = study.ask()
        trial.suggest_categorical("cuda_graph_max_bs", [128, 999])
        study.tell(trial, value)
    before = path.read_bytes()
    result = autotune(path, "--into", target)
    assert result.exit_code == 0, result.output
    assert "left out: trial 1" in result.stdout
    assert [(boot.value, boot.same) for boot in known(target)] == [(70.0, False)]
    assert path.read_bytes() == before


@pytest.mark.parametrize("same_machine, same", [((), False), (("--same-machine",), True)])
def test_a_log_with_its_result(
    target: Path, tmp_path: Path, same_machine: tuple[str, ...], same: bool
) -> None:
    log = tmp_path / "server.log"
    log.write_text(LOG)
    result = autotune(log, "--into", target, "--tok-per-s", "77.5", *same_machine)
    assert result.exit_code == 0, result.output
    (boot,) = known(target)
    assert (boot.settings, boot.value, boot.same) == ({"cuda_graph_max_bs": 512}, 77.5, same)
    assert ("add --same-machine" in result.stdout) is not same


def test_a_secret_in_a_logs_evidence_is_not_kept(target: Path, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    secret = CRASH.replace("tp_size=8", "tp_size=8, api_key='open-sesame'").replace(
        "GPU 0 has", "open-sesame GPU 0 has"
    )
    log.write_text(secret)
    assert autotune(log, "--into", target, "--same-machine").exit_code == 0
    kept = json.dumps(known(target)[0].failure)
    assert "open-sesame" not in kept
    assert "*** GPU 0 has" in kept


def test_a_log_with_its_failure(target: Path, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(CRASH)
    result = autotune(log, "--into", target, "--same-machine")
    assert result.exit_code == 0, result.output
    (boot,) = known(target)
    assert boot.value is None
    assert boot.failure is not None
    assert boot.failure["kind"] == "oom_graph_capture"


@pytest.mark.parametrize(
    "text, words, sentence",
    [
        (LOG, (), "say what it reached with --tok-per-s"),
        (CRASH, ("--tok-per-s", "9"), "was never ready"),
        (CRASH, (), "a failure elsewhere says nothing certain here"),
        (LOG.replace("512", "300"), ("--tok-per-s", "9"), "cuda_graph_max_bs = 300 is outside the space"),
        (LOG, ("--tok-per-s", "9", "--set", "cuda_graph_max_bs=128"), "the log says cuda_graph_max_bs = 512"),
        ("nothing\n", ("--tok-per-s", "9"), "no server_args line"),
    ],
)
def test_a_log_that_says_nothing_usable_is_bad_input_with_a_reason(
    target: Path, tmp_path: Path, text: str, words: tuple[str, ...], sentence: str
) -> None:
    log = tmp_path / "server.log"
    log.write_text(text)
    result = autotune(log, "--into", target, *words)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert known(target) == []


def test_a_setting_that_the_log_lacks_can_be_given(target: Path, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(LOG.replace("cuda_graph_max_bs=512, ", ""))
    lacking = autotune(log, "--into", target, "--tok-per-s", "9")
    assert "--set cuda_graph_max_bs=VALUE" in lacking.stderr
    assert (
        autotune(log, "--into", target, "--tok-per-s", "9", "--set", "cuda_graph_max_bs=128").exit_code == 0
    )
    assert known(target)[0].settings == {"cuda_graph_max_bs": 128}


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("/no/such.log",), "there is no such study or log"),
        (("x.log", "--set", "oops"), "write NAME=VALUE"),
        (("x.log", "--into", "a", "--study", "b.toml"), "give one of them"),
    ],
)
def test_bad_input(target: Path, words: tuple[str, ...], sentence: str) -> None:
    result = autotune(*words, *(() if "--into" in words else ("--into", str(target))))
    assert result.exit_code == 2
    assert sentence in result.stderr


def change_card(path: Path, column: str, value: object) -> None:
    import sqlite3

    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE autotune_study SET {column} = ?", (json.dumps(value),))
    connection.close()
