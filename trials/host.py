"""The host around the server: its boot, room on its disk, and whether its kernel killed for memory."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

_MIB = 1 << 20
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_VMSTAT = Path("/proc/vmstat")
_OWN_CGROUPS = Path("/proc/self/cgroup")
_CGROUP_ROOT = Path("/sys/fs/cgroup")
_OOM_KILL = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
_FULL_MIB = 16


@dataclass(frozen=True)
class OomKills:
    """Processes that were killed for want of memory since the start of the kernel, and of our control group.

    None where the counter cannot be read.
    """

    kernel: int | None
    cgroup: int | None

    @classmethod
    def read(cls) -> Self:
        return cls(_counter(_VMSTAT), _cgroup_counter())

    def rose_since(self, before: OomKills) -> bool | None:
        """True when either counter rose, None when neither is known at both times."""
        pairs = [(before.kernel, self.kernel), (before.cgroup, self.cgroup)]
        known = [(old, new) for old, new in pairs if old is not None and new is not None]
        return any(new > old for old, new in known) if known else None


@cache
def boot_id() -> str:
    """A name for the time since this machine was started, empty where it has none."""
    return _BOOT_ID.read_text(encoding="ascii").strip() if _BOOT_ID.exists() else ""


def full_disk(folder: Path) -> str | None:
    """A sentence when the disk under ``folder`` has no room left, else None."""
    free_mib = shutil.disk_usage(folder).free // _MIB
    if free_mib >= _FULL_MIB:
        return None
    return f"the disk of {folder} is full ({free_mib} MiB left); free some space and run again"


def _counter(path: Path) -> int | None:
    try:
        match = _OOM_KILL.search(path.read_text())
    except OSError:
        return None
    return int(match[1]) if match else None


def _cgroup_counter() -> int | None:
    counters = map(_counter, _cgroup_files())
    return next((count for count in counters if count is not None), None)


def _cgroup_files() -> list[Path]:
    """Where version 2, then version 1, keeps our group's counter; in a container the root is ours."""
    try:
        lines = _OWN_CGROUPS.read_text().splitlines()
    except OSError:
        return []
    files: list[Path] = []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        below = path.lstrip("/")
        if controllers == "":
            files = [_CGROUP_ROOT / below / "memory.events", _CGROUP_ROOT / "memory.events", *files]
        elif "memory" in controllers.split(","):
            files += [
                _CGROUP_ROOT / "memory" / below / "memory.oom_control",
                _CGROUP_ROOT / "memory" / "memory.oom_control",
            ]
    return files
