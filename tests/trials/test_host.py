"""Facts about the host: counters of killed processes, and a full disk."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from trials import host
from trials.host import OomKills


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (OomKills(3, 0), OomKills(3, 0), False),
        (OomKills(3, 0), OomKills(4, 0), True),
        (OomKills(3, 0), OomKills(3, 2), True),
        (OomKills(None, 1), OomKills(7, 2), True),
        (OomKills(None, 1), OomKills(7, 1), False),
        (OomKills(None, None), OomKills(None, None), None),
        (OomKills(None, 1), OomKills(7, None), None),
    ],
)
def test_counters_rise_when_either_does(before: OomKills, after: OomKills, expected: bool | None) -> None:
    assert after.rose_since(before) is expected


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(host, "_VMSTAT", tmp_path / "vmstat")
    monkeypatch.setattr(host, "_OWN_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(host, "_CGROUP_ROOT", tmp_path / "fs")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_version_2_of_control_groups(machine: Path) -> None:
    write(machine / "vmstat", "nr_free_pages 1\noom_kill 5\npgfault 2\n")
    write(machine / "cgroup", "0::/user.slice/mine\n")
    write(machine / "fs/user.slice/mine/memory.events", "low 0\noom 2\noom_kill 3\noom_group_kill 9\n")
    write(machine / "fs/memory.events", "oom_kill 99\n")
    assert OomKills.read() == OomKills(5, 3)


def test_version_1_of_control_groups(machine: Path) -> None:
    write(machine / "cgroup", "4:cpu,memory:/mine\n0::/\n")
    write(machine / "fs/memory/mine/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 8\n")
    assert OomKills.read() == OomKills(None, 8)


def test_container_whose_own_group_is_the_root(machine: Path) -> None:
    write(machine / "cgroup", "0::/docker/abc\n")
    write(machine / "fs/memory.events", "oom_kill 1\n")
    assert OomKills.read() == OomKills(None, 1)


def test_machine_that_tells_nothing(machine: Path) -> None:
    write(machine / "vmstat", "nr_free_pages 1\n")
    assert OomKills.read() == OomKills(None, None)


@pytest.mark.parametrize(("free_mib", "full"), [(0, True), (15, True), (16, False), (100_000, False)])
def test_full_disk_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_mib: int, full: bool
) -> None:
    monkeypatch.setattr(host.shutil, "disk_usage", lambda _: SimpleNamespace(free=free_mib << 20))
    sentence = host.full_disk(tmp_path)
    assert (sentence is not None) == full
    if sentence is not None:
        assert (
            sentence == f"the disk of {tmp_path} is full ({free_mib} MiB left); free some space and run again"
        )
