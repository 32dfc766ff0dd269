"""Waiting ends when somebody asks for the end of the night."""

from __future__ import annotations

import threading
import time

import pytest

from autotune.night.stop_requests import StopRequests


def test_wait_lets_the_time_pass() -> None:
    begun = time.monotonic()
    StopRequests().wait(0.3)
    assert time.monotonic() - begun >= 0.3


@pytest.mark.parametrize("name", ["now", "after_trial"])
def test_a_request_ends_the_wait(name: str) -> None:
    requests = StopRequests()
    asked = threading.Timer(0.1, getattr(requests, name).set)
    asked.start()
    begun = time.monotonic()
    requests.wait(60)
    asked.join()
    assert time.monotonic() - begun < 30


def test_a_request_made_before_leaves_nothing_to_wait_for() -> None:
    requests = StopRequests()
    requests.after_trial.set()
    begun = time.monotonic()
    requests.wait(60)
    assert time.monotonic() - begun < 30
