"""What disturbs a measurement from outside: hot cards, strangers on a card, a busy host.

A power cap is no disturbance: it is where a card works under its own load. Set clocks are the owner's will.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trials.gpus import GpuProbe, GpuProcess, GpuSample
from trials.host_load import HostTimes, host_disturbances
from trials.left_behind import gpu_holdings

SLOWED_BY = frozenset({"hardware slowdown", "temperature (driver)", "temperature (hardware)", "power brake"})
"""Throttle reasons (``GpuSample.throttle``) that come and go with the machine's state."""

THROTTLED_SHARE = 0.1
"""Share of a measurement's samples; one throttled second in a minute moves no result."""

CLOCK_DROP = 0.15
"""How far a busy card's clock may sink within one measurement: boost clocks wander by a few percent."""

FEWEST_SAMPLES = 5
BUSY = 0.5
"""Clocks are compared over at least so many samples in which the card was at least so busy."""


@dataclass(frozen=True)
class Disturbance:
    """One thing that was not as it should be.

    Attributes:
        cause: Equal for the same thing in another measurement.
        sentence: With its figures.
    """

    cause: str
    sentence: str


class Watched(Protocol):
    """The server whose measurements are watched; ``ServerProcess`` satisfies it."""

    def strangers(self, pids: Iterable[int]) -> set[int]:
        """Those of the pids that run and are not the server's."""

    def pids(self) -> list[int]:
        """The server's own."""


class DisturbanceWatch:
    """Looks on while a server is measured.

    Args:
        before: Who held memory on the cards before the boot: part of the machine as it is.
        with_host: Whether a busy host matters.
    """

    def __init__(
        self, probe: GpuProbe, server: Watched, before: Sequence[GpuProcess], *, with_host: bool
    ) -> None:
        self._probe = probe
        self._server = server
        self._with_host = with_host
        self._known = {held.pid for held in before}
        self._strangers: dict[int, GpuProcess] = {}
        self._seen_strangers: dict[int, GpuProcess] = {}
        self._ever_seen: dict[int, GpuProcess] = {}
        self._samples: list[GpuSample] = []
        self._host: HostTimes | None = None

    def see(self, samples: Sequence[GpuSample]) -> None:
        """Take one sample of every card; called about once a second from another thread."""
        self._samples.extend(samples)
        holdings = {held.pid: held for held in gpu_holdings(self._probe)}
        fresh = holdings.keys() - self._known - self._strangers.keys()
        foreign = self._server.strangers(fresh) if fresh else set()
        self._known |= fresh - foreign
        self._strangers = {
            pid: held for pid, held in holdings.items() if pid in foreign or pid in self._strangers
        }
        self._seen_strangers |= self._strangers
        self._ever_seen |= self._strangers

    def strangers(self) -> tuple[GpuProcess, ...]:
        """Who else held memory on the cards at any time of this boot."""
        return tuple(self._ever_seen.values())

    def begin(self) -> None:
        """A measurement begins."""
        self._samples, self._seen_strangers = [], dict(self._strangers)
        self._host = self._host_now()

    def end(self) -> tuple[Disturbance, ...]:
        """What disturbed the measurement since ``begin``."""
        samples, self._samples = self._samples, []
        return (
            *_throttled(samples),
            *_slowed(samples),
            *(_stranger(held) for held in tuple(self._seen_strangers.values())),
            *self._host_found(),
        )

    def _host_now(self) -> HostTimes | None:
        return HostTimes.read(self._server.pids()) if self._with_host else None

    def _host_found(self) -> list[Disturbance]:
        now = self._host_now()
        if self._host is None or now is None:
            return []
        return [Disturbance("host", sentence) for sentence in host_disturbances(self._host, now)]


def _throttled(samples: Sequence[GpuSample]) -> list[Disturbance]:
    found = []
    for index, card in _by_card(samples):
        reasons = [reason for sample in card for reason in sample.throttle if reason in SLOWED_BY]
        share = sum(bool(SLOWED_BY.intersection(sample.throttle)) for sample in card) / len(card)
        if share > THROTTLED_SHARE:
            words = ", ".join(dict.fromkeys(reasons))
            found.append(
                Disturbance(
                    f"throttle {index}",
                    f"GPU {index} was throttled {100 * share:.0f} % of the time ({words})",
                )
            )
    return found


def _slowed(samples: Sequence[GpuSample]) -> list[Disturbance]:
    found = []
    for index, card in _by_card(samples):
        clocks = [
            sample.sm_clock_mhz
            for sample in card
            if sample.sm_clock_mhz is not None and (sample.utilisation or 0.0) >= BUSY
        ]
        if len(clocks) < FEWEST_SAMPLES:
            continue
        low, high = np.quantile(clocks, [0.1, 0.9])
        if low < (1 - CLOCK_DROP) * high:
            sentence = f"the clock of GPU {index} sank from {high:.0f} to {low:.0f} MHz"
            found.append(Disturbance(f"clock {index}", sentence))
    return found


def _stranger(held: GpuProcess) -> Disturbance:
    sentence = f"pid {held.pid} ({held.command or '?'}), which is not ours, held memory on GPU {held.index}"
    return Disturbance(f"pid {held.pid}", sentence)


def _by_card(samples: Sequence[GpuSample]) -> Iterable[tuple[int, list[GpuSample]]]:
    cards: dict[int, list[GpuSample]] = defaultdict(list)
    for sample in samples:
        cards[sample.index].append(sample)
    return sorted(cards.items())
