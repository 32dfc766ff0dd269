"""What came of reading one source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from db.imports import ImportedBoot


class SourceError(ValueError):
    """A source that nothing can be taken from; one sentence with its name."""


@dataclass(frozen=True)
class Imported:
    """Boots of one source.

    Attributes:
        reasons: Why they are only a weaker prior; empty when they count as data.
        left_out: Boots that say nothing here, one sentence each.
    """

    source: str
    boots: Sequence[ImportedBoot]
    reasons: Sequence[str]
    left_out: Sequence[str]

    @property
    def sentence(self) -> str:
        """How many boots were taken, as what, and why."""
        worked = sum(boot.value is not None for boot in self.boots)
        taken = f"{self.source}: {worked} that worked and {len(self.boots) - worked} that failed"
        if not self.reasons:
            return f"{taken}, taken as data"
        return f"{taken}, taken as a weaker prior ({'; '.join(self.reasons)})"
