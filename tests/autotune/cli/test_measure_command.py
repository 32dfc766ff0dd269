"""``autotune measure`` against servers whose pace is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from autotune.cli import measure
from autotune.cli.main import app
from trials.testing.pace import Fault, Pace
from trials.testing.paced_server import PacedServer

QUICK = ("--seconds", "1", "--output-tokens", "64")


def autotune(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["measure", *map(str, words)])


@pytest.mark.slow
def test_json_is_the_measurement_object_of_every_level() -> None:
    with PacedServer(Pace(step_s=0.005)) as server:
        result = autotune(server.url, "--levels", "1,4", *QUICK, "--json")
    assert result.exit_code == 0, result.output
    one, four = json.loads(result.stdout)["levels"]
    assert (one["level"], four["level"]) == (1, 4)
    assert one["decode_tok_s"] == pytest.approx(200, rel=0.1)
    assert four["decode_tok_s"] == pytest.approx(800, rel=0.15)
    assert result.stderr.splitlines() == ["measuring 1 stream", "measuring 4 streams"]
    assert set(one) >= {"decode_tok_s_ci95", "ttft_ms", "accept_length", "stopped_by"}


@pytest.mark.slow
def test_a_table_names_its_units_and_the_prompts_are_the_users(tmp_path: Path) -> None:
    prompts = tmp_path / "mine.jsonl"
    prompts.write_text('{"prompt": "Sing of arms and a woman."}\n')
    with PacedServer(Pace(step_s=0.005)) as server:
        result = autotune(server.url, "--prompts", prompts, *QUICK)
        asked = json.dumps(server.requests)
    assert result.exit_code == 0, result.output
    assert "tok/s (95 %)" in result.stdout
    assert "TTFT p50 / p95, ms" in result.stdout
    assert "arms and a woman" in asked


@pytest.mark.slow
def test_two_servers_are_compared_with_an_interval() -> None:
    with PacedServer(Pace(step_s=0.01)) as slow, PacedServer(Pace(step_s=0.005)) as fast:
        words = ("--compare", slow.url, fast.url, "--rounds", "3", "--seconds", "3", "--output-tokens", "32")
        told = json.loads(autotune(*words, "--json").stdout)["levels"][0]
        shown = autotune(*words)
    assert told["ratio"] == pytest.approx(2.0, rel=0.15)
    low, high = told["ratio_ci95"]
    assert low < told["ratio"] < high
    assert (len(told["first"]), len(told["second"])) == (3, 3)
    assert "the second is faster" in shown.stdout
    assert shown.stderr == "measuring 1 stream\n"


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("http://127.0.0.1:1", "--levels", "one"), "--levels is 'one'"),
        (("http://127.0.0.1:1", "--levels", "0"), "--levels is '0'"),
        (("http://127.0.0.1:1", "http://127.0.0.1:2"), "two with --compare"),
        (("http://127.0.0.1:1", "--compare"), "two with --compare"),
        (("http://127.0.0.1:1", "--levels", "1,1000000"), "1000000 streams; write at most 8192"),
        (("ftp://localhost",), "'ftp://localhost' is no server address"),
        (("http://127.0.0.1:99999",), "'http://127.0.0.1:99999' is no server address"),
        (("http://127.0.0.1:0",), "'http://127.0.0.1:0' is no server address"),
        (("http://[::1",), "'http://[::1' is no server address"),
        (("http://127.0.0.1:1", "--prompts", "/no/file.jsonl"), "/no/file.jsonl"),
    ],
)
def test_bad_input_is_named_before_anything_is_sent(words: tuple[str, ...], sentence: str) -> None:
    result = autotune(*words)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_more_streams_than_files_may_be_open_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "getrlimit", lambda _: (256, 4096))
    result = autotune("http://127.0.0.1:9", "--levels", "8,193", *QUICK)
    assert result.exit_code == 2
    assert "193 streams, but this process may have only 256 files open; write at most 192" in result.stderr
    assert autotune("http://127.0.0.1:9", "--levels", "192", *QUICK).exit_code == 1


def test_a_server_that_is_not_there_is_a_failure_in_one_sentence() -> None:
    result = autotune("http://127.0.0.1:9", *QUICK)
    assert result.exit_code == 1
    assert "internal error" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_a_server_that_refuses_is_a_failure() -> None:
    with PacedServer(Pace(fault=Fault.REFUSE)) as server:
        result = autotune(server.url, *QUICK)
    assert result.exit_code == 1
    assert "HTTP 400" in result.stderr
