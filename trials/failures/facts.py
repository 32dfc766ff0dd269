"""What the machine knows and the log cannot: given to ``diagnose`` beside the log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineFacts:
    """Seen from outside while the server lived. None and empty mean: not known.

    Attributes:
        oom_kills_rose: The kernel's or the cgroup's counter of out-of-memory kills rose.
        oom_victim: The process that the kernel named, where it was not one of ours.
        watched: We started it, so a request to stop that we did not make came from somebody else.
        killed_by_us: Why we ended the server ourselves, e.g. "hang"; None when we did not.
        gpu_faults: Xid errors and lost cards, one sentence each.
        card_memory_mib: Memory of the smallest card in use, MiB.
        foreign_processes: Who else held memory on our cards, one sentence each.
    """

    oom_kills_rose: bool | None = None
    oom_victim: str | None = None
    watched: bool = False
    killed_by_us: str | None = None
    gpu_faults: tuple[str, ...] = ()
    card_memory_mib: int | None = None
    foreign_processes: tuple[str, ...] = ()
