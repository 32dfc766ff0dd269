"""Ready is a token that was made, nothing less."""

from __future__ import annotations

import threading

import pytest

from trials.measure_errors import MeasureError, StopRequested
from trials.outcome import FailureKind
from trials.readiness import ready_generation
from trials.testing.pace import Fault, Pace
from trials.testing.paced_server import PacedServer


def test_a_server_that_makes_a_token_is_ready() -> None:
    with PacedServer(Pace()) as server:
        ready_generation(server.url, 5.0)


def test_nobody_listening_is_not_ready() -> None:
    with PacedServer(Pace()) as server:
        url = server.url
    with pytest.raises(MeasureError, match="no first token"):
        ready_generation(url, 5.0)


def test_a_refusal_keeps_its_status() -> None:
    with (
        PacedServer(Pace(fault=Fault.REFUSE, refuse_status=401)) as server,
        pytest.raises(MeasureError, match="API key") as caught,
    ):
        ready_generation(server.url, 5.0)
    assert (caught.value.kind, caught.value.status) == (FailureKind.ENVIRONMENT, 401)


def test_silence_ends_with_the_timeout() -> None:
    with PacedServer(Pace(first_token_s=60)) as server, pytest.raises(MeasureError, match="no answer within"):
        ready_generation(server.url, 0.3)


def test_stop_is_obeyed_while_waiting() -> None:
    stop = threading.Event()
    stop.set()
    with PacedServer(Pace(first_token_s=60)) as server, pytest.raises(StopRequested):
        ready_generation(server.url, 30.0, stop=stop)
