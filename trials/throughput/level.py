"""Measures one load level: waves until the interval is narrow or time is up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event as Never
from typing import TypeAlias

from trials.boot_log.events import Event
from trials.counted import counted
from trials.load import Endpoint, Patience, Wave, run_wave
from trials.measure_errors import Hopeless, MeasureError, NoSteadyWindowError
from trials.outcome import FailureKind, Measurement, StoppedBy
from trials.prompts import Prompt
from trials.recorder import StopSignal
from trials.settings import BenchPlan
from trials.throughput.approach import Approach, find_approach, flush_cache
from trials.throughput.decode_log import LogWindow, no_log
from trials.throughput.latency import MeasuredWave
from trials.throughput.report import DRIPS, NO_WINDOW, TOO_SLOW, level_report
from trials.throughput.series import Steady, steady_part
from trials.throughput.window import pace_together, steady_window

NARROW = 0.01
"""Relative half-width of the 95 % interval at which a level is done."""

FEWEST_WAVES = 2
"""One wave cannot show how much waves differ."""

FEWEST_BINS_TO_GIVE_UP = 8
"""A level is not called hopeless on fewer values than this."""

GIVE_UP_MARGIN = 0.1
"""A level is hopeless if it would be even at this much more than was seen: waves differ by a few percent, and
the interval of one or two waves is too wide to decide by."""

DRIP_TOK_S = 1.5
"""A stream slower than this is not served, it drips: no settings worth a name decode so slowly."""

LONGEST_FIRST_WAVE = 4.0
"""A level's first wave may last this many times ``max_seconds_per_level`` until it has a steady window: the
prefill of many streams may take longer than all that is measured after it."""

OnProgress: TypeAlias = Callable[[int, float], None]
"""Called with the level and its tok/s so far, about once a second."""


def measure_level(
    url: str,
    level: int,
    bench: BenchPlan,
    prompts: Sequence[Prompt],
    *,
    log_window: LogWindow = no_log,
    stop: StopSignal | None = None,
    on_progress: OnProgress | None = None,
    hopeless_below: float | None = None,
    seed: int = 0,
    patience: Patience | None = None,
    api_key: str | None = None,
) -> Measurement:
    """Measure decode throughput at ``level`` streams. Blocks until that is precise or time is up.

    The same seed asks the same prompts in the same order. Nothing here uses the wall clock, so that setting
    the clock changes nothing; a wave during which this process stood still is thrown away and said.

    Args:
        log_window: Gives the server's log events since its last call.
        hopeless_below: tok/s; measuring ends as soon as the throughput is surely below.

    Raises:
        MeasureError: If the server dies, stalls, resets, refuses, sends nonsense or drips.
        NoSteadyWindowError: If not even a wave of ``LONGEST_FIRST_WAVE`` times the time had a steady window.
        Hopeless: If the throughput is surely below ``hopeless_below``.
        StopRequested: If ``stop`` is set meanwhile, within 0.5 s.
        ValueError: If ``url`` is no address.
    """
    endpoint = Endpoint.parse(url, api_key)
    run = _LevelRun(
        endpoint,
        level,
        bench,
        log_window,
        stop or Never(),
        on_progress,
        hopeless_below,
        patience or Patience(),
    )
    return asyncio.run(run.measure(prompts, seed))


@dataclass
class _LevelRun:
    endpoint: Endpoint
    level: int
    bench: BenchPlan
    log_window: LogWindow
    stop: StopSignal
    on_progress: OnProgress | None
    hopeless_below: float | None
    patience: Patience
    waves: list[MeasuredWave] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    give_up_at: float = 0.0

    async def measure(self, prompts: Sequence[Prompt], seed: int) -> Measurement:
        approach = await find_approach(self.endpoint, prompts, seed, self.stop, self.patience)
        self.notes += approach.notes
        self.notes += await flush_cache(self.endpoint, self.stop)
        self.log_window()
        deadline = time.monotonic() + self.bench.max_seconds_per_level
        self.give_up_at = time.monotonic() + LONGEST_FIRST_WAVE * self.bench.max_seconds_per_level
        while True:
            wave = await self._wave(approach, deadline)
            self._keep(wave)
            if (wave.cut or time.monotonic() >= deadline) and not self._deserves_another(wave):
                if not self.waves:
                    raise self._no_window(wave)
                return self._finish("time")
            if self._is_narrow():
                return self._finish("precision")

    async def _wave(self, approach: Approach, deadline: float) -> Wave:
        return await run_wave(
            self.endpoint,
            approach.requests(self.level, self.bench.output_tokens),
            stop=self.stop,
            deadline=deadline,
            patience=self.patience,
            look=self._look,
            may_cut=self._may_cut,
        )

    def _deserves_another(self, wave: Wave) -> bool:
        """Nothing is known yet, and that is not the server's fault."""
        return not self.waves and wave.paused_s > 0 and time.monotonic() < self.give_up_at

    def _may_cut(self, so_far: Wave) -> bool:
        if self.waves or so_far.paused_s or time.monotonic() >= self.give_up_at:
            return True
        return _measured(so_far) is not None

    def _keep(self, wave: Wave) -> None:
        self.events += self.log_window()
        if wave.paused_s:
            self.notes.append(f"a wave was thrown away: this process stood still for {wave.paused_s:.1f} s")
            return
        measured = _measured(wave)
        if measured is not None:
            self.waves.append(measured)
            self._progress(steady_part(self.waves))

    def _look(self, partial: Wave) -> None:
        if partial.paused_s or (measured := _measured(partial)) is None:
            return
        self._progress(steady_part([*self.waves, measured]), measured)

    def _progress(self, steady: Steady, partial: MeasuredWave | None = None) -> None:
        if self.on_progress is not None:
            self.on_progress(self.level, steady.rate.mean)
        if self.hopeless_below is None:
            return
        bins = sum(wave.window.rates.size for wave in steady.waves)
        if bins >= FEWEST_BINS_TO_GIVE_UP and steady.rate.mean * (1 + GIVE_UP_MARGIN) < self.hopeless_below:
            if partial is not None:
                self.waves.append(partial)
                self.events += self.log_window()
            raise Hopeless(self._finish("time"))

    def _is_narrow(self) -> bool:
        if len(self.waves) < FEWEST_WAVES:
            return False
        steady = steady_part(self.waves)
        return steady.rate.half_width < NARROW and not steady.drifting

    def _finish(self, stopped_by: StoppedBy) -> Measurement:
        steady = steady_part(self.waves)
        per_stream = steady.rate.mean / steady.running
        if per_stream < DRIP_TOK_S:
            raise MeasureError(FailureKind.HANG, DRIPS.format(pace=per_stream, streams=self._streams))
        return level_report(self.level, steady, self.events, stopped_by, self.notes)

    @property
    def _streams(self) -> str:
        return counted(self.level, "stream")

    def _no_window(self, last: Wave) -> NoSteadyWindowError:
        """Time was up: the server is too slow. Answers ended first: the bench asks for too few tokens."""
        pace = None if last.paused_s else pace_together(last)
        if pace is not None and pace < DRIP_TOK_S:
            drips = DRIPS.format(pace=pace, streams=self._streams)
            return NoSteadyWindowError(FailureKind.HANG, drips, self.notes)
        if time.monotonic() >= self.give_up_at:
            limit = LONGEST_FIRST_WAVE * self.bench.max_seconds_per_level
            return NoSteadyWindowError(
                FailureKind.HANG, TOO_SLOW.format(streams=self._streams, seconds=limit), self.notes
            )
        return NoSteadyWindowError(None, NO_WINDOW.format(streams=self._streams), self.notes)


def _measured(wave: Wave) -> MeasuredWave | None:
    window = steady_window(wave)
    return MeasuredWave(wave.streams, window, wave.ended) if window is not None else None
