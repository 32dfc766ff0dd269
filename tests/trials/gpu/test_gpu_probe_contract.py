"""What every GpuProbe must do, whoever is behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pynvml
import pytest

from trials.box.device_files import DeviceFiles
from trials.box.probe import BoxProbe
from trials.gpus import GpuProbe, GpuProbeError
from trials.no_gpus import NoGpus
from trials.nvml import NvmlProbe

BOX = "kimi-k2.5-8x-rtx-pro-6000"


@dataclass
class Subject:
    """A probe and the means to change what it sees; None where this kind has no such means."""

    probe: GpuProbe
    hold: Callable[[int, int, int], None] | None = None
    lose: Callable[[int], None] | None = None


def fake_nvml(nvml: Any, _: Path) -> Subject:
    probe = NvmlProbe.open(nvml=nvml)
    assert probe is not None
    return Subject(probe, nvml.hold, nvml.lose)


def simulated_box(_: Any, folder: Path) -> Subject:
    devices = DeviceFiles(folder)

    def hold(card: int, pid: int, mib: int) -> None:
        devices.hold({card: mib}, "a test", pid=pid)

    return Subject(BoxProbe(BOX, folder), hold, lambda card: devices.lose(card, None))


def real_nvml(_: Any, __: Path) -> Subject:
    probe = NvmlProbe.open(nvml=pynvml)
    if probe is None:
        pytest.skip("no NVIDIA driver on this machine")
    return Subject(probe)


def no_gpus(_: Any, __: Path) -> Subject:
    return Subject(NoGpus())


@pytest.fixture(params=[fake_nvml, simulated_box, real_nvml, no_gpus], ids=lambda make: make.__name__)
def subject(request: pytest.FixtureRequest, nvml: Any, tmp_path: Path) -> Iterator[Subject]:
    subject: Subject = request.param(nvml, tmp_path)
    yield subject
    subject.probe.close()


def test_cards_are_distinct_and_do_not_change(subject: Subject) -> None:
    cards = subject.probe.cards()
    assert len({card.index for card in cards}) == len({card.uuid for card in cards}) == len(cards)
    assert all(card.name and card.memory_mib >= 0 for card in cards)
    assert list(subject.probe.cards()) == list(cards)


def test_sample_has_every_card_in_order_and_within_its_bounds(subject: Subject) -> None:
    cards, samples = subject.probe.cards(), subject.probe.sample()
    assert [sample.index for sample in samples] == [card.index for card in cards]
    for card, sample in zip(cards, samples, strict=True):
        assert 0 <= sample.used_mib <= card.memory_mib
        assert sample.utilisation is None or 0 <= sample.utilisation <= 1
        assert sample.power_w is None or 0 <= sample.power_w < 5_000
        assert sample.temperature_c is None or 0 <= sample.temperature_c < 150
        assert sample.sm_clock_mhz is None or 0 <= sample.sm_clock_mhz < 10_000


def test_machine_that_works_has_no_faults(subject: Subject) -> None:
    assert list(subject.probe.faults()) == []


def test_driver_version_and_topology_exist_only_with_cards(subject: Subject) -> None:
    if subject.probe.cards():
        assert subject.probe.driver_version()
    else:
        assert (subject.probe.driver_version(), subject.probe.topology()) == (None, None)


def test_processes_are_on_cards_that_exist(subject: Subject) -> None:
    indices = {card.index for card in subject.probe.cards()}
    assert {process.index for process in subject.probe.processes()} <= indices


def test_memory_that_a_process_takes_is_seen_with_its_holder(subject: Subject) -> None:
    if subject.hold is None:
        pytest.skip("nobody can take memory on this kind of card in a test")
    before = subject.probe.sample()
    subject.hold(1, 1, 2_000)
    after = subject.probe.sample()
    grown = [new.used_mib - old.used_mib for old, new in zip(before, after, strict=True)]
    assert grown[1] == 2_000
    assert not any(grown[:1] + grown[2:])
    assert (1, 1, 2_000) in {(p.index, p.pid, p.used_mib) for p in subject.probe.processes()}


def test_lost_card_raises_and_is_told_once(subject: Subject) -> None:
    if subject.lose is None:
        pytest.skip("this kind of card cannot be lost in a test")
    subject.lose(1)
    for _ in range(2):
        with pytest.raises(GpuProbeError, match="GPU 1"):
            subject.probe.sample()
    faults = subject.probe.faults()
    assert len(faults) == 1
    assert "GPU 1" in faults[0]
    assert list(subject.probe.faults()) == []


def test_close_may_be_called_twice(subject: Subject) -> None:
    subject.probe.close()
    subject.probe.close()
