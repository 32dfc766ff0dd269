"""The probe of a machine whose GPUs cannot be seen: a CPU server, or no driver."""

from __future__ import annotations

from collections.abc import Sequence

from trials.gpus import GpuCard, GpuProcess, GpuSample


class NoGpus:
    """Implements ``GpuProbe`` with nothing to see; all that depends on it is shown as unknown."""

    def cards(self) -> Sequence[GpuCard]:
        return ()

    def sample(self) -> Sequence[GpuSample]:
        return ()

    def processes(self) -> Sequence[GpuProcess]:
        return ()

    def faults(self) -> Sequence[str]:
        return ()

    def driver_version(self) -> str | None:
        return None

    def topology(self) -> str | None:
        return None

    def close(self) -> None:
        return None
