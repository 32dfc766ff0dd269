"""What disturbs a measurement is seen, and what does not is left alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from trials.disturbance import DisturbanceWatch
from trials.gpus import GpuProcess, GpuSample
from trials.host_load import HostTimes, host_disturbances
from trials.no_gpus import NoGpus


class Cards(NoGpus):
    """Cards on which somebody may hold memory."""

    def __init__(self) -> None:
        self.held: list[GpuProcess] = []

    def processes(self) -> Sequence[GpuProcess]:
        return self.held


class Server:
    """A server with pid 100; all other pids run and are strangers."""

    def strangers(self, pids: Iterable[int]) -> set[int]:
        return set(pids) - {100}

    def pids(self) -> list[int]:
        return []


def holder(pid: int) -> GpuProcess:
    return GpuProcess(2, pid, 900, "python train.py")


def sample(index: int = 0, clock: int | None = 2400, busy: float = 0.9, throttle: str = "") -> GpuSample:
    reasons = (throttle,) if throttle else ()
    return GpuSample(index, 1000, sm_clock_mhz=clock, utilisation=busy, throttle=reasons)


def seen(
    samples: Iterable[GpuSample], cards: Cards | None = None, before: Sequence[GpuProcess] = ()
) -> list[str]:
    watch = DisturbanceWatch(cards or Cards(), Server(), before, with_host=False)
    watch.begin()
    for one in samples:
        watch.see([one])
    return [found.sentence for found in watch.end()]


def test_a_calm_machine_disturbs_nothing() -> None:
    cards = Cards()
    cards.held = [holder(100)]
    assert seen([sample(clock=2400 - 20 * (turn % 3)) for turn in range(20)], cards) == []


def test_a_hot_card_is_named_with_its_share() -> None:
    samples = [sample(3, throttle="temperature (driver)" if turn < 5 else "") for turn in range(10)]
    assert seen(samples) == ["GPU 3 was throttled 50 % of the time (temperature (driver))"]


def test_a_power_cap_and_a_single_hot_second_are_no_disturbance() -> None:
    assert seen([sample(throttle="power cap")] * 10) == []
    assert seen([sample(throttle="hardware slowdown"), *[sample()] * 19]) == []


def test_a_clock_that_sinks_under_load_is_named() -> None:
    assert seen([*[sample(1, 2400)] * 6, *[sample(1, 1600)] * 6]) == [
        "the clock of GPU 1 sank from 2400 to 1600 MHz"
    ]


def test_the_clock_of_an_idle_card_may_sink() -> None:
    assert seen([*[sample(clock=2400)] * 6, *[sample(clock=300, busy=0.0)] * 6]) == []


def test_a_stranger_who_comes_on_a_card_is_named_and_one_who_was_there_is_not() -> None:
    cards = Cards()
    cards.held = [holder(100), holder(7)]
    assert seen([sample()], cards) == ["pid 7 (python train.py), which is not ours, held memory on GPU 2"]
    assert seen([sample()], cards, before=[holder(7)]) == []


def test_a_stranger_counts_for_the_measurements_that_saw_him() -> None:
    cards = Cards()
    watch = DisturbanceWatch(cards, Server(), (), with_host=False)
    watch.begin()
    cards.held = [holder(7)]
    watch.see([sample()])
    cards.held = []
    watch.see([sample()])
    assert len(watch.end()) == 1
    watch.begin()
    watch.see([sample()])
    assert watch.end() == ()


@pytest.mark.parametrize(
    "busy, stolen, ours, words",
    [
        (9.0, 0.0, 8.9, None),
        (9.0, 0.0, 1.0, "other programs kept 0.8 of"),
        (0.1, 3.0, 0.1, "the hypervisor gave"),
    ],
)
def test_a_busy_host_is_told_from_our_own_work(
    busy: float, stolen: float, ours: float, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psutil.cpu_count", lambda: 2)
    before = HostTimes(at=50.0, busy=1000.0, stolen=5.0, ours={1: 70.0})
    after = HostTimes(
        at=60.0, busy=1000.0 + busy, stolen=5.0 + stolen, ours={1: 70.0 + ours / 2, 2: ours / 2}
    )
    found = host_disturbances(before, after)
    assert len(found) == (words is not None)
    assert words is None or found[0].startswith(words)


def test_the_host_times_count_this_process() -> None:
    import os

    times = HostTimes.read([])
    assert times.busy > times.ours[os.getpid()] > 0
