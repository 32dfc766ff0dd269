"""A proposal, and the sentence that says why: checkable against the table of trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autotune.search.belief import Belief, Standing
from autotune.search.codec import Codec, Rows
from autotune.search.history import History
from autotune.search.memory import MemoryWindow
from autotune.search.parameters import Settings, Value

PARENTS = 8
"""Best settings so far from which new ones are made, and to which they are compared."""

_INTERVAL = 1.96


@dataclass(frozen=True)
class Proposal:
    """What to boot next.

    Attributes:
        settings: Every parameter, conditionals that do not count included.
        why: One sentence.
        parent: Trial whose settings were changed, None if none.
        changes: Setting to [from, to].
        p_boots: Probability that it boots.
        expected: Interval of the objective, in its unit, None while nothing has worked.
        replicate_of: Trial that this repeats on purpose.
        ruled_out: Settings that looked better and are proven dead, with the proof.
    """

    settings: Settings
    why: str
    parent: int | None
    changes: dict[str, list[Value | None]]
    p_boots: float
    expected: tuple[float, float] | None
    replicate_of: int | None = None
    ruled_out: tuple[dict[str, Any], ...] = ()

    def attribute(self) -> dict[str, Any]:
        """As stored on the trial under ``proposal``."""
        return {
            "why": self.why,
            "parent": self.parent,
            "changes": self.changes,
            "p_boots": round(self.p_boots, 4),
            "expected": None if self.expected is None else [round(bound, 3) for bound in self.expected],
            "ruled_out": list(self.ruled_out),
        }


class Explainer:
    """Says what a proposal comes from and what is expected of it.

    Args:
        codec: Of the space.
        history: What is known.
        window: The memory window.
        belief: Of the objective, None while nothing has worked.
        unit: Of the objective, as it stands in sentences.
    """

    def __init__(
        self, codec: Codec, history: History, window: MemoryWindow, belief: Belief | None, unit: str
    ) -> None:
        self._codec, self._history, self._window, self._belief = codec, history, window, belief
        self._unit = f" {unit}" if unit else ""

    def expected(self, row: Rows) -> tuple[float, float] | None:
        """Interval of the objective, in its unit; None while nothing has worked."""
        if self._belief is None:
            return None
        mean, deviation = self._belief.predict(self._window.inputs(self._codec.values(row[None, :])))
        ends = [float(mean[0]) + side * _INTERVAL * float(deviation[0]) for side in (-1, 1)]
        low, high = sorted(self._history.value_of(self._belief.unwarp(end)) for end in ends)
        return low, high

    def explain(self, row: Rows, boots: float, ruled_out: tuple[dict[str, Any], ...]) -> Proposal:
        """A proposal for a row: its nearest relative, what changes, and why."""
        settings = self._codec.settings(row)
        active = self._codec.space.active(settings)
        if self._belief is None:
            why = f"Nothing has worked yet: the settings most likely to boot ({_percent(boots)})."
            return Proposal(settings, why, None, {}, boots, None, ruled_out=ruled_out)
        parent = _closest(self._belief.standings[:PARENTS], active)
        changes = _changes(parent.seen.settings, active)
        expected = self.expected(row)
        why = self._sentence(parent, changes, boots, expected)
        number = parent.seen.number if parent.seen.number >= 0 else None
        return Proposal(settings, why, number, changes, boots, expected, ruled_out=ruled_out)

    def _sentence(
        self,
        parent: Standing,
        changes: Mapping[str, list[Value | None]],
        boots: float,
        expected: tuple[float, float] | None,
    ) -> str:
        moves = ", ".join(f"{name} {_shown(old)} -> {_shown(new)}" for name, (old, new) in changes.items())
        untried = self._untried(changes)
        value = "" if parent.seen.value is None else f" ({parent.seen.value:.4g}{self._unit})"
        source = (
            f"trial {parent.seen.number}{value}" if parent.seen.number >= 0 else f"an earlier study{value}"
        )
        news = f"; never measured before: {', '.join(untried)}" if untried else ""
        reach = "" if expected is None else f", {expected[0]:.4g} to {expected[1]:.4g}{self._unit} expected"
        return f"From {source}: {moves}{news}; {_percent(boots)} likely to boot{reach}."

    def _untried(self, changes: Mapping[str, list[Value | None]]) -> list[str]:
        seen = {
            (name, value)
            for one in self._history.ended("good", "stopped")
            for name, value in one.settings.items()
        }
        categorical = {
            name
            for name, unordered in zip(self._codec.names, self._codec.categorical, strict=True)
            if unordered
        }
        return [
            f"{name} {_shown(new)}"
            for name, (_, new) in changes.items()
            if name in categorical and new is not None and (name, new) not in seen
        ]


def _closest(standings: list[Standing], active: Settings) -> Standing:
    return min(standings, key=lambda standing: len(_changes(standing.seen.settings, active)))


def _changes(old: Settings, new: Settings) -> dict[str, list[Value | None]]:
    names = sorted(old.keys() | new.keys())
    return {name: [old.get(name), new.get(name)] for name in names if old.get(name) != new.get(name)}


def _shown(value: Value | None) -> str:
    return "unset" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
