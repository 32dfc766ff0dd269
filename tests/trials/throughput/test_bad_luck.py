"""Each kind of bad luck is named, none hangs, none is counted as throughput."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from asyncio import StreamWriter
from collections.abc import Iterator

import pytest

from trials.load import Patience
from trials.measure_errors import Hopeless, MeasureError, NoSteadyWindowError, StopRequested
from trials.outcome import FailureKind, Measurement
from trials.prompts import load_prompts
from trials.settings import BenchPlan
from trials.testing.pace import Fault, Pace
from trials.testing.paced_server import PacedServer
from trials.throughput import measure_level, measure_url

PROMPTS = load_prompts()[:20]
IMPATIENT = Patience(connect_s=2, first_token_s=1, stall_s=0.6)
TOO_LONG = "The input (9000 tokens) is longer than the model's context length (2048 tokens)."
POOL_TOO_SMALL = "Input length (390 tokens) exceeds the maximum allowed length (384 tokens)."


def measured(pace: Pace, **options: object) -> Measurement:
    bench = BenchPlan(output_tokens=40, max_seconds_per_level=1.5)
    with PacedServer(pace) as server:
        return measure_level(server.url, 2, bench, PROMPTS, patience=IMPATIENT, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pace,kind,words",
    [
        (Pace(fault=Fault.STALL), FailureKind.HANG, "no token from any of 2 open streams"),
        (Pace(first_token_s=30), FailureKind.HANG, "no token from 1 open stream"),
        (Pace(fault=Fault.RESET), None, "after 20 tokens of one of 2 streams"),
        (Pace(fault=Fault.CLOSE), None, "the connection was lost before the answer ended"),
        (Pace(fault=Fault.MALFORMED), None, "not an event stream"),
        (Pace(fault=Fault.ERROR_EVENT), None, "error in mid-stream"),
        (
            Pace(fault=Fault.ERROR_EVENT, error_message=POOL_TOO_SMALL),
            FailureKind.KV_POOL_TOO_SMALL,
            "KV pool",
        ),
        (Pace(fault=Fault.REFUSE, refuse_status=500), None, "HTTP 500"),
        (Pace(fault=Fault.REFUSE, refuse_status=401), FailureKind.ENVIRONMENT, "API key"),
        (Pace(fault=Fault.REFUSE, refuse_status=503), None, "overloaded"),
        (Pace(fault=Fault.REFUSE, refuse_body=TOO_LONG), FailureKind.ENVIRONMENT, "longer than the server's"),
        (Pace(fault=Fault.REFUSE, refuse_body=POOL_TOO_SMALL), FailureKind.KV_POOL_TOO_SMALL, "KV pool"),
    ],
    ids=lambda value: str(getattr(value, "fault", "")) or None,
)
def test_trouble_is_named(pace: Pace, kind: FailureKind | None, words: str) -> None:
    with pytest.raises(MeasureError, match=words) as caught:
        measured(pace)
    assert caught.value.kind == kind


@pytest.mark.parametrize("pace", [Pace(first_token_s=30), Pace(fault=Fault.STALL)])
def test_a_hang_is_a_hang_even_if_time_is_up_before_patience_is(pace: Pace) -> None:
    patience = Patience(connect_s=2, first_token_s=2, stall_s=2)
    bench = BenchPlan(output_tokens=40, max_seconds_per_level=1.5)
    with PacedServer(pace) as server, pytest.raises(MeasureError, match="no token from") as caught:
        measure_level(server.url, 2, bench, PROMPTS, patience=patience)
    assert caught.value.kind is FailureKind.HANG


def test_a_dead_server_is_named() -> None:
    with PacedServer(Pace()) as server:
        url = server.url
    with pytest.raises(MeasureError, match="no connection to"):
        measure_level(url, 1, BenchPlan(), PROMPTS)


@pytest.mark.slow
def test_a_dripping_server_is_no_throughput() -> None:
    bench = BenchPlan(output_tokens=40, max_seconds_per_level=7)
    with PacedServer(Pace(step_s=0.9)) as server, pytest.raises(MeasureError, match="drips") as caught:
        measure_level(server.url, 2, bench, PROMPTS)
    assert caught.value.kind is FailureKind.HANG


def test_a_first_wave_that_needs_longer_than_a_level_may_take_is_carried_on_to_its_window() -> None:
    bench = BenchPlan(output_tokens=40, max_seconds_per_level=0.5)
    with PacedServer(Pace(first_token_s=0.9, step_s=0.05)) as server:
        measurement = measure_level(server.url, 2, bench, PROMPTS)
    assert measurement.decode_tok_s == pytest.approx(40, rel=0.3)


def test_a_server_without_a_window_in_four_times_the_time_is_too_slow() -> None:
    bench = BenchPlan(output_tokens=40, max_seconds_per_level=0.3)
    slow = pytest.raises(NoSteadyWindowError, match=r"too slow at 2 streams: 1\.2 s passed")
    with PacedServer(Pace(step_s=0.6)) as server, slow as caught:
        measure_level(server.url, 2, bench, PROMPTS)
    assert caught.value.kind is FailureKind.HANG


class NeverFull(PacedServer):
    """Does not care how many tokens were asked for."""

    def _counts(self, asked: int) -> Iterator[int]:
        return super()._counts(10**6)


@pytest.mark.slow
@pytest.mark.parametrize("server", [PacedServer, NeverFull])
def test_a_drip_is_named_soon_after_time_is_up(server: type[PacedServer]) -> None:
    bench = BenchPlan(output_tokens=16, max_seconds_per_level=0.8)
    begun = time.monotonic()
    drips = pytest.raises(NoSteadyWindowError, match=r"server drips: [01]\.\d\d tok/s .* at 1 stream$")
    with server(Pace(step_s=1.0)) as dripping, drips as caught:
        measure_level(dripping.url, 1, bench, PROMPTS)
    assert caught.value.kind is FailureKind.HANG
    assert time.monotonic() - begun < 10


class Uncounting(PacedServer):
    """Streams words without end, and never says how many tokens they are."""

    async def _steps(self, asked: int, chat: bool, counted: bool, writer: StreamWriter) -> int | None:
        word = {"choices": [{"delta": {"content": " word"}}]} if chat else {"text": " word"}
        event = f"data: {json.dumps(word)}\n\n".encode()
        while True:
            writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
            await writer.drain()
            await asyncio.sleep(self.pace.step_s)


@pytest.mark.slow
def test_an_endless_answer_without_counts_is_named_soon() -> None:
    begun = time.monotonic()
    uncounted = pytest.raises(MeasureError, match="counts tokens neither on the chat route nor on /generate")
    with Uncounting(Pace(step_s=0.2)) as server, uncounted:
        measure_level(server.url, 1, BenchPlan(), PROMPTS)
    assert time.monotonic() - begun < 15


def test_a_long_prefill_is_no_drip() -> None:
    bench = BenchPlan(output_tokens=40, max_seconds_per_level=0.3)
    slow = pytest.raises(NoSteadyWindowError, match="too slow at 1 stream: ")
    with PacedServer(Pace(first_token_s=1.5, step_s=0.2)) as server, slow:
        measure_level(server.url, 1, bench, PROMPTS)


def test_the_level_is_named_once_and_counted_in_good_english() -> None:
    bench = BenchPlan(output_tokens=40, max_seconds_per_level=0.3)
    with PacedServer(Pace(fault=Fault.CLOSE, fault_after=9)) as server, pytest.raises(MeasureError) as caught:
        measure_url(server.url, (1,), bench, PROMPTS)
    assert caught.value.summary == (
        "at 1 stream: the connection was lost before the answer ended, after 9 tokens of 1 stream"
    )
    with PacedServer(Pace(step_s=0.6)) as server, pytest.raises(MeasureError) as caught:
        measure_url(server.url, (1,), bench, PROMPTS)
    assert caught.value.summary.startswith("too slow at 1 stream: ")


def test_one_silent_stream_is_one_stream() -> None:
    bench = BenchPlan(output_tokens=40, max_seconds_per_level=1.5)
    silent = pytest.raises(MeasureError, match="no token from 1 open stream for")
    with PacedServer(Pace(fault=Fault.STALL)) as server, silent:
        measure_level(server.url, 1, bench, PROMPTS, patience=IMPATIENT)


def test_answers_too_short_for_a_window_are_the_fault_of_the_bench() -> None:
    bench = BenchPlan(output_tokens=3, max_seconds_per_level=0.3)
    short = pytest.raises(NoSteadyWindowError, match=r"raise bench\.output_tokens")
    with PacedServer(Pace()) as server, short as caught:
        measure_level(server.url, 2, bench, PROMPTS)
    assert caught.value.kind is None


def test_answers_cut_short_are_said() -> None:
    measurement = measured(Pace(fault=Fault.SHORT, fault_after=30))
    assert any("answers were cut short by the server (30 to 30 of 40 tokens)" in x for x in measurement.notes)
    assert 30 * measurement.requests <= measurement.output_tokens <= 30 * (measurement.requests + 2)


def test_stop_is_obeyed_at_once() -> None:
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    before = time.monotonic()
    with pytest.raises(StopRequested):
        measured(Pace(fault=Fault.STALL, fault_after=5), stop=stop)
    assert time.monotonic() - before < 1.5


def test_hopeless_is_given_up_with_what_was_seen() -> None:
    with pytest.raises(Hopeless) as caught:
        measured(Pace(step_s=0.01), hopeless_below=10_000.0)
    assert caught.value.measurement.decode_tok_s == pytest.approx(200, rel=0.3)


def test_the_wall_clock_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(jumps)))
    assert measured(Pace(step_s=0.01)).decode_tok_s == pytest.approx(200, rel=0.3)


@pytest.mark.slow
def test_a_wave_during_which_this_process_stood_still_is_thrown_away() -> None:
    pauses = [2.4]

    def stand_still(_level: int, _tok_s: float) -> None:
        if pauses:
            time.sleep(pauses.pop())

    bench = BenchPlan(output_tokens=150, max_seconds_per_level=6)
    with PacedServer(Pace(step_s=0.01)) as server:
        measurement = measure_level(server.url, 1, bench, PROMPTS, on_progress=stand_still)
    assert any("this process stood still for" in note for note in measurement.notes)
    assert measurement.decode_tok_s == pytest.approx(100, rel=0.3)
