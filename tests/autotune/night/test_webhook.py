"""Delivery: retried where that may help, complained of once, never waited for."""

from __future__ import annotations

import threading

import pytest

from autotune.night.letters import News
from autotune.night.webhook import Webhook
from tests.autotune.night.listeners import listening

NEWS = News("new_best", "kimi", False, "2026-11-29T21:00:00.000Z", "Trial 7 is the best.")


@pytest.fixture(autouse=True)
def _quick_and_direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.night.webhook.RETRIES_AFTER_S", (0.01, 0.01))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_news_arrive_in_order() -> None:
    complaints: list[str] = []
    with listening() as listener, Webhook(listener.url, complaints.append) as webhook:
        webhook.post(NEWS)
        webhook.post(News("night_over", "kimi", False, NEWS.at, "all is done"))
    assert [body["event"] for body in listener.bodies] == ["new_best", "night_over"]
    assert complaints == []


def test_a_busy_server_is_asked_again() -> None:
    complaints: list[str] = []
    with (
        listening(lambda count: 503 if count < 3 else 200) as listener,
        Webhook(listener.url, complaints.append) as webhook,
    ):
        webhook.post(NEWS)
    assert len(listener.bodies) == 3
    assert complaints == []


def test_a_refusal_is_not_repeated_and_said_once() -> None:
    complaints: list[str] = []
    with listening(lambda count: 404) as listener, Webhook(listener.url, complaints.append) as webhook:
        webhook.post(NEWS)
        webhook.post(NEWS)
    assert len(listener.bodies) == 2
    assert complaints == [
        "the webhook at 127.0.0.1 refuses the notice (404); check [notify] webhook",
    ]


def test_nobody_there_is_said_once_without_the_secret_part_of_the_address() -> None:
    complaints: list[str] = []
    with Webhook("http://127.0.0.1:9/services/secret-path", complaints.append) as webhook:
        webhook.post(NEWS)
        webhook.post(NEWS)
    assert complaints == ["the webhook at 127.0.0.1 cannot be reached (ConnectError)"]


def test_posting_never_waits_even_when_nothing_is_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.night.webhook.LAST_WORDS_S", 0.05)
    let_go = threading.Event()

    def answer(count: int) -> int:
        let_go.wait(20)
        return 200

    complaints: list[str] = []
    with listening(answer) as listener:
        with Webhook(listener.url, complaints.append) as webhook:
            for _ in range(100):
                webhook.post(NEWS)
        assert complaints == ["the webhook at 127.0.0.1 is too slow; news are left out"]
        let_go.set()
