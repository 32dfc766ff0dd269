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
    assert _ask(client, kind="try_settings", settings=SETTINGS).status_code == 202
    (wish,) = inbox.waiting(night.journal.engine)
    assert wish.payload["settings"] == SETTINGS


def test_a_pinned_baseline_counts_at_once(steered: tuple[Night, TestClient]) -> None:
    _, client = steered
    assert client.get("/api/studies/sample/best").json()["baseline"] == 0
    assert _ask(client, kind="pin_baseline", trial=3).status_code == 202
    assert client.get("/api/studies/sample/best").json()["baseline"] == 3
    trials = client.get("/api/studies/sample/trials").json()
    assert trials[0]["changes"] == {"cuda_graph_max_bs": [128, 512]}
    assert _ask(client, kind="pin_baseline", trial=99).status_code == 409


def test_a_note_is_kept_as_text(steered: tuple[Night, TestClient]) -> None:
    night, client = steered
    assert _ask(client, kind="note", trial=1, text="<b>odd</b>").status_code == 202
    assert "&lt;b&gt;odd&lt;/b&gt;" in client.get("/studies/sample/trials/1").text
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert [note.text for note in queries.notes(connection)] == ["<b>odd</b>"]
    assert _ask(client, kind="note", text="").status_code == 422
    assert _ask(client, kind="note", text="x" * 5000).status_code == 422


def test_nothing_else_can_be_asked_for(steered: tuple[Night, TestClient]) -> None:
    night, client = steered
    for request in ({"kind": "run", "command": "rm"}, {"kind": "stop_now", "command": "rm"}, {}):
        assert client.post("/api/studies/sample/requests", json=request).status_code == 422
    assert inbox.waiting(night.journal.engine) == []


def test_a_night_that_is_over_cannot_be_stopped(night: Night) -> None:
    with TestClient(
        create_app(night.path, Door("right")), base_url=HERE, headers={"Authorization": "Bearer right"}
    ) as client:
        answer = client.post("/api/studies/night/requests", json={"kind": "stop_now"})
    assert answer.status_code == 409
    assert "nothing to stop" in answer.json()["detail"]
    assert inbox.waiting(night.journal.engine) == []
