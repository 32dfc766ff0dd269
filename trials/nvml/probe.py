"""The GPUs of this machine, read through NVIDIA's management library."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, Self

import pynvml

from trials.gpus import GpuCard, GpuProbeError, GpuProcess, GpuSample
from trials.nvml.optional import UNSUPPORTED, optional
from trials.nvml.words import connection_word, throttle_words
from trials.nvml.xid import XidWatch
from trials.process_table import look_up

_MIB = 1 << 20


@dataclass(frozen=True)
class _Device:
    card: GpuCard
    handle: Any

    def __str__(self) -> str:
        return f"GPU {self.card.index} ({self.card.name})"


class NvmlProbe:
    """Implements ``GpuProbe``. What a card or driver does not support is None."""

    def __init__(self, nvml: Any, devices: Sequence[_Device]) -> None:
        self._nvml = nvml
        self._devices = devices
        self._faults: deque[str] = deque()
        self._lost: set[int] = set()
        self._xid = XidWatch(nvml, [device.handle for device in devices])
        self._closed = False

    @classmethod
    def open(cls, gpus: Literal["all"] | Sequence[int] = "all", *, nvml: Any = pynvml) -> Self | None:
        """Start the library.

        Args:
            gpus: Indices in NVML's order (that of the PCI bus), or all.
            nvml: The library's module.

        Returns:
            The probe, or None where there is no driver or no library.

        Raises:
            GpuProbeError: If a wanted card does not exist or does not answer.
        """
        try:
            nvml.nvmlInit()
        except pynvml.NVMLError:
            return None
        try:
            count = nvml.nvmlDeviceGetCount()
            wanted = range(count) if gpus == "all" else gpus
            missing = sorted(set(wanted) - set(range(count)))
            if missing:
                raise GpuProbeError(_missing_sentence(missing, count))
            return cls(nvml, [_device(nvml, index) for index in wanted])
        except pynvml.NVMLError as error:
            nvml.nvmlShutdown()
            raise GpuProbeError(
                f"the GPUs do not answer: {error}; restart the driver or the machine"
            ) from error
        except GpuProbeError:
            nvml.nvmlShutdown()
            raise

    def cards(self) -> Sequence[GpuCard]:
        return tuple(device.card for device in self._devices)

    def sample(self) -> Sequence[GpuSample]:
        return tuple(map(self._sample, self._devices))

    def processes(self) -> Sequence[GpuProcess]:
        return tuple(process for device in self._devices for process in self._processes(device))

    def faults(self) -> Sequence[str]:
        self._faults.extend(self._xid.new(self._name_of))
        found: list[str] = []
        while self._faults:
            found.append(self._faults.popleft())
        return tuple(found)

    def driver_version(self) -> str | None:
        return optional(self._nvml.nvmlSystemGetDriverVersion)

    def topology(self) -> str | None:
        kinds = [self._connection(one, other) for one, other in combinations(self._devices, 2)]
        return ", ".join(dict.fromkeys(kind for kind in kinds if kind is not None)) or None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._xid.close()
            optional(self._nvml.nvmlShutdown)

    def _sample(self, device: _Device) -> GpuSample:
        nvml, handle = self._nvml, device.handle
        used = self._used_mib(device)
        milliwatts = optional(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        busy = optional(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        reasons = optional(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
        return GpuSample(
            index=device.card.index,
            used_mib=used,
            power_w=None if milliwatts is None else milliwatts / 1000,
            sm_clock_mhz=optional(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            temperature_c=optional(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            utilisation=None if busy is None else busy / 100,
            throttle=() if reasons is None else throttle_words(reasons),
        )

    def _used_mib(self, device: _Device) -> int:
        """Memory in use; on cards that share the host's memory, and do not say, what processes hold."""
        try:
            return int(self._nvml.nvmlDeviceGetMemoryInfo(device.handle).used) // _MIB
        except UNSUPPORTED:
            return sum(process.used_mib or 0 for process in self._processes(device))
        except pynvml.NVMLError as error:
            sentence = f"{device} does not answer any more: {error}"
            if device.card.index not in self._lost:
                self._lost.add(device.card.index)
                self._faults.append(sentence)
            raise GpuProbeError(sentence) from error

    def _processes(self, device: _Device) -> Iterator[GpuProcess]:
        listed = optional(lambda: self._nvml.nvmlDeviceGetComputeRunningProcesses(device.handle))
        for entry in listed or ():
            known = look_up(entry.pid)
            used = None if entry.usedGpuMemory is None else entry.usedGpuMemory // _MIB
            yield GpuProcess(device.card.index, entry.pid, used, known.command if known else None)

    def _connection(self, one: _Device, other: _Device) -> str | None:
        nvml = self._nvml
        link = optional(
            lambda: nvml.nvmlDeviceGetP2PStatus(one.handle, other.handle, nvml.NVML_P2P_CAPS_INDEX_NVLINK)
        )
        if link == nvml.NVML_P2P_STATUS_OK:
            return "NVLink"
        level = optional(lambda: nvml.nvmlDeviceGetTopologyCommonAncestor(one.handle, other.handle))
        return None if level is None else connection_word(level)

    def _name_of(self, handle: Any) -> str:
        index = optional(lambda: self._nvml.nvmlDeviceGetIndex(handle))
        return next((str(device) for device in self._devices if device.card.index == index), "a GPU")


def _device(nvml: Any, index: int) -> _Device:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = optional(lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total)
    card = GpuCard(
        index=index,
        name=nvml.nvmlDeviceGetName(handle),
        uuid=nvml.nvmlDeviceGetUUID(handle),
        memory_mib=0 if memory is None else memory // _MIB,
        compute_capability=optional(lambda: nvml.nvmlDeviceGetCudaComputeCapability(handle)),
    )
    return _Device(card, handle)


def _missing_sentence(missing: Sequence[int], count: int) -> str:
    listed = ", ".join(map(str, missing))
    have = "has none" if count == 0 else f"has 0 to {count - 1}"
    return (
        f"[server] gpus names GPU {listed}, but this machine {have}; write indices as `nvidia-smi` lists them"
    )
