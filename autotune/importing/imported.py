"""What came of reading one source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from db.imports import ImportedBoot, ImportedSource


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
        counts = ImportedSource(self.source, not self.reasons, worked, len(self.boots) - worked)
        reasons = f" ({'; '.join(self.reasons)})" if self.reasons else ""
        return f"{taken_words(counts)}{reasons}"


def taken_words(taken: ImportedSource) -> str:
    """How many boots a source gave, and as what they are taken."""
    total = taken.worked + taken.failed
    boots = "1 boot" if total == 1 else f"{total} boots"
    how = "data" if taken.same else "a weaker prior"
    return f"{taken.source}: {boots} ({taken.worked} worked, {taken.failed} failed), taken as {how}"
