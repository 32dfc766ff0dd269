"""What only a real card can show: memory that a process takes, a proven stop, a stranger on the card."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from trials.command import Command
from trials.gpu_sampler import GpuSampler
from trials.gpus import GpuProbeError, GpuSample
from trials.left_behind import memory_levels
from trials.nvml import NvmlProbe
from trials.server import ServerProcess
from trials.stopping import HARDWARE_STOP

_HOLDER = [sys.executable, str(Path(__file__).with_name("real_holder.py"))]
_MIB = 4_096
_CONTEXT_MIB = 2_048  # what CUDA itself takes beside it, generously

pytestmark = pytest.mark.slow


@pytest.fixture
def probe() -> Iterator[NvmlProbe]:
    probe = NvmlProbe.open()
    if probe is None:
        pytest.skip("no NVIDIA driver on this machine")
    yield probe
    probe.close()


@pytest.fixture
def hold() -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts processes that hold memory on card 0, and ends them after the test."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen([*_HOLDER, str(_MIB)], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_memory_that_a_process_takes_is_seen(
    probe: NvmlProbe, hold: Callable[[], subprocess.Popen[str]]
) -> None:
    before = memory_levels(probe)[0]
    holder = hold()
    grown = memory_levels(probe)[0] - before
    assert _MIB <= grown <= _MIB + _CONTEXT_MIB
    # In a container the driver lists the pids of the host, or none at all.
    listed = {process.pid: process for process in probe.processes()}
    if holder.pid in listed:
        held = listed[holder.pid]
        assert held.used_mib is None or held.used_mib >= _MIB
        assert "real_holder.py" in (held.command or "")


def test_sampler_reads_the_card_once_a_second(probe: NvmlProbe) -> None:
    taken: list[GpuSample] = []
    with GpuSampler(probe, taken.extend, every_s=0.2) as sampler:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(1)"], check=True)
    assert sampler.faults == ()
    assert len(taken) >= 4 * len(probe.cards())
    assert all(sample.power_w and sample.sm_clock_mhz and sample.temperature_c for sample in taken)


def test_stop_is_proven_once_the_driver_gives_the_memory_back(probe: NvmlProbe, tmp_path: Path) -> None:
    idle = memory_levels(probe)
    server = _server(tmp_path, f"{_HOLDER[1]} {_MIB}")
    _wait_for_memory(probe, idle[0] + _MIB)
    proof = server.stop(probe, idle)
    assert proof.proven, proof.left_behind
    assert memory_levels(probe)[0] <= idle[0] + HARDWARE_STOP.tolerance_mib


def test_memory_that_a_stranger_took_meanwhile_is_named_and_left_alone(
    probe: NvmlProbe, hold: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    idle = memory_levels(probe)
    server = _server(tmp_path, f"{_HOLDER[1]} {_MIB}")
    stranger = hold()
    _wait_for_memory(probe, idle[0] + 2 * _MIB)
    proof = server.stop(probe, idle, policy=replace(HARDWARE_STOP, release_s=5.0))
    assert not proof.proven
    assert "GPU 0" in proof.left_behind
    assert stranger.poll() is None
    if stranger.pid in {process.pid for process in probe.processes()}:
        assert str(stranger.pid) in proof.left_behind


def test_card_that_does_not_exist_is_named(probe: NvmlProbe) -> None:
    with pytest.raises(GpuProbeError, match="names GPU 99"):
        NvmlProbe.open([99])


def _server(folder: Path, script: str) -> ServerProcess:
    command = Command((sys.executable, *script.split()))
    return ServerProcess.start(command, log_path=folder / "server.log", mark="real-gpu:1:1")


def _wait_for_memory(probe: NvmlProbe, mib: int) -> None:
    for _ in range(300):
        if memory_levels(probe)[0] >= mib:
            return
        subprocess.run(["sleep", "0.1"], check=True)
    raise AssertionError(f"the card never held {mib} MiB")
