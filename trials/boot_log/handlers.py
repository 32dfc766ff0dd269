"""What each recognised line changes: one small function per entry of ``wording.LINES``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from trials.boot_log import wording
from trials.boot_log.decode import parse_decode_batch
from trials.boot_log.events import Event, Fatal, GraphsCaptured, MemoryFigure, Ready, Retraction
from trials.boot_log.facts import BootFacts
from trials.boot_log.lines import LogLine
from trials.outcome import Stage

Said: TypeAlias = Mapping[str, str | None]
Handler: TypeAlias = Callable[[BootFacts, Said, LogLine], list[Event]]

_TIMING = re.compile(r"(\w+)=(\d+(?:\.\d+)?)")


def _decode_batch(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    if facts.args_line is None:  # the log's head is torn off: a server that decodes was ready before
        facts.ready, facts.stage = True, Stage.READY
    batch = parse_decode_batch(said["fields"] or "", line.rank)
    return [] if batch is None else [batch]


def _server_args(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    facts.args_line = line.text
    return []


def _weights_begin(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    rank = facts.memory.ranks[line.rank]
    gib = _gib(said["avail"])
    rank.before_load = gib
    if gib is None or rank.before_weights is not None:
        return []
    rank.before_weights = gib
    return [MemoryFigure("avail_before_weights", gib, line.rank)]


def _weights_end(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    rank = facts.memory.ranks[line.rank]
    used, left = _gib(said["used"]), _gib(said["avail"])
    if used is None and left is not None and rank.before_load is not None:
        used = rank.before_load - left
    rank.left = left
    if used is None:
        return []
    return [MemoryFigure(rank.add_weights(max(0.0, used)), max(0.0, used), line.rank)]


def _kv_pool(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    if facts.kv_tokens is None and (tokens := said.get("tokens")):
        facts.kv_tokens = int(tokens)
    return _add_pool(facts, [said.get(part) for part in ("k", "v", "kv")], line)


def _state_pool(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    return _add_pool(facts, [said["conv"], said["ssm"]], line)


def _add_pool(facts: BootFacts, parts: list[str | None], line: LogLine) -> list[Event]:
    """Target and draft each have a pool, hybrid models several: together they are the pool of a GPU."""
    rank = facts.memory.ranks[line.rank]
    gib = sum(_gib(part) or 0.0 for part in parts)
    rank.kv = (rank.kv or 0.0) + gib
    return [MemoryFigure("kv", gib, line.rank)]


def _pool_end(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    return _left_over(facts, said["left"], line)


def _capture_begin(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    gib = _gib(said["avail"])
    if gib is not None:
        facts.capture_avail[line.rank] = gib
    return []


def _capture_end(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    sizes = _sizes(said["sizes"]) or facts.graph_sizes
    name = (said["name"] or "").strip() or "decode"
    graphs = GraphsCaptured(name, sizes, _gib(said["took"]), line.rank)
    facts.graphs.append(graphs)
    return [graphs, *_capture_memory(facts, said["rest"] or "", line)]


def _capture_memory(facts: BootFacts, rest: str, line: LogLine) -> list[Event]:
    used, left = wording.CAPTURE_USED.search(rest), wording.CAPTURE_LEFT.search(rest)
    rank = facts.memory.ranks[line.rank]
    if left is not None:
        rank.left = float(left["left"])
    if used is not None:
        gib = float(used["used"])
    elif left is not None and line.rank in facts.capture_avail:
        gib = facts.capture_avail[line.rank] - float(left["left"])
    else:
        return []
    rank.graphs = (rank.graphs or 0.0) + max(0.0, gib)
    return [MemoryFigure("graphs", max(0.0, gib), line.rank)]


def _capture_sizes(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    facts.graph_sizes = _sizes(said["bs"])
    return []


def _totals(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    facts.kv_tokens = int(said["total"] or 0)
    return _left_over(facts, said["free"], line)


def _left_over(facts: BootFacts, amount: str | None, line: LogLine) -> list[Event]:
    gib = _gib(amount)
    if gib is None:
        return []
    facts.memory.ranks[line.rank].left = gib
    return [MemoryFigure("left", gib, line.rank)]


def _timings(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    facts.timings_s = {name: float(seconds) for name, seconds in _TIMING.findall(said["timings"] or "")}
    return []


def _uvicorn(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    facts.listening_port = int(said["port"] or 0)
    return []


def _ready(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    facts.ready = True
    facts.ready_stamp = line.stamp
    return [Ready(line.stamp)]


def _retraction(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    return [Retraction(int(said["retracted"] or 0))]


def _port_taken(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    facts.port_taken = True
    return [Fatal(line.text)]


def _quiet(facts: BootFacts, said: Said, line: LogLine) -> list[Event]:
    return []


def _sizes(text: str | None) -> tuple[int, ...]:
    return tuple(int(size) for size in (text or "").split(",") if size.strip())


def _gib(text: str | None) -> float | None:
    return None if text is None else float(text)


HANDLERS: Final[dict[str, Handler]] = {
    "decode_batch": _decode_batch,
    "server_args": _server_args,
    "init_begin": _quiet,
    "weights_begin": _weights_begin,
    "weights_end": _weights_end,
    "kv_pool": _kv_pool,
    "state_pool": _state_pool,
    "pool_end": _pool_end,
    "capture_begin": _capture_begin,
    "capture_end": _capture_end,
    "capture_sizes": _capture_sizes,
    "totals": _totals,
    "timings": _timings,
    "uvicorn": _uvicorn,
    "ready": _ready,
    "retraction": _retraction,
    "port_taken": _port_taken,
}
