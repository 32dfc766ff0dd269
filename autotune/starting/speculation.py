"""Speculation in a first space: only with a draft model, or where the user has it on already."""

from __future__ import annotations

from autotune.starting.line import Line, Setup
from trials.model_facts import ModelFacts
from trials.rules.speculation import MODELS_WITH_DRAFT_INSIDE
from trials.settings import SPECULATION_OFF
from trials.translation import DRAFTLESS_ALGORITHMS

_STEPS, _TOPK, _DRAFT_TOKENS = 3, 1, 8
"""A usual start; also what a baseline gets that leaves them to the server."""


def speculation_lines(setup: Setup) -> list[Line]:
    """The algorithm and its details, or a hint when the model brings a draft layer of its own."""
    own = str(setup.own("speculative_algorithm") or SPECULATION_OFF)
    algorithm = own if own != SPECULATION_OFF else _algorithm_of(setup.draft)
    if algorithm is None:
        return []
    line = Line("speculative_algorithm", [SPECULATION_OFF, algorithm], own)
    if algorithm in DRAFTLESS_ALGORITHMS:
        return [line, _range(setup, "speculative_num_draft_tokens", 2, 16, _DRAFT_TOKENS, own)]
    return [
        line,
        _range(setup, "speculative_num_steps", 1, 6, _STEPS, own),
        _choice(setup, own),
        _range(setup, "speculative_num_draft_tokens", 2, 16, _DRAFT_TOKENS, own),
    ]


def hint(setup: Setup) -> str:
    """What to add for a model that can draft for itself; empty for all others."""
    architecture = setup.model.architecture if setup.model else None
    if architecture not in MODELS_WITH_DRAFT_INSIDE or speculation_lines(setup):
        return ""
    return (
        "this model may bring a draft layer of its own; to try it: "
        'speculative_algorithm = ["off", "NEXTN"] with speculative_num_steps and speculative_eagle_topk'
    )


def _algorithm_of(draft: str | None) -> str | None:
    """EAGLE-3 unless the draft says otherwise: with the wrong one SGLang accepts nothing and says nothing."""
    if draft is None:
        return None
    facts = ModelFacts.read(draft)
    named = f"{draft} {facts.architecture if facts else ''}".lower().replace("-", "")
    return "EAGLE" if "eagle" in named and "eagle3" not in named else "EAGLE3"


def _range(setup: Setup, name: str, low: int, high: int, usual: int, own: str) -> Line:
    value = setup.own(name)
    number = value if isinstance(value, int) else usual
    domain = {"low": min(low, number), "high": max(high, number)}
    if own == SPECULATION_OFF or _follows(setup, name):
        return Line(name, domain, None)
    note = "" if value is not None else "your command leaves it to SGLang: a usual start"
    return Line(name, domain, number, (), note)


def _follows(setup: Setup, name: str) -> bool:
    """With topk 1 the draft tokens are steps + 1, not a choice."""
    chain = (setup.own("speculative_eagle_topk") or _TOPK) == 1
    draftless = setup.own("speculative_algorithm") in DRAFTLESS_ALGORITHMS
    return name == "speculative_num_draft_tokens" and chain and not draftless


def _choice(setup: Setup, own: str) -> Line:
    value = setup.own("speculative_eagle_topk")
    number = value if isinstance(value, int) else _TOPK
    baseline = None if own == SPECULATION_OFF else number
    return Line("speculative_eagle_topk", sorted({1, 2, 4, 8, number}), baseline)
