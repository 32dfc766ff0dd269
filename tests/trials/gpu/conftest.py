"""A pynvml module without a driver: cards whose state a test sets, and calls that a test can make fail."""
# ruff: noqa: N802 - the names are those of the library

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

MIB = 1 << 20
NOT_SUPPORTED = pynvml.NVML_ERROR_NOT_SUPPORTED


@dataclass
class FakeCard:
    """One card. ``errors`` maps a function's name to the NVML error code that it answers for this card."""

    index: int
    name: str = "NVIDIA RTX PRO 6000 Blackwell"
    total_mib: int = 97_887
    used_mib: int = 4
    processes: list[Any] = field(default_factory=list)
    throttle: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    all_errors: int | None = None


class FakeNvml:
    """Stands in for the module ``pynvml``: constants and error classes are the real ones, calls are ours."""

    def __init__(self, count: int = 4) -> None:
        self.device = [FakeCard(index) for index in range(count)]
        self.events: deque[tuple[int, int]] = deque()
        self.registered: list[int] = []
        self.open = 0
        self.sets = 0
        self.errors: dict[str, int] = {}
        self.nvlink: set[frozenset[int]] = set()
        self.levels: dict[frozenset[int], int] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(pynvml, name)
        if callable(value) and not isinstance(value, type):
            raise AssertionError(f"the fake has no {name}; the real library must not be touched")
        return value

    def lose(self, index: int) -> None:
        """The card falls off the bus."""
        self.device[index].all_errors = pynvml.NVML_ERROR_GPU_IS_LOST

    def hold(self, index: int, pid: int, mib: int | None) -> None:
        """A process holds memory on a card."""
        bytes_held = None if mib is None else mib * MIB
        self.device[index].processes.append(SimpleNamespace(pid=pid, usedGpuMemory=bytes_held))
        self.device[index].used_mib += mib or 0

    def _check(self, name: str, card: FakeCard | None = None) -> None:
        code = self.errors.get(name)
        if card is not None:
            code = card.all_errors or card.errors.get(name) or code
        if code is not None:
            raise pynvml.NVMLError(code)

    def nvmlInit(self) -> None:
        self._check("nvmlInit")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        self._check("nvmlSystemGetDriverVersion")
        return "580.95.05"

    def nvmlDeviceGetCount(self) -> int:
        self._check("nvmlDeviceGetCount")
        return len(self.device)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeCard:
        self._check("nvmlDeviceGetHandleByIndex", self.device[index])
        return self.device[index]

    def nvmlDeviceGetIndex(self, card: FakeCard) -> int:
        self._check("nvmlDeviceGetIndex", card)
        return card.index

    def nvmlDeviceGetName(self, card: FakeCard) -> str:
        return card.name

    def nvmlDeviceGetUUID(self, card: FakeCard) -> str:
        return f"GPU-0000-{card.index}"

    def nvmlDeviceGetCudaComputeCapability(self, card: FakeCard) -> tuple[int, int]:
        self._check("nvmlDeviceGetCudaComputeCapability", card)
        return (12, 0)

    def nvmlDeviceGetMemoryInfo(self, card: FakeCard) -> Any:
        self._check("nvmlDeviceGetMemoryInfo", card)
        return SimpleNamespace(total=card.total_mib * MIB, used=card.used_mib * MIB)

    def nvmlDeviceGetPowerUsage(self, card: FakeCard) -> int:
        self._check("nvmlDeviceGetPowerUsage", card)
        return 61_500

    def nvmlDeviceGetClockInfo(self, card: FakeCard, kind: int) -> int:
        assert kind == pynvml.NVML_CLOCK_SM
        self._check("nvmlDeviceGetClockInfo", card)
        return 2_400

    def nvmlDeviceGetTemperature(self, card: FakeCard, sensor: int) -> int:
        assert sensor == pynvml.NVML_TEMPERATURE_GPU
        self._check("nvmlDeviceGetTemperature", card)
        return 41

    def nvmlDeviceGetUtilizationRates(self, card: FakeCard) -> Any:
        self._check("nvmlDeviceGetUtilizationRates", card)
        return SimpleNamespace(gpu=87, memory=40)

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, card: FakeCard) -> int:
        self._check("nvmlDeviceGetCurrentClocksThrottleReasons", card)
        return card.throttle

    def nvmlDeviceGetComputeRunningProcesses(self, card: FakeCard) -> list[Any]:
        self._check("nvmlDeviceGetComputeRunningProcesses", card)
        return card.processes

    def nvmlDeviceGetP2PStatus(self, one: FakeCard, other: FakeCard, index: int) -> int:
        assert index == pynvml.NVML_P2P_CAPS_INDEX_NVLINK
        self._check("nvmlDeviceGetP2PStatus", one)
        linked = frozenset((one.index, other.index)) in self.nvlink
        return int(pynvml.NVML_P2P_STATUS_OK if linked else pynvml.NVML_P2P_STATUS_NOT_SUPPORTED)

    def nvmlDeviceGetTopologyCommonAncestor(self, one: FakeCard, other: FakeCard) -> int:
        self._check("nvmlDeviceGetTopologyCommonAncestor", one)
        return self.levels.get(frozenset((one.index, other.index)), pynvml.NVML_TOPOLOGY_HOSTBRIDGE)

    def nvmlEventSetCreate(self) -> object:
        self._check("nvmlEventSetCreate")
        self.sets += 1
        return object()

    def nvmlDeviceRegisterEvents(self, card: FakeCard, kinds: int, events: object) -> None:
        assert kinds == pynvml.nvmlEventTypeXidCriticalError
        self._check("nvmlDeviceRegisterEvents", card)
        self.registered.append(card.index)

    def nvmlEventSetWait_v2(self, events: object, timeout_ms: int) -> Any:
        assert timeout_ms == 0, "a probe must not wait"
        if not self.events:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_TIMEOUT)
        index, xid = self.events.popleft()
        return SimpleNamespace(device=self.device[index], eventData=xid)

    def nvmlEventSetFree(self, events: object) -> None:
        self.sets -= 1


@pytest.fixture
def nvml() -> FakeNvml:
    return FakeNvml()
