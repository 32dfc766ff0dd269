"""What is known about the GPUs: one contract for NVML, for the simulated box, and for no GPU at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class GpuCard:
    """A card that does not change while we watch. Memory in MiB."""

    index: int
    name: str
    uuid: str
    memory_mib: int
    compute_capability: tuple[int, int] | None
    simulated: bool = False


@dataclass(frozen=True)
class GpuSample:
    """One card at one moment; None where the driver does not say."""

    index: int
    used_mib: int
    power_w: float | None = None
    sm_clock_mhz: int | None = None
    temperature_c: int | None = None
    utilisation: float | None = None
    throttle: tuple[str, ...] = ()


@dataclass(frozen=True)
class GpuProcess:
    """A process that holds memory on a card. Its pid may not resolve inside a container."""

    index: int
    pid: int
    used_mib: int | None
    command: str | None


class GpuProbeError(RuntimeError):
    """A card vanished or the driver stopped answering: an environment failure."""


class GpuProbe(Protocol):
    """Reads the cards; changes nothing."""

    def cards(self) -> Sequence[GpuCard]:
        """All cards in scope, empty without a driver."""

    def sample(self) -> Sequence[GpuSample]:
        """Every card now.

        Raises:
            GpuProbeError: If a card that was there is gone.
        """

    def processes(self) -> Sequence[GpuProcess]:
        """Who holds memory on the cards."""

    def faults(self) -> Sequence[str]:
        """Xid errors and lost cards since the last call, one sentence each."""

    def driver_version(self) -> str | None:
        """The driver's version, None without one."""

    def topology(self) -> str | None:
        """How the cards are connected, one word per pair kind ("PCIe", "NVLink", ...), None if unknown."""

    def close(self) -> None:
        """Let the driver go. Safe to call twice."""
