"""A sensible space for one machine, one model and the server of today."""

from __future__ import annotations

import math
from decimal import Decimal

from autotune.starting.all_reduce import all_reduce_line
from autotune.starting.layouts import layout_line
from autotune.starting.line import Line, Setup
from autotune.starting.speculation import speculation_lines
from trials.settings import Layout, SettingValue

_WIDE_CARD_MIB = 60 * 1024
_MANY = 512
"""Running requests of a server that was given no number: as good as no limit at a study's levels."""
_WITH_SPECULATION = 48
"""SGLang's own choice with speculation (see ``trials.box.server_args``)."""
_GRAPHS = (16, 32, 64, 128, 256, 512)
_MARGIN = 0.02


def space_lines(setup: Setup) -> list[Line]:
    """Every line of the space, most general first."""
    found = [layout_line(setup), _memory(setup), _graphs(setup), _requests(setup), _chunk(setup)]
    lines = [line for line in found if line is not None]
    return [*lines, *speculation_lines(setup), *all_reduce_line(setup)]


def _memory(setup: Setup) -> Line:
    own = setup.own("mem_fraction_static")
    fraction = Decimal(str(own)) if own is not None else _automatic_fraction(setup)
    if not setup.exact:
        fraction = fraction.quantize(Decimal("0.01"), "ROUND_FLOOR")
    step = next(step for step in map(Decimal, ("0.01", "0.005", "0.001", "0.0001")) if fraction % step == 0)
    low, high = min(_least_fraction(setup), fraction), max(Decimal("0.94"), fraction)
    low -= (low - fraction) % step
    high -= (high - fraction) % step
    domain = {"low": float(low), "high": float(high), "step": float(step)}
    why = "weights and KV pool, as a share of a card"
    return Line(
        "mem_fraction_static", domain, float(fraction), (why,), _guess(own, "what SGLang would choose")
    )


def _automatic_fraction(setup: Setup) -> Decimal:
    """SGLang 0.5.23's own choice (MB): 512 + 1.5 x chunk + 1024 x tp / 8 + 2 x graphs, at least 10 GiB."""
    memory = setup.machine.memory_mib
    if memory is None:
        return Decimal("0.86")
    layout = Layout.parse(str(setup.own("layout") or "tp1"))
    graphs, chunk = _own_graphs(setup), setup.own("chunked_prefill_size") or 8192
    reserve = 512 + 1.5 * max(int(chunk), 2048) + 1024 * layout.tp / 8 + 2 * graphs
    if memory > _WIDE_CARD_MIB:
        reserve = max(reserve, 10 * 1024)
    return Decimal(str(math.floor((memory - reserve) / memory * 100) / 100))


def _least_fraction(setup: Setup) -> Decimal:
    """What the weights alone need, where their size is known."""
    usual = Decimal("0.70")
    if setup.weights_gib is None or setup.machine.memory_mib is None:
        return usual
    layout = Layout.parse(str(setup.own("layout") or "tp1"))
    share = setup.weights_gib / layout.tp / (setup.machine.memory_mib / 1024) + _MARGIN
    return min(max(Decimal(str(math.ceil(share * 100) / 100)), Decimal("0.50")), Decimal("0.90"))


def _own_graphs(setup: Setup) -> int:
    """Given, else SGLang's default: 512 with tp 4 or more on cards of 60 to 160 GB, 256 below."""
    own = setup.own("cuda_graph_max_bs")
    if own is not None:
        return int(own)
    wide = (setup.machine.memory_mib or 0) >= _WIDE_CARD_MIB
    tp = Layout.parse(str(setup.own("layout") or "tp1")).tp
    return 512 if wide and tp >= 4 else 256 if wide else 128


def _graphs(setup: Setup) -> Line:
    baseline = _own_graphs(setup)
    sizes = sorted({*(size for size in _GRAPHS if size <= max(baseline, 128)), baseline})
    why = "largest batch with a captured graph: fewer take less memory, and sometimes run faster"
    note = _guess(setup.own("cuda_graph_max_bs"), "about what SGLang would choose")
    return Line("cuda_graph_max_bs", sizes, baseline, (why,), note)


def _requests(setup: Setup) -> Line:
    own = setup.own("max_running_requests")
    speculative = setup.own("speculative_algorithm") not in (None, "off")
    baseline = int(own) if own is not None else _WITH_SPECULATION if speculative else _MANY
    least = max(setup.levels)
    numbers = sorted({baseline, *(n for n in (48, 64, 128, 256) if least <= n <= 2 * baseline)})
    note = _guess(own, "SGLang's own choice with speculation" if speculative else "as good as no limit")
    return Line("max_running_requests", numbers, baseline, (), note)


def _chunk(setup: Setup) -> Line | None:
    own = setup.own("chunked_prefill_size")
    if own is None or not isinstance(own, int) or own <= 0:
        return None
    return Line("chunked_prefill_size", sorted({max(own // 2, 1024), own, 2 * own}), own)


def _guess(own: SettingValue | None, words: str) -> str:
    return "" if own is not None else f"your command does not say: {words}"
