"""The box's GPUs as the rest of the program sees them: NVML's stand-in."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path

from trials.box.description import Cards, load_box
from trials.box.device_files import DeviceFiles, state_from_environment
from trials.gpus import GpuCard, GpuProbeError, GpuProcess, GpuSample

_DRIVER_OWN_MIB = 4
_POWER_NOISE_W = 4.0
_IDLE_CLOCK_MHZ = 180
_FELL_OFF = "Xid 79: GPU {card} has fallen off the bus"


class BoxProbe:
    """Reads a box's state folder.

    Args:
        box: Name or file of the box.
        state: The folder where the box's processes note what they hold; None: the one of the environment
            (``AUTOTUNE_BOX_STATE``), else the box's own.
    """

    def __init__(self, box: str, state: Path | None = None) -> None:
        self._cards: Cards = load_box(box).cards
        self._devices = DeviceFiles(state or state_from_environment(box))
        self._reported: set[int] = set()
        self._rng = random.Random(0)

    def cards(self) -> Sequence[GpuCard]:
        """All cards, those that are lost among them."""
        major, minor = self._cards.compute_capability
        return [
            GpuCard(
                index=index,
                name=self._cards.name,
                uuid=_uuid(self._cards.name, index),
                memory_mib=self._cards.memory_mib,
                compute_capability=(major, minor),
                simulated=True,
            )
            for index in range(self._cards.count)
        ]

    def sample(self) -> Sequence[GpuSample]:
        """Every card now.

        Raises:
            GpuProbeError: If a card is lost.
        """
        lost = self._devices.lost_cards()
        if lost:
            raise GpuProbeError(f"GPU {min(lost)} is lost: the driver no longer answers for it")
        used = [_DRIVER_OWN_MIB] * self._cards.count
        for holding in self._devices.holdings():
            if holding.card < self._cards.count:
                used[holding.card] += holding.mib
        busy, heat = self._devices.busy(), self._devices.heat(self._cards.heat_tau_s)
        return [
            self._sample(index, mib, busy if mib > _DRIVER_OWN_MIB else 0.0, heat)
            for index, mib in enumerate(used)
        ]

    def processes(self) -> Sequence[GpuProcess]:
        """Who holds memory on the cards."""
        return [
            GpuProcess(holding.card, holding.pid, holding.mib, holding.command)
            for holding in self._devices.holdings()
        ]

    def faults(self) -> Sequence[str]:
        """Cards lost since the last call."""
        new = self._devices.lost_cards() - self._reported
        self._reported |= new
        return [_FELL_OFF.format(card=card) for card in sorted(new)]

    def driver_version(self) -> str | None:
        return self._cards.driver

    def topology(self) -> str | None:
        if self._cards.count == 1:
            return None
        return "NVLink" if self._cards.nvlink else "PCIe"

    def close(self) -> None:
        """Nothing to let go."""

    def _sample(self, index: int, used_mib: int, busy: float, heat: float) -> GpuSample:
        cards = self._cards
        noise = self._rng.uniform(-_POWER_NOISE_W, _POWER_NOISE_W)
        power = cards.idle_w + busy * 0.62 * (cards.max_w - cards.idle_w) + noise
        return GpuSample(
            index=index,
            used_mib=used_mib,
            power_w=round(power, 1),
            sm_clock_mhz=cards.sm_clock_mhz if busy else _IDLE_CLOCK_MHZ,
            temperature_c=round(cards.idle_c + heat * (cards.max_c - cards.idle_c)),
            utilisation=round(busy * self._rng.uniform(0.93, 1.0), 2),
        )


def _uuid(name: str, index: int) -> str:
    digest = hashlib.sha256(f"{name}:{index}".encode()).hexdigest()
    return f"GPU-{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"
