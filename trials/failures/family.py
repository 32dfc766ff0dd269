"""One family of failures: how it sounds, what it means, what to change. The rules are tables of these."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from trials.failures.case import Case
from trials.failures.sides import side_of
from trials.outcome import AtFault, FailureKind, Stage


@dataclass(frozen=True)
class Advice:
    """A change that would help.

    Attributes:
        bound: Where the value to go beyond comes from: "current" (the value under test), "" (unknown), or
            the name of a group in the sign that matched.
        speculative: Only worth saying when speculation is on.
    """

    setting: str
    direction: Literal["raise", "lower", "change"]
    bound: str = ""
    speculative: bool = False


@dataclass(frozen=True)
class Family:
    """One way to die.

    Attributes:
        name: Unique, in the words of ``docs/failures.md``.
        signs: Regular expressions; one of them is found in the exception's text (type and message).
        says: For the documentation: what stands in the log.
        summary: One plain sentence; ``{group}`` of the sign that matched may stand in it.
        means: For the documentation: why it happens.
        stages: Only when this is what was going on; empty: at any stage.
        never: Regular expressions that rule the family out.
        when: A further condition on the whole case.
        consequence: Follows from another failure: decides only when nothing else was found.
        at_fault: Where the kind's usual side is not the right one.
        about_gpu_memory: The memory figures of the boot are evidence.
    """

    name: str
    kind: FailureKind
    signs: tuple[str, ...]
    says: str
    summary: str
    means: str
    remedies: tuple[Advice, ...] = ()
    stages: frozenset[Stage] = frozenset()
    never: tuple[str, ...] = ()
    when: Callable[[Case], bool] | None = None
    consequence: bool = False
    at_fault: AtFault | None = None
    about_gpu_memory: bool = False

    @property
    def side(self) -> AtFault:
        """Whose fault: the settings' or the environment's."""
        return self.at_fault or side_of(self.kind)

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(sign) for sign in self.signs)

    @cached_property
    def _never_patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(sign) for sign in self.never)

    def match(self, case: Case) -> re.Match[str] | None:
        """The sign that was found, or None when this is not the family."""
        found = next((match for sign in self._patterns if (match := sign.search(case.text))), None)
        if found is None or any(sign.search(case.text) for sign in self._never_patterns):
            return None
        if self.stages and case.stage not in self.stages:
            return None
        if self.when is not None and not self.when(case):
            return None
        return found
