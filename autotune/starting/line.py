"""One line of a space, and what is looked at to write it."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.machine import Machine
from trials.flags import FlagCatalogue
from trials.model_facts import ModelFacts
from trials.settings import Settings, SettingValue


@dataclass(frozen=True)
class Line:
    """One setting to tune.

    Attributes:
        domain: Its values, a list or ``{low, high, step}``.
        baseline: The user's own value; None where it does not count.
        comments: Sentences that stand above it, among them what was left out and why.
        note: Stands behind the baseline's line: where the value is from, if not from the user.
    """

    name: str
    domain: object
    baseline: SettingValue | None
    comments: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Setup:
    """What a space is made for.

    Attributes:
        settings: Of the server that runs today.
        exact: These are the user's own words, not what a server made of them.
        weights_gib: Of the whole model, GiB; None where it is not on this machine.
        draft: Path of the draft model, None without one.
        levels: Concurrent streams that will be measured.
    """

    machine: Machine
    model: ModelFacts | None
    weights_gib: float | None
    draft: str | None
    catalogue: FlagCatalogue | None
    settings: Settings
    exact: bool
    levels: tuple[int, ...]

    def own(self, name: str) -> SettingValue | None:
        return self.settings.get(name)
