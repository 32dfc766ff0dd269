"""Which ways of dividing the GPUs are worth a boot."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.starting.line import Line, Setup
from trials.rules import forbidden
from trials.settings import Layout

_ROOM = 0.85
"""Share of a card that weights may take and still leave a KV pool worth having."""


def layout_line(setup: Setup) -> Line:
    """The user's own layout first, then the others that the cards and the model allow."""
    own = setup.own("layout") or f"tp{setup.machine.count or 1}"
    fitting = [str(layout) for layout in _candidates(setup) if _fits(layout, setup)]
    comments = ["tp: GPUs of one replica; ep: experts divided; adp: attention in groups; dp: whole replicas"]
    if setup.model is None:
        comments.append("the model's config.json is not on this machine: only layouts that any model takes")
    return Line("layout", list(dict.fromkeys([str(own), *fitting])), own, tuple(comments))


def _candidates(setup: Setup) -> Iterator[Layout]:
    cards = setup.machine.count or Layout.parse(str(setup.own("layout") or "tp1")).gpus
    yield Layout(tp=cards)
    model = setup.model
    if model is not None and (model.experts is not None or model.kv_heads is None):
        if model.experts is not None:
            yield Layout(tp=cards, ep=cards)
        yield from (Layout(tp=cards, adp=groups) for groups in (2, 4) if groups < cards)
    if setup.weights_gib is not None:
        yield from (Layout(tp=cards // dp, dp=dp) for dp in (2, 4, 8) if cards % dp == 0)


def _fits(layout: Layout, setup: Setup) -> bool:
    if forbidden({"layout": str(layout)}, gpu_count=setup.machine.count, model=setup.model) is not None:
        return False
    memory = setup.machine.memory_mib
    if setup.weights_gib is None or memory is None:
        return True
    return setup.weights_gib / layout.tp <= _ROOM * memory / 1024
