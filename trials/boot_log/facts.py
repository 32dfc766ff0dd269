"""What a log has shown so far: the state that the line handlers write and the boot log reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from trials.boot_log.events import GraphsCaptured
from trials.boot_log.memory import MemoryLedger
from trials.boot_log.server_args import parse_server_args
from trials.outcome import Stage


@dataclass
class BootFacts:
    """All ranks together, unless said otherwise.

    Attributes:
        stage: The furthest stage that any rank has reached; it never goes back.
        ready: The server said that it is ready.
        port_taken: It could not bind its port. It may say "ready" all the same, having warmed up another
            server on that port.
        args_line: The server's line with its resolved arguments, None until then.
        notices: Warnings worth showing, each once, in the server's words.
        listening_port: The port that its HTTP server listens on, None until then.
        graphs: The captures that ended.
        graph_sizes: The batch sizes that it captures, where the release prints them before.
        timings_s: What the server says about its own start (since about 0.5.20), s by phase.
        kv_tokens: Tokens that the KV pool holds.
    """

    stage: Stage = Stage.ARGUMENTS
    ready: bool = False
    port_taken: bool = False
    args_line: str | None = None
    notices: list[str] = field(default_factory=list)
    listening_port: int | None = None
    graphs: list[GraphsCaptured] = field(default_factory=list)
    graph_sizes: tuple[int, ...] = ()
    timings_s: dict[str, float] = field(default_factory=dict)
    memory: MemoryLedger = field(default_factory=MemoryLedger)
    kv_tokens: int | None = None
    capture_avail: dict[str, float] = field(default_factory=dict)
    first_stamp: float | None = None
    ready_stamp: float | None = None

    @property
    def server_args(self) -> dict[str, Any] | None:
        """The resolved arguments; read from their line only when they are wanted, since that takes long."""
        return None if self.args_line is None else _parsed(self.args_line)


_parsed = lru_cache(maxsize=8)(parse_server_args)
