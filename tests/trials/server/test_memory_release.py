"""The stop's proof that the GPUs' memory came back."""

from __future__ import annotations

import time
from typing import Any

import pytest

from trials.gpus import GpuProbeError, GpuProcess
from trials.settings import ServerPlan
from trials.stopping import BOX_STOP, HARDWARE_STOP, StopPolicy, stop_policy

pytestmark = pytest.mark.slow

SLEEP = "import time; time.sleep(60)"


def test_memory_that_comes_back_late_is_waited_for(launch: Any, probe: Any) -> None:
    levels = iter([900, 900, 900])
    probe.level = lambda: next(levels, 10 + 512)
    assert launch.stop(launch(SLEEP)).proven
    assert next(levels, None) is None


def test_memory_must_stay_back_for_the_whole_settling_time(launch: Any, probe: Any) -> None:
    looks: list[float] = []

    def back_gone_back() -> int:
        looks.append(time.monotonic())
        return 900 if len(looks) == 2 else 10

    probe.level = back_gone_back
    assert launch.stop(launch(SLEEP), policy=StopPolicy(grace_s=1, settle_s=0.4, poll_s=0.02)).proven
    assert time.monotonic() - looks[2] >= 0.4


def test_memory_that_never_comes_back_is_named_with_its_holder(launch: Any, probe: Any) -> None:
    probe.level = lambda: 10 + 513
    probe.holders = [GpuProcess(0, 4_711, 513, "python train.py"), GpuProcess(1, 12, 5, "on another card")]
    proof = launch.stop(launch(SLEEP), policy=launch.brief)
    assert (proof.proven, proof.exit_code) == (False, -15)
    assert proof.left_behind == (
        "GPU 0 holds 523 MiB and held 10 MiB before the boot; "
        "it is held by pid 4711 (python train.py) 513 MiB: end that or wait until it has ended."
    )


def test_memory_without_a_holder_says_where_to_look(launch: Any, probe: Any) -> None:
    probe.level = lambda: 90_000
    proof = launch.stop(launch(SLEEP), policy=launch.brief)
    assert "GPU 0 holds 90,000 MiB" in proof.left_behind
    assert "nvidia-smi --gpu-reset -i 0" in proof.left_behind


def test_card_that_stops_answering_is_named(launch: Any, probe: Any) -> None:
    def gone() -> int:
        raise GpuProbeError("GPU 0 is lost")

    probe.level = gone
    proof = launch.stop(launch(SLEEP), policy=launch.brief)
    assert not proof.proven
    assert proof.left_behind == "The GPUs cannot be read any more (GPU 0 is lost): restart the machine."


def test_card_that_is_no_longer_listed_is_named(launch: Any) -> None:
    proof = launch.stop(launch(SLEEP), policy=launch.brief, idle={0: 10, 5: 10})
    assert (proof.proven, proof.left_behind) == (False, "GPU 5 is gone: restart the machine.")


def test_hurried_stop_says_what_memory_it_did_not_wait_for(launch: Any, probe: Any) -> None:
    server = launch(SLEEP)
    probe.level = lambda: 900
    proof = launch.stop(server, now=True, policy=StopPolicy(hurried_s=0.1))
    assert not launch.lives(server.pid)
    assert (proof.proven, "GPU 0 holds 900 MiB" in proof.left_behind) == (False, True)


@pytest.mark.parametrize(
    ("how", "expected"), [({"command": ("serve",)}, HARDWARE_STOP), ({"box": "demo"}, BOX_STOP)]
)
def test_imagined_memory_has_its_own_patience(how: dict[str, Any], expected: StopPolicy) -> None:
    assert stop_policy(ServerPlan(model_path="m", **how)) is expected
