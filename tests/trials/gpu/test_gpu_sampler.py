"""GpuSampler: watches from beside, and never disturbs the trial."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trials.box.device_files import DeviceFiles
from trials.box.probe import BoxProbe
from trials.gpu_sampler import GpuSampler
from trials.gpus import GpuCard, GpuSample
from trials.no_gpus import NoGpus
from trials.nvml import NvmlProbe

WAIT_S = 10


class Seen:
    """Collects samples, and lets a test wait for the n-th."""

    def __init__(self, wanted: int) -> None:
        self.samples: list[Sequence[GpuSample]] = []
        self.enough = threading.Event()
        self._wanted = wanted

    def __call__(self, samples: Sequence[GpuSample]) -> None:
        self.samples.append(samples)
        if len(self.samples) >= self._wanted:
            self.enough.set()


def open_fake(nvml: Any) -> NvmlProbe:
    probe = NvmlProbe.open(nvml=nvml)
    assert probe is not None
    return probe


def test_samples_come_until_the_block_ends(nvml: Any) -> None:
    seen = Seen(3)
    with GpuSampler(open_fake(nvml), seen, every_s=0.01):
        assert seen.enough.wait(WAIT_S)
    count = len(seen.samples)
    assert [sample.index for sample in seen.samples[0]] == [0, 1, 2, 3]
    assert not any(thread.name == "gpu-sampler" for thread in threading.enumerate())
    assert len(seen.samples) == count


def test_end_does_not_wait_for_the_next_sample(nvml: Any) -> None:
    seen = Seen(1)
    with GpuSampler(open_fake(nvml), seen, every_s=3_600):
        assert seen.enough.wait(WAIT_S)


def wait_for_faults(sampler: GpuSampler, count: int) -> None:
    for _ in range(WAIT_S * 100):
        if len(sampler.faults) >= count:
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"only {sampler.faults}")


def test_faults_are_kept_once_each(nvml: Any) -> None:
    seen = Seen(5)
    with GpuSampler(open_fake(nvml), seen, every_s=0.01) as sampler:
        nvml.events.extend([(0, 48), (0, 48)])
        wait_for_faults(sampler, 1)
        nvml.lose(2)
        wait_for_faults(sampler, 2)
        nvml.events.append((1, 95))
        wait_for_faults(sampler, 3)
    assert ["Xid 48" in sampler.faults[0], "GPU 2" in sampler.faults[1], "Xid 95" in sampler.faults[2]] == [
        True
    ] * 3
    assert len(sampler.faults) == 3


class _BrokenDriver(NoGpus):
    def cards(self) -> Sequence[GpuCard]:
        return [GpuCard(0, "card", "GPU-0", 1024, (9, 0))]

    def sample(self) -> Sequence[GpuSample]:
        raise ValueError("the driver speaks in tongues")


def test_surprising_errors_of_a_driver_become_faults_and_not_exceptions() -> None:
    with GpuSampler(_BrokenDriver(), lambda samples: None, every_s=0.01) as sampler:
        wait_for_faults(sampler, 1)
    assert sampler.faults == ("the driver speaks in tongues",)


def test_a_recorder_that_fails_is_no_fault_of_the_cards(nvml: Any) -> None:
    seen = Seen(3)

    def broken(samples: Sequence[GpuSample]) -> None:
        seen(samples)
        raise ValueError("the recorder is broken")

    with GpuSampler(open_fake(nvml), broken, every_s=0.01) as sampler:
        assert seen.enough.wait(WAIT_S)
    assert sampler.faults == ()


def test_the_last_look_sees_what_the_end_brought(tmp_path: Path) -> None:
    seen = Seen(1)
    with GpuSampler(BoxProbe("demo", tmp_path), seen, every_s=3_600) as sampler:
        assert seen.enough.wait(WAIT_S)
        DeviceFiles(tmp_path).lose(0, None)
    assert len(sampler.faults) == 1


def test_without_cards_nothing_runs() -> None:
    seen = Seen(1)
    with GpuSampler(NoGpus(), seen, every_s=0.01) as sampler:
        assert not any(thread.name == "gpu-sampler" for thread in threading.enumerate())
    assert (seen.samples, sampler.faults) == ([], ())


def test_lost_card_is_one_fault_however_often_it_is_seen(tmp_path: Path) -> None:
    DeviceFiles(tmp_path).lose(1, None)
    probe = BoxProbe("demo", tmp_path)
    with GpuSampler(probe, lambda samples: None, every_s=0.01) as sampler:
        wait_for_faults(sampler, 1)
        threading.Event().wait(0.1)
    assert len(sampler.faults) == 1
