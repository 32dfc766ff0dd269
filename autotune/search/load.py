"""What the load makes of two settings, and what throughput owes to memory and load as a rule.

No more requests run at once than the load sends, so that a larger bound is the same to throughput; and a
batch that outgrows the largest captured graph runs without one. Beyond that, more room for the KV cache and
more requests at once seldom hurt what boots, and other numbers are seldom best at an end of their range,
where the model, being least sure there, would look first (Siivola et al. 2018). A prior mean says so
(Rasmussen & Williams 2006, section 2.7), and the boots correct it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from autotune.search.codec import Codec, Matrix
from autotune.search.history import Observation, main_measurement

FRACTION = "mem_fraction_static"
GRAPHS = "cuda_graph_max_bs"
RUNNING = "max_running_requests"

_RUNNING_SPAN, _GRAPHS_SPAN = np.log(16.0), np.log(64.0)
_POOL_GAIN, _RUNNING_GAIN, _UNCAPTURED_LOSS, _END_LOSS = 1.0, 3.7, 1.0, 0.1
"""In usual spreads of throughput: over all pools; per sixteenfold; without a graph; at the end of a range."""


def streams(known: Iterable[Observation]) -> float | None:
    """Requests that the load sends at once, as last measured; None where no boot says so."""
    levels = [main_measurement(seen).get("level") for seen in known]
    counted = [float(level) for level in levels if isinstance(level, int | float) and level > 0]
    return counted[-1] if counted else None


def under_load(codec: Codec, values: Matrix, units: Matrix, level: float) -> None:
    """Write both settings into the units in terms of the load.

    Running requests become the logarithm of their share of the load, at most 0. The graph size becomes the
    logarithm of its ratio to what runs, below 0 and far from the rest where that is not captured.
    """
    running_at, graphs_at = _numeric(codec, RUNNING), _numeric(codec, GRAPHS)
    running = np.full(len(values), level)
    if running_at is not None:
        running = np.clip(values[:, running_at], 1.0, level)
        units[:, running_at] = np.log(running / level) / _RUNNING_SPAN
    if graphs_at is not None:
        graphs = np.maximum(values[:, graphs_at], 1.0)
        units[:, graphs_at] = np.log(graphs / running) / _GRAPHS_SPAN - (graphs < running)


def usual_advantage(codec: Codec, units: Matrix) -> Matrix:
    """What settings given as ``MemoryWindow.inputs`` gives them usually gain, in usual spreads."""
    gain = np.zeros(len(units))
    pool, running, graphs = (_numeric(codec, name) for name in (FRACTION, RUNNING, GRAPHS))
    if pool is not None:
        gain += _POOL_GAIN * units[:, pool]
    if running is not None:
        gain += _RUNNING_GAIN * np.minimum(units[:, running], 0.0)
    if graphs is not None:
        gain -= _UNCAPTURED_LOSS * (units[:, graphs] < 0.0)
    others = [at for at in np.flatnonzero(~codec.categorical) if at not in (pool, running, graphs)]
    return gain - _END_LOSS * _ends(units[:, others])


def _ends(units: Matrix) -> Matrix:
    """How near to the ends of their ranges: 1 per number at an end, 0 in the middle or where idle."""
    from_middle = np.clip(2.0 * np.nan_to_num(units, nan=0.5) - 1.0, -1.0, 1.0)
    return np.asarray(np.sum(from_middle**2, axis=1))


def _numeric(codec: Codec, name: str) -> int | None:
    at = codec.index(name)
    return None if at is None or codec.categorical[at] else at
