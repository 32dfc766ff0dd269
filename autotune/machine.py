"""The machine as first studies and verifications see it: cards, links, driver."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from trials.gpus import GpuCard
from trials.probes import open_probe
from trials.settings import ServerPlan

_SM120 = (12, 0)
_FUSION_SINCE, _FUSION_BEFORE = (9, 0), (12, 0)


@dataclass(frozen=True)
class Machine:
    """Its cards.

    Attributes:
        links: How the cards are connected (``trials.gpus.GpuProbe.topology``), None if unknown.
        driver: Its version, None if unknown.
    """

    cards: tuple[GpuCard, ...] = ()
    links: str | None = None
    driver: str | None = None

    @property
    def count(self) -> int | None:
        """None where no card can be seen."""
        return len(self.cards) or None

    @property
    def memory_mib(self) -> int | None:
        """Of the smallest card."""
        return min((card.memory_mib for card in self.cards), default=None)

    @property
    def over_pcie(self) -> bool:
        """Known to have no direct links between its cards."""
        return self.links is not None and "NVLink" not in self.links

    @property
    def is_sm120(self) -> bool:
        return any(card.compute_capability == _SM120 for card in self.cards)

    @property
    def has_fused_all_reduce(self) -> bool:
        """SM90 and SM10X: what FlashInfer's fusion and torch's symmetric memory have tables for."""
        known = [card.compute_capability for card in self.cards if card.compute_capability]
        return bool(known) and all(_FUSION_SINCE <= capability < _FUSION_BEFORE for capability in known)

    @property
    def words(self) -> str:
        """``8x NVIDIA RTX PRO 6000 (96 GiB, PCIe)``."""
        if not self.cards:
            return "a machine without a GPU that can be seen"
        links = f", {self.links}" if self.links else ""
        return f"{len(self.cards)}x {self.cards[0].name} ({(self.memory_mib or 0) / 1024:.0f} GiB{links})"


def look_at_machine(server: ServerPlan) -> Machine:
    """Look at the cards that this server may use.

    Raises:
        GpuProbeError: If the cards do not answer.
    """
    with TemporaryDirectory() as nothing, closing(open_probe(server, Path(nothing))) as probe:
        cards: Sequence[GpuCard] = probe.cards()
        return Machine(tuple(cards), probe.topology() if len(cards) > 1 else None, probe.driver_version())
