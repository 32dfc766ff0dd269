from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response

from autotune.dashboard.access import Door
from autotune.dashboard.app import create_app
from db import inbox, queries
from db.engine import open_reader
from tests.autotune.dashboard.conftest import HERE
from tests.autotune.dashboard.sample_study import make_sample
from tests.db.nights import Night

SETTINGS = {
    "mem_fraction_static": 0.9,
    "cuda_graph_max_bs": 256,
    "speculative_algorithm": "off",
    "all_reduce": "nccl",
}


@pytest.fixture
def steered(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Night, TestClient]]:
    """A night that runs, and a reader with the token."""
    monkeypatch.setattr("autotune.dashboard.source.CHECK_INTERVAL_S", 0.0)
    night = make_sample(tmp_path / "sample", searched=3)
    headers = {"Authorization": "Bearer right"}
    with TestClient(create_app(night.path, Door("right")), base_url=HERE, headers=headers) as client:
        yield night, client
    night.close()


def _ask(client: TestClient, **request: Any) -> Response:
    return client.post("/api/studies/sample/requests", json=request)


def test_a_stop_waits_for_the_runner_and_is_listed(steered: tuple[Night, TestClient]) -> None:
    night, client = steered
    assert _ask(client, kind="stop_after_trial").status_code == 202
    (waiting,) = inbox.waiting(night.journal.engine)
    assert waiting.kind == "stop_after_trial"
    (listed,) = client.get("/api/studies/sample/requests").json()
    assert (listed["kind"], listed["done_at"]) == ("stop_after_trial", None)
    assert "waiting for the night" in client.get("/studies/sample").text


def test_settings_are_checked_before_they_are_queued(steered: tuple[Night, TestClient]) -> None:
    night, client = steered
    refused = [
        ({**SETTINGS, "mem_fraction_static": 0.99}, "0.7 to 0.94"),
        ({**SETTINGS, "mem_fraction": 0.9}, "mem_fraction is not in [space]"),
        ({"mem_fraction_static": 0.9}, "is missing"),
        ({**SETTINGS, "mem_fraction_static": 0.88, "cuda_graph_max_bs": 512}, "has run them already"),
    ]
    for settings, sentence in refused:
        answer = _ask(client, kind="try_settings", settings=settings)
        assert answer.status_code == 422
        assert sentence in answer.json()["detail"]
    assert inbox.waiting(night.journal.engine) == []
    answer = _ask(client, kind="try_settings", settings=SETTINGS)
    assert answer.status_code == 202
    assert answer.json()["sentence"] == "The settings are queued; the night tries them next."
    (wish,) = inbox.waiting(night.journal.engine)
    assert wish.payload["settings"] == SETTINGS


def test_a_pinned_baseline_counts_at_once(steered: tuple[Night, TestClient]) -> None:
    _, client = steered
    assert client.get("/api/studies/sample/best").json()["baseline"] == 0
    assert _ask(client, kind="pin_baseline", trial=3).status_code == 202
    assert client.get("/api/studies/sample/best").json()["baseline"] == 3
    trials = client.get("/api/studies/sample/trials").json()
    assert trials[0]["changes"] == {"cuda_graph_max_bs": [128, 512]}


def test_what_has_no_result_is_no_baseline(steered: tuple[Night, TestClient]) -> None:
    _, client = steered
    for trial, why in ((2, "trial 2 failed"), (4, "trial 4 has no result")):
        answer = _ask(client, kind="pin_baseline", trial=trial)
        assert answer.status_code == 409
        assert answer.json() == {"detail": f"{why}; only a trial that worked can be the baseline"}
    assert client.get("/api/studies/sample/best").json()["baseline"] == 0


def test_a_trial_that_is_not_there_is_named_without_the_servers_folders(
    steered: tuple[Night, TestClient],
) -> None:
    _, client = steered
    for request in ({"kind": "pin_baseline"}, {"kind": "note", "text": "odd"}):
        answer = _ask(client, trial=999, **request)
        assert answer.status_code == 409
        assert answer.json() == {"detail": "the study has no trial 999"}


@pytest.mark.parametrize("trial", [True, 1.0, "1", -1, 10**30])
def test_a_trial_is_a_number(steered: tuple[Night, TestClient], trial: Any) -> None:
    _, client = steered
    for request in ({"kind": "pin_baseline"}, {"kind": "note", "text": "odd"}):
        answer = _ask(client, trial=trial, **request)
        assert answer.status_code == 422
        assert "trial: it should be" in answer.json()["detail"]


