"""The machine as it was when a trial began, kept beside the trial: after a death it shows what changed."""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from trials.host import OomKills, boot_id

_NAME = "machine.json"


@dataclass(frozen=True)
class MachineBefore:
    """One reading of the machine.

    Attributes:
        boot_id: Names the time since the machine was started, empty where it has no name.
        kernel_kills: Processes that the kernel has killed for want of memory; None where unknown.
        cgroup_kills: The same of our control group.
    """

    host: str
    boot_id: str
    kernel_kills: int | None
    cgroup_kills: int | None

    @classmethod
    def now(cls) -> MachineBefore:
        kills = OomKills.read()
        return cls(socket.gethostname(), boot_id(), kills.kernel, kills.cgroup)

    @classmethod
    def read(cls, folder: Path) -> MachineBefore | None:
        """What a trial's folder holds; None where it was lost, for instance with the power."""
        try:
            return cls(**json.loads((folder / _NAME).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, folder: Path) -> None:
        (folder / _NAME).write_text(json.dumps(asdict(self)), encoding="utf-8")

    def rebooted_since(self, now: MachineBefore) -> bool:
        """True when the same machine has been started anew in between."""
        return self.host == now.host and self.boot_id != now.boot_id

    def killed_for_memory_since(self, now: MachineBefore) -> bool:
        """True when the same machine, not restarted, has since killed processes for want of memory."""
        if self.host != now.host or self.boot_id != now.boot_id:
            return False
        before, after = (OomKills(seen.kernel_kills, seen.cgroup_kills) for seen in (self, now))
        return bool(after.rose_since(before))
