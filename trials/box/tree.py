"""Which processes a server is made of, and what each is called."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from trials.box.server_args import ServerArgs


@dataclass(frozen=True)
class Rank:
    """One scheduler.

    Attributes:
        number: Position among all schedulers; also its GPU.
        replica: Whole replica it belongs to (``--dp-size``).
        tp: Rank inside the replica.
        tag: What SGLang puts into the log's bracket.
    """

    number: int
    replica: int
    tp: int
    tag: str

    @property
    def leads(self) -> bool:
        """Whether this rank decides the replica's batches."""
        return self.tp == 0


def ranks_of(args: ServerArgs) -> list[Rank]:
    """All schedulers of a server."""
    return [
        Rank(number, number // args.tp, number % args.tp, rank_tag(args, number // args.tp, number % args.tp))
        for number in range(args.gpus)
    ]


def rank_tag(args: ServerArgs, replica: int, tp: int) -> str:
    tag = ""
    if args.dp > 1:
        tag += f" DP{replica}"
    elif args.adp > 1:
        tag += f" DP{tp // args.attention_tp}"
    if args.tp > 1:
        tag += f" TP{tp}"
    if args.ep > 1:
        tag += f" EP{tp // (args.tp // args.ep)}"
    return tag


def name_process(name: str) -> None:
    """Make ``ps`` and ``/proc`` show this process as SGLang names it (15 characters at most)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(name)
