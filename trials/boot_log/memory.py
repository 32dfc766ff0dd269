"""Memory figures of all ranks, added up to what one GPU holds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class RankMemory:
    """What one rank said, GiB; None until it said it."""

    before_weights: float | None = None
    before_load: float | None = None
    weights: float | None = None
    draft: float | None = None
    kv: float | None = None
    graphs: float | None = None
    left: float | None = None

    def add_weights(self, gib: float) -> str:
        """The first model that a rank loads is the target, all later ones are drafts."""
        if self.weights is None:
            self.weights = gib
            return "weights"
        self.draft = (self.draft or 0.0) + gib
        return "draft"


@dataclass
class MemoryLedger:
    """Every rank's figures. The fullest GPU is the one that decides, so the report takes it."""

    ranks: defaultdict[str, RankMemory] = field(default_factory=lambda: defaultdict(RankMemory))

    def highest(self, what: str) -> float | None:
        return max(self._known(what), default=None)

    def lowest(self, what: str) -> float | None:
        return min(self._known(what), default=None)

    def _known(self, what: str) -> list[float]:
        return [value for rank in self.ranks.values() if (value := getattr(rank, what)) is not None]
