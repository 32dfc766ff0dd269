"""NvmlProbe: what it makes of NVML's answers, and of those that a card refuses."""

from __future__ import annotations

import os
from typing import Any

import pynvml
import pytest

from trials.gpus import GpuProbeError
from trials.nvml import NvmlProbe
from trials.nvml.xid import APPLICATION_XIDS
from trials.process_table import look_up


@pytest.fixture
def probe(nvml: Any) -> NvmlProbe:
    probe = NvmlProbe.open(nvml=nvml)
    assert probe is not None
    return probe


def test_card_and_sample_have_our_units(nvml: Any, probe: NvmlProbe) -> None:
    nvml.device[1].used_mib = 70_000
    nvml.device[1].throttle = 0x1 | 0x4 | 0x40
    card, sample = probe.cards()[1], probe.sample()[1]
    assert (card.index, card.memory_mib, card.compute_capability) == (1, 97_887, (12, 0))
    assert not card.simulated
    assert (sample.index, sample.used_mib, sample.power_w) == (1, 70_000, 61.5)
    assert (sample.sm_clock_mhz, sample.temperature_c, sample.utilisation) == (2_400, 41, 0.87)
    assert sample.throttle == ("power cap", "temperature (hardware)")


def test_idle_and_unknown_throttle_bits_are_no_words(nvml: Any, probe: NvmlProbe) -> None:
    nvml.device[0].throttle = 0x1 | 0x8000_0000
    assert probe.sample()[0].throttle == ()


OPTIONAL = (
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
)


@pytest.mark.parametrize("code", [pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_UNKNOWN])
def test_what_a_card_does_not_support_is_none(nvml: Any, probe: NvmlProbe, code: int) -> None:
    nvml.errors = dict.fromkeys(OPTIONAL, code)
    sample = probe.sample()[0]
    assert (sample.power_w, sample.sm_clock_mhz, sample.temperature_c, sample.utilisation) == (None,) * 4
    assert (sample.used_mib, sample.throttle) == (4, ())


def test_driver_without_anything_but_names_is_no_crash(nvml: Any) -> None:
    refused = (*OPTIONAL, "nvmlSystemGetDriverVersion", "nvmlDeviceGetCudaComputeCapability")
    refused += ("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetComputeRunningProcesses", "nvmlEventSetCreate")
    refused += ("nvmlDeviceGetP2PStatus", "nvmlDeviceGetTopologyCommonAncestor")
    nvml.errors = dict.fromkeys(refused, pynvml.NVML_ERROR_NOT_SUPPORTED)
    probe = NvmlProbe.open(nvml=nvml)
    assert probe is not None
    assert (probe.cards()[0].memory_mib, probe.cards()[0].compute_capability) == (0, None)
    assert probe.sample()[0].used_mib == 0
    assert (probe.driver_version(), probe.topology(), probe.processes(), probe.faults()) == (
        None,
        None,
        (),
        (),
    )


