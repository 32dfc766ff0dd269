"""Which CUDA graphs a boot captures, and the lines that tell of it."""

from __future__ import annotations

from collections.abc import Iterable

from trials.box.memory import CardMemory
from trials.box.server_args import ServerArgs

_NEW_LINES_SINCE = (0, 5, 14)


def capture_plan(args: ServerArgs, memory: CardMemory) -> list[tuple[str, int, float]]:
    """The captures in order: name, token rows of a request, GiB."""
    if not memory.sizes:
        return []
    if args.speculation is None:
        return [("target decode", 1, memory.graphs)]
    captures = [("target verify", args.speculation.draft_tokens, memory.graphs)]
    if memory.draft_graphs:
        share = 0.5 if args.speculation.steps > 1 else 1.0
        if args.speculation.steps > 1:
            captures.append(("draft decode", args.speculation.topk, memory.draft_graphs * share))
        captures.append(("draft extend", args.speculation.draft_tokens, memory.draft_graphs * share))
    return captures


def capture_begin(version: tuple[int, ...], name: str, rows: int, left: float) -> str:
    """The line before a capture; ``left`` is the free memory, GiB."""
    if version >= _NEW_LINES_SINCE:
        return (
            f"Capture {name} CUDA graph begin. backend=full, num_tokens_per_req={rows}, "
            f"avail mem={left:.2f} GB"
        )
    return f"Capture {_old_name(name)} begin. This can take up to several minutes. avail mem={left:.2f} GB"


def capture_end(
    version: tuple[int, ...], name: str, sizes: Iterable[int], seconds: float, gib: float, left: float
) -> str:
    """The line after a capture that took ``seconds`` and ``gib``."""
    if version >= _NEW_LINES_SINCE:
        return (
            f"Capture {name} CUDA graph end. bs={list(sizes)}, elapsed={seconds:.2f} s, "
            f"mem usage={gib:.2f} GB, avail mem={left:.2f} GB."
        )
    return (
        f"Capture {_old_name(name)} end. Time elapsed: {seconds:.2f} s. mem usage={gib:.2f} GB. "
        f"avail mem={left:.2f} GB."
    )


def _old_name(name: str) -> str:
    old = {"draft decode": "draft cuda graph", "draft extend": "draft extend cuda graph"}
    return old.get(name, "cuda graph")
