"""The state folder and the probe that reads it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trials.box.device_files import DeviceFiles, process_started
from trials.box.probe import BoxProbe
from trials.gpus import GpuProbeError

KIMI = "kimi-k2.5-8x-rtx-pro-6000"


@pytest.fixture
def devices(tmp_path: Path) -> DeviceFiles:
    return DeviceFiles(tmp_path)


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    return process.pid


def test_idle_cards_hold_next_to_nothing(tmp_path: Path) -> None:
    probe = BoxProbe(KIMI, tmp_path)
    cards, samples = probe.cards(), probe.sample()
    assert len(cards) == len(samples) == 8
    assert all(card.simulated and card.compute_capability == (12, 0) for card in cards)
    assert len({card.uuid for card in cards}) == 8
    assert all(sample.used_mib < 100 and sample.power_w and sample.power_w < 60 for sample in samples)
    assert (probe.topology(), probe.faults(), list(probe.processes())) == ("PCIe", [], [])
    probe.close()
    probe.close()


def test_a_live_process_is_counted_on_its_card(devices: DeviceFiles) -> None:
    devices.hold({2: 5000}, "sglang::scheduler_TP2")
    probe = BoxProbe(KIMI, devices.folder)
    assert probe.sample()[2].used_mib > 5000 > probe.sample()[1].used_mib
    (process,) = probe.processes()
    assert (process.index, process.pid, process.used_mib, process.command) == (
        2,
        os.getpid(),
        5000,
        "sglang::scheduler_TP2",
    )


def test_a_dead_process_frees_its_memory_by_itself(devices: DeviceFiles) -> None:
    devices.hold({0: 5000}, "gone", pid=dead_pid())
    assert devices.holdings() == []
    assert not list(devices.folder.glob("proc-*"))


def test_a_reused_pid_is_another_process(devices: DeviceFiles) -> None:
    devices.hold({0: 5000}, "older")
    file = devices.folder / f"proc-{os.getpid()}.json"
    file.write_text(file.read_text().replace(f'"started": {process_started(os.getpid())}', '"started": 1'))
    assert devices.used_mib(0) == 0


def test_late_memory_comes_back_after_its_time(devices: DeviceFiles) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    devices.hold({1: 700}, "late", linger_s=0.4, pid=process.pid)
    process.kill()
    process.wait()
    assert devices.used_mib(1) == 700
    time.sleep(0.5)
    assert devices.used_mib(1) == 0


def test_a_lost_card_fails_the_sample_and_is_told_once(devices: DeviceFiles) -> None:
    probe = BoxProbe(KIMI, devices.folder)
    devices.lose(4, seconds=None)
    with pytest.raises(GpuProbeError, match="GPU 4 is lost"):
        probe.sample()
    assert len(probe.faults()) == 1
    assert probe.faults() == []


def test_a_card_lost_for_a_while_comes_back(devices: DeviceFiles) -> None:
    devices.lose(4, seconds=0.0)
    assert devices.lost_cards() == set()


def test_work_shows_in_power_clocks_and_in_time_in_temperature(devices: DeviceFiles) -> None:
    probe = BoxProbe(KIMI, devices.folder)
    devices.hold({0: 70_000}, "busy")
    idle = probe.sample()[0]
    devices.set_busy(1.0, heat_tau_s=90.0)
    busy = probe.sample()[0]
    assert busy.power_w is not None
    assert idle.power_w is not None
    assert busy.power_w > idle.power_w + 200
    assert (busy.utilisation or 0) > 0.9
    assert 0.0 <= devices.heat(90.0) < 0.1
    assert devices.heat(1e-9) == pytest.approx(1.0)


def test_boots_are_numbered(devices: DeviceFiles) -> None:
    assert [devices.count_boot() for _ in range(3)] == [1, 2, 3]
