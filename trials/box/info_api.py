"""Health, server information, metrics and the cache: everything that generates no text of its own."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from trials.box.answering import Answering
from trials.box.console import Console
from trials.box.generation import Sampling, ServerGoneError
from trials.box.http_server import Exchange, Request
from trials.box.memory import CardMemory
from trials.box.text import tokenize

_HEALTH_TIMEOUT_S = 20.0
_LEAST_TIMEOUT_S = 1.0


class InfoApi:
    """The endpoints that tell about the server.

    Args:
        memory: The card of each replica's leader.
    """

    def __init__(
        self,
        answering: Answering,
        console: Console,
        memory: list[CardMemory],
        startup_s: float,
    ) -> None:
        self._answering = answering
        self._setup = answering.setup
        self._console = console
        self._memory = memory
        self._startup_s = startup_s
        self._timeout = answering.setup.scaled(_HEALTH_TIMEOUT_S, least=_LEAST_TIMEOUT_S)

    async def health(self, request: Request, exchange: Exchange) -> None:
        try:
            await self._answering.replicas.states(self._timeout)
        except TimeoutError:
            await self._unhealthy(exchange)
        else:
            await exchange.send(200, b"")

    async def health_generate(self, request: Request, exchange: Exchange) -> None:
        sampling = Sampling(max_new_tokens=1)
        try:
            async with self._answering.run(tokenize("Hello"), sampling) as generation:
                await asyncio.wait_for(generation.wait(), self._timeout)
        except (TimeoutError, ServerGoneError):
            await self._unhealthy(exchange)
        else:
            await exchange.send(200, b"")

    async def _unhealthy(self, exchange: Exchange) -> None:
        now = time.strftime("%H:%M:%S")
        self._console.log(
            "Health check failed. Server couldn't get a response from detokenizer for last "
            f"{_HEALTH_TIMEOUT_S:g} seconds. tic start time: {now}. last_heartbeat time: {now}"
        )
        await exchange.send(503, b"")

    async def model_info(self, request: Request, exchange: Exchange) -> None:
        table = self._setup.args.table
        await exchange.send_json(
            {
                "model_path": table["model_path"],
                "tokenizer_path": table["tokenizer_path"],
                "is_generation": True,
                "weight_version": "default",
            }
        )

    async def server_info(self, request: Request, exchange: Exchange) -> None:
        try:
            states = await self._answering.replicas.states(self._timeout)
        except TimeoutError:
            await self._unhealthy(exchange)
            return
        table = self._setup.args.table
        internal = [
            self._internal_state(state, memory) for state, memory in zip(states, self._memory, strict=True)
        ]
        await exchange.send_json(
            {
                **table,
                "status": "ready",
                "max_total_num_tokens": self._memory[0].kv_tokens,
                "startup_time": self._startup_s,
                "internal_states": internal,
                "version": self._setup.box.sglang_version,
                "simulated": True,
            }
        )

    async def old_server_info(self, request: Request, exchange: Exchange) -> None:
        self._console.log(
            "Endpoint '/get_server_info' is deprecated and will be removed in a future version. "
            "Please use '/server_info' instead."
        )
        await self.server_info(request, exchange)

    def _internal_state(self, state: dict[str, Any], memory: CardMemory) -> dict[str, Any]:
        graph_phase = "target_verify" if self._answering.speculative else "decode"
        internal: dict[str, Any] = {
            **self._setup.args.table,
            "world_size": self._setup.args.gpus,
            "startup_time": self._startup_s,
            "effective_max_running_requests_per_dp": memory.running,
            "last_gen_throughput": state["throughput"],
            "memory_usage": {
                "weight": round(memory.weights + memory.draft, 3),
                "kvcache": round(memory.kv, 3),
                "startup_available": round(memory.after_graphs, 3),
                "token_capacity": memory.kv_tokens,
                "token_capacity_swa": None,
                "graph": {
                    graph_phase: round(memory.graphs, 3),
                    "draft_decode": round(memory.draft_graphs, 3),
                },
            },
        }
        if state["accept_length"] is not None and self._answering.speculative:
            internal["avg_spec_accept_length"] = state["accept_length"]
        return internal

    async def flush_cache(self, request: Request, exchange: Exchange) -> None:
        try:
            flushed = await self._answering.replicas.flush(self._timeout)
        except TimeoutError:
            flushed = False
        text = (
            "Cache flushed.\nPlease check backend logs for more details."
            if flushed
            else "Flush cache failed."
        )
        await exchange.send(200 if flushed else 400, text.encode(), "text/plain; charset=utf-8")

    async def metrics(self, request: Request, exchange: Exchange) -> None:
        states = await self._answering.replicas.states(self._timeout)
        label = f'model_name="{self._answering.model}"'
        figures = {
            "sglang:num_running_reqs": sum(state["running"] for state in states),
            "sglang:num_queue_reqs": sum(state["queued"] for state in states),
            "sglang:num_used_tokens": sum(state["used_tokens"] for state in states),
            "sglang:token_usage": states[0]["used_tokens"] / self._memory[0].kv_tokens,
            "sglang:gen_throughput": sum(state["throughput"] for state in states),
            "sglang:spec_accept_length": states[0]["accept_length"] or 0.0,
        }
        lines = [f"# TYPE {name} gauge\n{name}{{{label}}} {value}" for name, value in figures.items()]
        await exchange.send(
            200, ("\n".join(lines) + "\n").encode(), "text/plain; version=0.0.4; charset=utf-8"
        )

    async def nothing(self, request: Request, exchange: Exchange) -> None:
        """Control requests that change nothing that the box imagines (``/freeze_gc``)."""
        await exchange.send(200, b"")
