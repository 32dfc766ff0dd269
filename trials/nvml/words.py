"""NVML's numbers as words: why clocks are low, and how two cards are connected."""

from __future__ import annotations

_THROTTLE_BITS = (
    # nvml.h, nvmlClocksEventReason*. The bit for an idle GPU (1) is left out: it slows nothing down.
    (0x002, "application clocks set"),
    (0x004, "power cap"),
    (0x008, "hardware slowdown"),
    (0x010, "sync boost"),
    (0x020, "temperature (driver)"),
    (0x040, "temperature (hardware)"),
    (0x080, "power brake"),
    (0x100, "display clocks set"),
)

_CONNECTIONS = {
    # nvml.h, nvmlGpuTopologyLevel_t: the nearest thing that two cards have in common.
    0: "same board",
    10: "PCIe switch",
    20: "PCIe switches",
    30: "PCIe host bridge",
    40: "PCIe within a socket",
    50: "PCIe across sockets",
}


def throttle_words(bits: int) -> tuple[str, ...]:
    """Why the clocks are lower than they could be; bits that are not known are left out."""
    return tuple(word for bit, word in _THROTTLE_BITS if bits & bit)


def connection_word(level: int) -> str | None:
    return _CONNECTIONS.get(level)
