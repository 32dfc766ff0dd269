"""What a machine shows of its past: restarts and kills for want of memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autotune.night.machine_before import MachineBefore

_BEFORE = MachineBefore("night", "boot-1", kernel_kills=3, cgroup_kills=0)


@pytest.mark.parametrize(
    ("now", "rebooted", "killed"),
    [
        (_BEFORE, False, False),
        (replace(_BEFORE, kernel_kills=4), False, True),
        (replace(_BEFORE, cgroup_kills=1), False, True),
        (replace(_BEFORE, kernel_kills=None, cgroup_kills=None), False, False),
        (replace(_BEFORE, boot_id="boot-2", kernel_kills=4), True, False),
        (replace(_BEFORE, host="other", boot_id="boot-2", kernel_kills=9), False, False),
    ],
)
def test_what_happened_in_between(now: MachineBefore, rebooted: bool, killed: bool) -> None:
    assert _BEFORE.rebooted_since(now) is rebooted
    assert _BEFORE.killed_for_memory_since(now) is killed


def test_written_and_read(tmp_path: Path) -> None:
    now = MachineBefore.now()
    now.write(tmp_path)
    assert MachineBefore.read(tmp_path) == now


@pytest.mark.parametrize("text", ["", '{"host": "a"', '{"host": "a"}', "[]"])
def test_a_note_that_the_power_cut_off_counts_as_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text(text)
    assert MachineBefore.read(tmp_path) is None
    assert MachineBefore.read(tmp_path / "nowhere") is None
