"""The output check as the worker calls it: collect the baseline's answers once, compare everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from trials.load import Endpoint
from trials.measure_errors import MeasureError
from trials.outcome import Measurement
from trials.recorder import StopSignal
from trials.sanity.answers import Examiner
from trials.sanity.verdict import Examination, Verdict, judge
from trials.settings import ReferenceAnswer

EXACTLY_ONE = 0.005
"""An accept length this near to 1 is exactly 1.00 in SGLang's log; a poor draft still shows 1.02."""

PATIENCE_S = 120.0

_REFUSALS = (400, 422, 500, 501)


def collect_reference(
    url: str,
    *,
    patience_s: float = PATIENCE_S,
    stop: StopSignal | None = None,
    api_key: str | None = None,
) -> tuple[ReferenceAnswer, ...]:
    """Greedy answers of the running server (the baseline) to the fixed prompts.

    Empty if it refuses log-probabilities: then nothing can be checked, and every later check says so.

    Args:
        patience_s: How long an answer may take, s.

    Raises:
        MeasureError: If the server falls silent or dies.
        StopRequested: If ``stop`` is set meanwhile.
    """
    try:
        return asyncio.run(Examiner(Endpoint.parse(url, api_key), patience_s, stop).answers())
    except MeasureError as error:
        if error.status in _REFUSALS:
            return ()
        raise


def check_output(
    url: str,
    reference: Sequence[ReferenceAnswer],
    *,
    patience_s: float = PATIENCE_S,
    stop: StopSignal | None = None,
    api_key: str | None = None,
) -> Verdict:
    """Compare the running server with the baseline: ok, a warning, or wrong.

    A server that refuses log-probabilities with these settings gets a warning: not checked is not wrong.

    Raises:
        MeasureError: If the server falls silent or dies.
        StopRequested: If ``stop`` is set meanwhile.
    """
    if not reference:
        return Verdict("warning", ("the output was not checked: there are no answers of a baseline yet",))
    examiner = Examiner(Endpoint.parse(url, api_key), patience_s, stop)
    try:
        return judge(reference, asyncio.run(_examine(examiner, reference)))
    except MeasureError as error:
        if error.status in _REFUSALS:
            said = f"{error.summary}: {'; '.join(error.evidence)}"
            return Verdict("warning", (f"the output was not checked: {said}",))
        raise


async def _examine(examiner: Examiner, reference: Sequence[ReferenceAnswer]) -> Examination:
    own = await examiner.answers()
    return Examination(await examiner.read_back(reference), own, await examiner.read_back(own))


def accept_length_flag(speculative: bool, measurements: Sequence[Measurement]) -> str | None:
    """A sentence if speculation is on and not one draft token was ever accepted."""
    lengths = [m.accept_length for m in measurements if m.accept_length is not None]
    if not speculative or not lengths or max(lengths) >= 1 + EXACTLY_ONE:
        return None
    return (
        "accept length is exactly 1.00: the draft does not fit the target (wrong draft model or algorithm?)"
    )
