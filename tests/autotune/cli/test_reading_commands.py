from __future__ import annotations

import json
from pathlib import Path

import optuna
import pytest
from typer.testing import CliRunner, Result

from autotune.cli.main import app
from autotune.presets import preset
from tests.autotune.cli.told_studies import ToldStudy, completed, settings_failed


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One told study, only read by the tests."""
    folder = tmp_path_factory.mktemp("studies")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = ToldStudy(folder)
    study.tell(512, completed(82.0, 300.0), role="baseline")
    study.tell(128, completed(120.0, 200.0))
    study.tell(128, settings_failed())
    study.close()
    return folder


def autotune(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_best_says_who_won_by_how_much_and_prints_the_command(studies: Path) -> None:
    result = autotune("best", "--studies", studies)
    assert result.exit_code == 0
    assert "Trial 1 is the best: 120.0 simulated tok/s" in result.stdout
    assert "1.46 times" in result.stdout
    assert "--cuda-graph-max-bs 128" in result.stdout
    assert "export NCCL_X='1 2'" in result.stdout


def test_best_of_another_level(studies: Path) -> None:
    result = autotune("best", "night", "--studies", studies, "--level", "8", "--json")
    told = json.loads(result.stdout)
    assert (told["best"], told["level"], told["measurement"]["decode_tok_s"]) == (0, 8, 300.0)


@pytest.mark.parametrize("written", ["night", "night/study.db"])
def test_a_study_is_a_name_or_a_file(studies: Path, written: str) -> None:
    argument = written if written == "night" else studies / written
    assert autotune("best", argument, "--studies", studies).exit_code == 0


def test_the_export_has_the_users_own_host_and_port_and_nothing_of_ours(studies: Path) -> None:
    script = autotune("export", "--studies", studies).stdout
    assert "--host 0.0.0.0 \\\n  --port 8000\n" in script
    assert "41234" not in script
    assert "AUTOTUNE_MARK" not in script


@pytest.mark.parametrize("name", ["docker", "compose", "systemd", "sglang-yaml", "json"])
def test_other_formats(studies: Path, name: str) -> None:
    result = autotune("export", "--studies", studies, "--format", name)
    assert result.exit_code == 0
    assert "cuda-graph-max-bs" in result.stdout


def test_a_file_for_each_level(studies: Path, tmp_path: Path) -> None:
    words = ("export", "--studies", studies, "--all-levels", "--output", tmp_path / "out")
    result = autotune(*words)
    assert result.exit_code == 0, result.stderr
    files = {file.name: file.read_text() for file in (tmp_path / "out").iterdir()}
    assert sorted(files) == ["launch-1-streams.sh", "launch-8-streams.sh"]
    assert "--cuda-graph-max-bs 128" in files["launch-1-streams.sh"]
    assert "--cuda-graph-max-bs 512" in files["launch-8-streams.sh"]
    again = autotune(*words)
    assert again.exit_code == 1
    assert "launch-1-streams.sh" in again.stderr


def test_defaults_of_a_server_that_lacks_what_ran_prove_nothing(studies: Path) -> None:
    result = autotune("export", "--studies", studies, "--minimal")
    assert result.exit_code == 2
    assert "--cuda-graph-max-bs is ambiguous" in result.stderr


def test_the_study_itself_can_be_exported(studies: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert autotune("export", "--studies", studies, "--db", copy).exit_code == 0
    assert autotune("best", copy).exit_code == 0
    again = autotune("export", "--studies", studies, "--db", copy)
    assert again.exit_code == 2
    assert "already" in again.stderr


@pytest.mark.parametrize(
    "words, code, sentence",
    [
        (("export", "--format", "tar"), 2, "There is no format 'tar'; write one of: sh, docker"),
        (("export", "--level", "5"), 3, "has no level 5; it measures 1, 8"),
        (("best", "nope"), 2, "no study of this name"),
        (("bset",), 2, "No such command"),
        (("best", "--level", "x"), 2, "--level"),
    ],
)
def test_bad_input(studies: Path, words: tuple[str, ...], code: int, sentence: str) -> None:
    more = ("--studies", str(studies)) if words[0] != "bset" else ()
    result = autotune(*words, *more)
    assert result.exit_code == code
    assert sentence in result.stderr


def test_no_study_at_all_is_nothing_found(tmp_path: Path) -> None:
    result = autotune("best", "--studies", tmp_path)
    assert result.exit_code == 3
    assert "There is no study in" in result.stderr


def test_a_study_without_a_success_has_nothing_to_export(tmp_path: Path) -> None:
    study = ToldStudy(tmp_path)
    study.tell(128, settings_failed(), role="baseline")
    study.close()
    result = autotune("export", "--studies", tmp_path)
    assert result.exit_code == 3
    assert "Nothing has worked yet at 1 stream." in result.stderr


def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_text("not a database")
    result = autotune("best", other)
    assert result.exit_code == 2
    assert "not a study file" in result.stderr


def test_an_internal_error_is_one_sentence_with_a_log(
    tmp_path: Path, studies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> None:
        raise RuntimeError("gears lost")

    monkeypatch.setattr("autotune.cli.options.read_study", break_down)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    result = autotune("best", "--studies", studies)
    assert result.exit_code == 1
    assert "gears lost" in result.stderr
    assert "Traceback" not in result.output
    assert "Traceback" in (tmp_path / "state/autotune/errors.log").read_text()


def test_ctrl_c_is_130(studies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("autotune.cli.options.read_study", press)
    assert autotune("best", "--studies", studies).exit_code == 130


def test_diagnose_exits_0_whatever_it_finds(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-11-29 15:03:57] server_args={}\n")
    result = autotune("diagnose", log, "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (told["verdict"], told["kind"], told["file"]) == ("failed", "unknown", str(log))
    assert autotune("diagnose", log).exit_code == 0


def test_diagnose_of_an_empty_file_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "server.log").touch()
    result = autotune("diagnose", tmp_path / "server.log")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "server.log: is empty" in result.stderr


def test_diagnose_names_a_log_that_is_not_there(tmp_path: Path) -> None:
    result = autotune("diagnose", tmp_path / "no.log")
    assert result.exit_code == 2
    assert "no.log" in result.stderr


@pytest.mark.slow
def test_check_prints_the_plan_of_the_demo() -> None:
    result = autotune("check", preset("demo"))
    assert result.exit_code == 0
    for words in ("SIMULATED", "25 trials", "mem_fraction_static", "different servers", "baseline"):
        assert words in result.stdout


def test_check_names_every_mistake(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("[study]\nname = 'n'\n")
    result = autotune("check", file)
    assert result.exit_code == 2
    assert f"{file}:1: [study]: has no end" in result.stderr
    assert "[server]: is missing" in result.stderr


def test_check_names_a_server_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    text = preset("one-gpu").read_text().replace('"python", "-m", "sglang.launch_server"', '"/no/python"')
    file.write_text(text)
    result = autotune("check", file)
    assert result.exit_code == 2
    assert "[server] command: " in result.stderr
    assert "/no/python" in result.stderr


def test_version() -> None:
    assert autotune("--version").stdout.startswith("autotune 0.")
