"""What a running server says about itself: ``GET /server_info``, on older releases ``/get_server_info``."""

from __future__ import annotations

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
            answer = httpx.get(url + route, timeout=timeout_s, trust_env=False)
            if answer.status_code == httpx.codes.OK:
                return parse_server_info(answer.json())
        except (httpx.HTTPError, ValueError):
            continue
    return ServerInfo()


def parse_server_info(answer: Mapping[str, Any]) -> ServerInfo:
    states = answer.get("internal_states") or [{}]
    state = states[0] if isinstance(states[0], Mapping) else {}
    version = answer.get("version")
    return ServerInfo(
        args=answer,
        version=str(version) if version else None,
        memory=_memory(state.get("memory_usage") or {}),
        max_running_requests=state.get("effective_max_running_requests_per_dp"),
    )


def complete_report(report: BootReport, info: ServerInfo) -> BootReport:
    """Fill what the log did not say from what the server says."""
    missing = {name: value for name, value in info.memory.items() if getattr(report, name) is None}
    return BootReport.model_validate({**report.model_dump(), **missing})


def _memory(usage: Mapping[str, Any]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for ours, theirs in _MEMORY_NAMES.items():
        value = next((usage[name] for name in theirs if usage.get(name) is not None), None)
        if value is not None:
            figures[ours] = value
    graphs = usage.get("graph")
    if isinstance(graphs, Mapping):
        figures["graphs_gib"] = round(sum(graphs.values()), 3)
    elif isinstance(graphs, int | float):
        figures["graphs_gib"] = graphs
    return figures