def test_a_note_is_kept_as_text(steered: tuple[Night, TestClient]) -> None:
    night, client = steered
    assert _ask(client, kind="note", trial=1, text="<b>odd</b>").status_code == 202
    assert "&lt;b&gt;odd&lt;/b&gt;" in client.get("/studies/sample/trials/1").text
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert [note.text for note in queries.notes(connection)] == ["<b>odd</b>"]
    assert _ask(client, kind="note", text="x" * 5000).status_code == 422


@pytest.mark.parametrize("text", ["", " \n\t ", "\u00a0", "\u200b", "\u202e\x00"])
def test_a_note_has_something_to_say(steered: tuple[Night, TestClient], text: str) -> None:
    _, client = steered
    answer = _ask(client, kind="note", text=text)
    assert answer.status_code == 422
    assert answer.json() == {"detail": "note.text: the note is empty; write at least one word"}


def test_a_note_cannot_turn_the_words_around_it(steered: tuple[Night, TestClient]) -> None:
    night, client = steered
    sent = "  fans\x00 \x1b[31mwere\u202e loud\u2066:\r\n\tall night \N{SNOWMAN} "
    assert _ask(client, kind="note", text=sent).status_code == 202
    with open_reader(night.path) as reader, reader.connect() as connection:
        (note,) = queries.notes(connection)
    assert note.text == "fans [31mwere loud:\n\tall night \N{SNOWMAN}"


@pytest.mark.parametrize(
    "body",
    [
        b'{"kind": "note", "text": "\\ud800"}',
        b'{"kind": "\\ud800"}',
        b'{"kind": "note", "text": "odd", "\\ud800": 1}',
        b'{"kind": "note"',
    ],
)
def test_what_is_no_text_is_refused(steered: tuple[Night, TestClient], body: bytes) -> None:
    _, client = steered
    headers = {"Content-Type": "application/json"}
    answer = client.post("/api/studies/sample/requests", content=body, headers=headers)
    assert answer.status_code == 422
    assert isinstance(answer.json()["detail"], str)


def test_what_was_sent_is_not_sent_back(steered: tuple[Night, TestClient]) -> None:
    _, client = steered
    long = "x" * 5000
    for request in (
        {"kind": "note", "text": long},
        {"kind": long},
        {"kind": "stop_now", long: 1},
        {"kind": "stop_now", **{f"key{place}": 1 for place in range(500)}},
    ):
        answer = _ask(client, **request)
        assert answer.status_code == 422
        assert len(answer.content) < 500


@pytest.mark.parametrize("tells_its_length", [True, False])
def test_a_long_body_is_not_read_to_its_end(
    steered: tuple[Night, TestClient], tells_its_length: bool
) -> None:
    night, client = steered
    body = b'{"kind": "stop_now", "x": "' + b"x" * 70_000 + b'"}'
    answer = client.post(
        "/api/studies/sample/requests",
        content=body if tells_its_length else iter([body[:50_000], body[50_000:]]),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 413
    assert answer.json() == {"detail": "the request is too long; send at most 64 KiB"}
    assert inbox.waiting(night.journal.engine) == []


def test_nothing_else_can_be_asked_for(steered: tuple[Night, TestClient]) -> None:
    night, client = steered
    for request, why in (
        ({"kind": "run", "command": "rm"}, "'kind' should be one of 'stop_after_trial', "),
        ({"kind": "stop_now", "command": "rm"}, "stop_now.command: Extra inputs are not permitted"),
        ({}, "'kind' is missing"),
    ):
        answer = client.post("/api/studies/sample/requests", json=request)
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith(why)
    assert inbox.waiting(night.journal.engine) == []


def test_a_night_that_is_over_cannot_be_stopped(night: Night) -> None:
    with TestClient(
        create_app(night.path, Door("right")), base_url=HERE, headers={"Authorization": "Bearer right"}
    ) as client:
        answer = client.post("/api/studies/night/requests", json={"kind": "stop_now"})
    assert answer.status_code == 409
    assert "nothing to stop" in answer.json()["detail"]
    assert inbox.waiting(night.journal.engine) == []


def test_settings_for_a_night_that_is_over_wait_for_the_next_run(steered: tuple[Night, TestClient]) -> None:
    night, client = steered
    night.journal.end_run("stopped after the trial, as asked")
    answer = _ask(client, kind="try_settings", settings=SETTINGS)
    assert answer.status_code == 202
    assert (
        answer.json()["sentence"] == "The settings are queued; the next run of this study tries them first."
    )
    assert len(inbox.waiting(night.journal.engine)) == 1
