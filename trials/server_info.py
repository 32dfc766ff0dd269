"""What a running server says about itself: ``GET /server_info``, on older releases ``/get_server_info``."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from trials.outcome import BootReport

_ROUTES = ("/server_info", "/get_server_info")

_MEMORY_NAMES: Mapping[str, tuple[str, ...]] = {
    "weights_gib": ("weight", "weight_gb"),
    "kv_gib": ("kvcache", "kv_cache_gb"),
    "kv_tokens": ("token_capacity",),
    "left_gib": ("startup_available", "startup_available_gb"),
}
"""Our figure to SGLang's names for it in ``internal_states[0].memory_usage``; its GB are GiB."""


@dataclass(frozen=True)
class ServerInfo:
    """The answer, empty where the server has no such route.

    Attributes:
        args: Resolved server arguments by SGLang's field names.
        version: SGLang's version, None if unsaid.
        memory: Figures of ``internal_states[0].memory_usage`` by BootReport's names.
        max_running_requests: Requests that one scheduler runs at once, None if unsaid.
    """

    args: Mapping[str, Any] = field(default_factory=dict)
    version: str | None = None
    memory: Mapping[str, float] = field(default_factory=dict)
    max_running_requests: int | None = None


def read_server_info(url: str, *, timeout_s: float = 10.0) -> ServerInfo:
    """Ask the server at ``url``; a server that does not answer gives an empty ServerInfo."""
    for route in _ROUTES:
        try:
            answer = _answer(url + route, timeout_s)
        except (httpx.HTTPError, ValueError):
            continue
        if isinstance(answer, dict):
            return parse_server_info(answer)
    return ServerInfo()


def _answer(address: str, timeout_s: float) -> Any:
    """httpx's own limit is for the silence between two pieces, so it never ends an answer that drips."""
    deadline = time.monotonic() + timeout_s
    body = b""
    with httpx.stream("GET", address, timeout=timeout_s, trust_env=False) as answer:
        answer.raise_for_status()
        for piece in answer.iter_bytes():
            body += piece
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout(f"{address} gave no whole answer within {timeout_s:g} s")
    return json.loads(body)


def parse_server_info(answer: Mapping[str, Any]) -> ServerInfo:
    states = answer.get("internal_states")
    state = states[0] if isinstance(states, list) and states and isinstance(states[0], Mapping) else {}
    usage = state.get("memory_usage")
    running = state.get("effective_max_running_requests_per_dp")
    version = answer.get("version")
    return ServerInfo(
        args=answer,
        version=str(version) if version else None,
        memory=_memory(usage) if isinstance(usage, Mapping) else {},
        max_running_requests=running if isinstance(running, int) else None,
    )


def complete_report(report: BootReport, info: ServerInfo) -> BootReport:
    """Fill what the log did not say from what the server says."""
    missing = {name: value for name, value in info.memory.items() if getattr(report, name) is None}
    return BootReport.model_validate({**report.model_dump(), **missing})


def _memory(usage: Mapping[str, Any]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for ours, theirs in _MEMORY_NAMES.items():
        value = next((usage[name] for name in theirs if isinstance(usage.get(name), int | float)), None)
        if value is not None:
            figures[ours] = value
    graphs = usage.get("graph")
    if isinstance(graphs, Mapping):
        figures["graphs_gib"] = round(sum(gib for gib in graphs.values() if isinstance(gib, int | float)), 3)
    elif isinstance(graphs, int | float):
        figures["graphs_gib"] = graphs
    return figures
