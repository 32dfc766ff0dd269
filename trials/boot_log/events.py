"""What a server log says, as values. Memory in GiB: SGLang writes "GB" and divides by 2**30."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from trials.outcome import Stage


@dataclass(frozen=True)
class StageChanged:
    """The boot went on to a later stage. ``stamp``: seconds of the log's own clock, None without one."""

    stage: Stage
    stamp: float | None = None


@dataclass(frozen=True)
class MemoryFigure:
    """One amount of memory on one rank.

    Attributes:
        what: "avail_before_weights", "weights", "draft", "kv", "graphs" or "left".
        gib: GiB on that rank's GPU.
        rank: The tags of the log line, e.g. "DP0 TP1", empty on a server of one rank.
    """

    what: str
    gib: float
    rank: str = ""


@dataclass(frozen=True)
class GraphsCaptured:
    """One capture ended.

    Attributes:
        name: Which graphs, e.g. "target verify" ("decode" where the release does not say).
        sizes: Captured batch sizes, empty where the release does not print them.
        seconds: How long it took, s.
    """

    name: str
    sizes: tuple[int, ...]
    seconds: float | None
    rank: str = ""


@dataclass(frozen=True)
class Ready:
    """The server said that it is ready. That alone proves nothing: see ``BootLog.port_taken``."""

    stamp: float | None = None


@dataclass(frozen=True)
class Notice:
    """A warning that changes what the settings mean, in the server's words."""

    text: str


@dataclass(frozen=True)
class DecodeBatch:
    """The scheduler's report about the last decode steps; None where the release does not say.

    Attributes:
        running: Streams decoding.
        tokens: Tokens in the KV pool.
        token_usage: Share of the KV pool in use, 0 to 1.
        accept_len: Mean tokens per verify step.
        accept_rate: Share of draft tokens accepted, 0 to 1.
        cuda_graph: False means that the batch exceeded the captured sizes: slow.
        tok_s: Decode throughput of this scheduler, tok/s.
        queued: Requests waiting.
        rank: The tags of the line: with data parallelism every replica reports for itself.
    """

    running: int
    tokens: int | None = None
    token_usage: float | None = None
    accept_len: float | None = None
    accept_rate: float | None = None
    cuda_graph: bool | None = None
    tok_s: float | None = None
    queued: int | None = None
    rank: str = ""


@dataclass(frozen=True)
class Retraction:
    """The KV pool was full; ``count`` running requests went back to the queue. Slow, but no failure."""

    count: int


@dataclass(frozen=True)
class Fatal:
    """A line after which this server will not serve; ``trials.failures`` says why."""

    line: str


Event: TypeAlias = (
    StageChanged | MemoryFigure | GraphsCaptured | Ready | Notice | DecodeBatch | Retraction | Fatal
)