def test_card_that_shares_the_hosts_memory_counts_what_processes_hold(nvml: Any, probe: NvmlProbe) -> None:
    nvml.hold(0, 999_999, 300)
    nvml.hold(0, 999_998, None)
    nvml.device[0].errors["nvmlDeviceGetMemoryInfo"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    assert probe.sample()[0].used_mib == 300


def test_processes_are_named_where_their_pid_resolves(nvml: Any, probe: NvmlProbe) -> None:
    nvml.hold(2, os.getpid(), 512)
    nvml.hold(3, 4_194_304, None)
    mine, unknown = probe.processes()
    own = look_up(os.getpid())
    assert own is not None
    assert (mine.index, mine.pid, mine.used_mib, mine.command) == (2, os.getpid(), 512, own.command)
    assert (unknown.index, unknown.used_mib, unknown.command) == (3, None, None)


@pytest.mark.parametrize(
    "code", [pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_UNKNOWN, pynvml.NVML_ERROR_RESET_REQUIRED]
)
def test_lost_card_is_an_error_and_one_fault(nvml: Any, probe: NvmlProbe, code: int) -> None:
    nvml.device[2].all_errors = code
    for _ in range(2):
        with pytest.raises(
            GpuProbeError, match=r"^GPU 2 \(NVIDIA RTX PRO 6000 Blackwell\) does not answer any"
        ):
            probe.sample()
    assert len(probe.faults()) == 1
    assert probe.faults() == ()


def test_xid_errors_are_told_once_with_card_and_words(nvml: Any, probe: NvmlProbe) -> None:
    nvml.events.extend([(1, 79), (0, 997)])
    assert probe.faults() == (
        "GPU 1 (NVIDIA RTX PRO 6000 Blackwell) reported Xid 79 (GPU has fallen off the bus)",
        "GPU 0 (NVIDIA RTX PRO 6000 Blackwell) reported Xid 997",
    )
    assert probe.faults() == ()


@pytest.mark.parametrize("xid", sorted(APPLICATION_XIDS))
def test_xid_of_an_application_is_no_fault_of_the_machine(nvml: Any, probe: NvmlProbe, xid: int) -> None:
    nvml.events.extend([(0, xid), (0, 48)])
    assert [fault.partition("Xid ")[2][:2] for fault in probe.faults()] == ["48"]


def test_xid_of_a_lost_card_is_still_told(nvml: Any, probe: NvmlProbe) -> None:
    nvml.lose(3)
    nvml.events.append((3, 79))
    assert probe.faults() == ("a GPU reported Xid 79 (GPU has fallen off the bus)",)


def test_card_without_events_does_not_silence_the_others(nvml: Any) -> None:
    nvml.device[0].errors["nvmlDeviceRegisterEvents"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    probe = NvmlProbe.open(nvml=nvml)
    nvml.events.append((1, 95))
    assert nvml.registered == [1, 2, 3]
    assert probe is not None
    assert len(probe.faults()) == 1


@pytest.mark.parametrize(
    ("nvlink", "levels", "expected"),
    [
        ([], {}, "PCIe host bridge"),
        ([(0, 1), (2, 3)], {(0, 2): 50}, "NVLink, PCIe across sockets, PCIe host bridge"),
        ([(a, b) for a in range(4) for b in range(a)], {}, "NVLink"),
        ([], {(a, b): 777 for a in range(4) for b in range(a)}, None),
    ],
)
def test_topology_names_every_kind_of_connection_once(
    nvml: Any, probe: NvmlProbe, nvlink: Any, levels: Any, expected: str | None
) -> None:
    nvml.nvlink = set(map(frozenset, nvlink))
    nvml.levels = {frozenset(pair): level for pair, level in levels.items()}
    assert probe.topology() == expected


def test_only_wanted_cards_are_watched(nvml: Any) -> None:
    probe = NvmlProbe.open((1, 3), nvml=nvml)
    nvml.lose(0)
    assert probe is not None
    assert [card.index for card in probe.cards()] == [1, 3]
    assert [sample.index for sample in probe.sample()] == [1, 3]
    assert nvml.registered == [1, 3]


@pytest.mark.parametrize(
    ("count", "wanted", "words"),
    [(4, (0, 4, 7), r"names GPU 4, 7, but this machine has 0 to 3"), (0, (0,), "but this machine has none")],
)
def test_card_that_does_not_exist_is_one_sentence(nvml: Any, count: int, wanted: Any, words: str) -> None:
    del nvml.device[count:]
    with pytest.raises(GpuProbeError, match=words):
        NvmlProbe.open(wanted, nvml=nvml)
    assert nvml.open == 0, "the library must be let go"


@pytest.mark.parametrize("code", [pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED])
def test_no_library_or_driver_is_no_probe(nvml: Any, code: int) -> None:
    nvml.errors["nvmlInit"] = code
    assert NvmlProbe.open(nvml=nvml) is None


def test_card_that_is_lost_from_the_start_is_one_sentence(nvml: Any) -> None:
    nvml.lose(1)
    with pytest.raises(GpuProbeError, match="the GPUs do not answer: GPU is lost; restart"):
        NvmlProbe.open(nvml=nvml)
    assert nvml.open == 0


def test_close_lets_everything_go_once(nvml: Any, probe: NvmlProbe) -> None:
    probe.close()
    probe.close()
    assert (nvml.open, nvml.sets) == (0, 0)
