"""Measures any running server at several levels: what ``autotune measure URL`` shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from trials.counted import counted
from trials.measure_errors import MeasureError
from trials.outcome import Measurement
from trials.prompts import Prompt
from trials.readiness import ready_generation
from trials.recorder import StopSignal
from trials.settings import BenchPlan
from trials.throughput.decode_log import LogWindow, no_log
from trials.throughput.level import OnProgress, measure_level

FIRST_ANSWER_PATIENCE_S = 120.0

OnLevel: TypeAlias = Callable[[int], None]
"""Called with a level before it is measured."""


def measure_url(
    url: str,
    levels: Sequence[int],
    bench: BenchPlan,
    prompts: Sequence[Prompt],
    *,
    log_window: LogWindow = no_log,
    stop: StopSignal | None = None,
    on_level: OnLevel | None = None,
    on_progress: OnProgress | None = None,
    seed: int = 0,
    api_key: str | None = None,
) -> list[Measurement]:
    """Measure ``levels`` in the given order on a server that is running already.

    Raises:
        MeasureError: If the server does not make a token, or fails at a level (named in the sentence).
        StopRequested: If ``stop`` is set meanwhile.
        ValueError: If ``url`` is no address.
    """
    ready_generation(url, FIRST_ANSWER_PATIENCE_S, stop=stop, api_key=api_key)
    results = []
    for level in levels:
        if on_level is not None:
            on_level(level)
        try:
            results.append(
                measure_level(
                    url,
                    level,
                    bench,
                    prompts,
                    log_window=log_window,
                    stop=stop,
                    on_progress=on_progress,
                    seed=seed,
                    api_key=api_key,
                )
            )
        except MeasureError as error:
            raise MeasureError(error.kind, _at(level, error.summary), error.evidence, error.status) from error
    return results


def _at(level: int, sentence: str) -> str:
    where = f"at {counted(level, 'stream')}"
    return sentence if where in sentence else f"{where}: {sentence}"
