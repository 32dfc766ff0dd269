"""What a stop left on the machine, as sentences that say what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trials.gpus import GpuProbe, GpuProbeError, GpuProcess
from trials.process_table import OsProcess


def process_left(process: OsProcess, holdings: Sequence[GpuProcess]) -> str:
    held = "".join(f", holding {_mib(h.used_mib)} on GPU {h.index}" for h in holdings if h.pid == process.pid)
    return (
        f"Process {process.pid} ({process.command}) still runs after SIGKILL{held}: "
        f"run `kill -9 {process.pid}` as its user, or restart the machine."
    )


def port_left(port: int) -> str:
    return f"Port {port} is still open: find its holder with `ss -ltnp` and end it."


def memory_left(
    probe: GpuProbe, before_mib: Mapping[int, int], tolerance_mib: int, holdings: Sequence[GpuProcess]
) -> list[str]:
    """One sentence per card that is not back at its level before the boot."""
    if not before_mib:
        return []
    try:
        now_mib = memory_levels(probe)
    except GpuProbeError as error:
        return [unreadable(error)]
    return [
        _card_left(index, before, now_mib.get(index), [h for h in holdings if h.index == index])
        for index, before in before_mib.items()
        if index not in now_mib or now_mib[index] > before + tolerance_mib
    ]


def memory_levels(probe: GpuProbe) -> dict[int, int]:
    """Memory in use on every card now, MiB by index: the level that a stop must come back to.

    Raises:
        GpuProbeError: If a card that was there is gone.
    """
    return {sample.index: sample.used_mib for sample in probe.sample()}


def unreadable(error: GpuProbeError) -> str:
    return f"The GPUs cannot be read any more ({error}): restart the machine."


def gpu_holdings(probe: GpuProbe) -> Sequence[GpuProcess]:
    """Who holds GPU memory, as far as the driver tells."""
    try:
        return probe.processes()
    except GpuProbeError:
        return ()


def _card_left(index: int, before: int, now: int | None, holders: Sequence[GpuProcess]) -> str:
    if now is None:
        return f"GPU {index} is gone: restart the machine."
    level = f"GPU {index} holds {_mib(now)} and held {_mib(before)} before the boot"
    if not holders:
        return (
            f"{level}; the driver names no process for it: look for one outside this container, "
            f"else reset the card (`nvidia-smi --gpu-reset -i {index}`) or restart the machine."
        )
    listed = ", ".join(f"pid {h.pid} ({h.command or '?'}) {_mib(h.used_mib)}" for h in holders)
    return f"{level}; it is held by {listed}: end that or wait until it has ended."


def _mib(amount: int | None) -> str:
    return "an unknown amount" if amount is None else f"{amount:,} MiB"
