"""The leading scheduler's event loop: batches, paced in wall-clock time by the cost model.

Every pass ends at an absolute deadline (the last one plus its cost), so that lateness never adds up.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from trials.box import words
from trials.box.batch_log import BatchLog
from trials.box.batching import Group, Request
from trials.box.console import Console
from trials.box.memory import CardMemory
from trials.box.mischief import SchedulerDiedError, strike
from trials.box.setting_up import Setup
from trials.box.speed import AcceptModel, SpeedModel
from trials.box.tree import Rank, rank_tag
from trials.box.wire import Inbox, send

Made: TypeAlias = tuple[int, int, bool, int, int]
"""What a pass made for one request: its rid, tokens, whether it is done, verify steps, retractions."""

_BUSY_REPORT_EVERY_S = 0.5
_GOLDEN_STEP = 0.6180339887


class Engine:
    """Serves one replica until its launcher goes away.

    Args:
        sock: To the launcher. Takes ``add``, ``abort``, ``ping``, ``flush``; gives ``tokens``, ``pong``.
    """

    def __init__(
        self, setup: Setup, rank: Rank, console: Console, memory: CardMemory, sock: socket.socket
    ) -> None:
        args = setup.args
        self._setup = setup
        self._console = console
        self._memory = memory
        self._sock = sock
        self._inbox = Inbox()
        self._rng = setup.rng
        self._speed = SpeedModel(args, setup.box, memory.sizes[-1] if memory.sizes else 0, setup.rng)
        self._accept = AcceptModel(args.speculation, setup.box) if args.speculation else None
        self._accept_one = setup.faults.get("accept_one") is not None
        self._groups = [self._new_group() for _ in range(args.adp)]
        self._logs = [self._new_log(rank, number) for number in range(args.adp)]
        self._seen: set[int] = set()
        self._requests = 0
        self._warm_up_requests = 1 if setup.warms_up else 0
        self._struck: set[int] = set()
        self._deadline: float | None = None
        self._busy = 0.0
        self._busy_reported = 0.0
        self._heat = 0.0

    def serve(self) -> None:
        """Run passes while there is work, else wait for messages.

        Raises:
            SchedulerDiedError: If a pass dies.
        """
        while self._receive(0.0 if self._has_work() else None):
            self._strike()
            if not (self._prefill() or self._decode()):
                self._report_busy(0.0)
            if not self._has_work():
                self._deadline = None

    def _new_group(self) -> Group:
        table = self._setup.args.table
        return Group(
            kv_tokens=self._memory.kv_tokens,
            slots=self._memory.running,
            chunk=self._setup.args.chunked_prefill,
            conservativeness=float(table.get("schedule_conservativeness") or 1.0),
        )

    def _new_log(self, rank: Rank, group: int) -> BatchLog:
        args = self._setup.args
        tag = rank_tag(args, rank.replica, group * args.attention_tp)
        interval = int(args.table.get("decode_log_interval") or 40)
        drafts = args.rows_per_request - 1 if args.speculation else None
        return BatchLog(Console(tag), interval, drafts)

    def _has_work(self) -> bool:
        return any(group.running or group.waiting for group in self._groups)

    def _receive(self, timeout: float | None) -> bool:
        """Handle what arrives within the time; False once the launcher is gone."""
        readable, _, _ = select.select([self._sock], [], [], timeout)
        if not readable:
            return True
        data = self._sock.recv(1 << 16)
        for message in self._inbox.feed(data):
            self._handle(message)
        return bool(data)

    def _handle(self, message: tuple[Any, ...]) -> None:
        actions: dict[str, Callable[..., None]] = {
            "add": self._add,
            "abort": self._abort,
            "ping": self._pong,
            "flush": self._flush,
        }
        actions[message[0]](*message[1:])

    def _add(self, rid: int, prompt_tokens: int, prompt_key: int, max_new_tokens: int) -> None:
        cached = 0
        if prompt_key in self._seen and not self._setup.args.table.get("disable_radix_cache"):
            cached = prompt_tokens - 1
        self._seen.add(prompt_key)
        self._requests += 1
        group = min(self._groups, key=lambda each: len(each.running) + len(each.waiting))
        group.add(Request(rid, prompt_tokens, cached, max_new_tokens, self._rng.random()))

    def _abort(self, rid: int) -> None:
        for group in self._groups:
            if group.drop(rid):
                return

    def _flush(self, number: int) -> None:
        idle = not self._has_work()
        if idle:
            self._seen.clear()
            self._console.log("Cache flushed successfully!")
        send(self._sock, ("flushed", number, idle))

    def _pong(self, number: int) -> None:
        accepted = sum(log.accepted for log in self._logs)
        verified = sum(log.verified for log in self._logs)
        state = {
            "running": sum(len(group.running) for group in self._groups),
            "queued": sum(len(group.waiting) for group in self._groups),
            "used_tokens": sum(group.used_tokens for group in self._groups),
            "throughput": sum(log.last_throughput for log in self._logs),
            "accept_length": accepted / verified if verified else None,
        }
        send(self._sock, ("pong", number, state))

    def _prefill(self) -> bool:
        batches = [(group, log, group.admit()) for group, log in zip(self._groups, self._logs, strict=True)]
        tokens = max((batch.new_tokens for _, _, batch in batches if batch), default=0)
        if not tokens:
            return False
        self._check_activations(min(tokens, self._setup.args.chunked_prefill))
        self._report_busy(1.0)
        self._wait_for_pass(self._speed.prefill_ms(tokens))
        made: list[Made] = []
        for group, log, batch in batches:
            if batch:
                log.prefill(batch, group)
                made += [self._advance(request, 1) for request in batch.requests]
                group.finish()
        send(self._sock, ("tokens", made))
        return True

    def _check_activations(self, tokens: int) -> None:
        if self._memory.prefill_fits(tokens):
            return
        wanted = tokens * self._memory.activation_per_token / 2
        sentence = words.out_of_memory(
            0, self._setup.box.cards.memory_gib, min(self._memory.after_graphs, wanted * 0.8), wanted
        )
        raise SchedulerDiedError("serving", f"torch.OutOfMemoryError: {sentence}")

    def _decode(self) -> bool:
        rows = self._setup.args.rows_per_request
        for group, log in zip(self._groups, self._logs, strict=True):
            retraction = group.make_room(rows)
            if retraction:
                log.retraction(retraction)
        fullest = max(len(group.running) for group in self._groups)
        if not fullest:
            return False
        cost = self._speed.step(fullest, self._heat)
        self._report_busy(1.0)
        self._wait_for_pass(cost.ms * self._rng.gauss(1.0, self._setup.box.speed.step_noise))
        made: list[Made] = []
        for group, log in zip(self._groups, self._logs, strict=True):
            before = len(made)
            made += [
                self._advance(request, self._tokens_of_step(request, fullest)) for request in group.running
            ]
            tokens = sum(entry[1] for entry in made[before:])
            if group.running:
                log.decode(group, len(group.running), tokens, cost.graph)
            group.finish()
        send(self._sock, ("tokens", made))
        return True

    def _tokens_of_step(self, request: Request, running: int) -> int:
        """Tokens of one step; luck walks by the golden ratio, so that short runs already have the mean."""
        if self._accept is None or self._accept_one:
            return 1
        request.luck = (request.luck + _GOLDEN_STEP) % 1.0
        return self._accept.draw(running, request.luck)

    def _advance(self, request: Request, tokens: int) -> Made:
        tokens = min(tokens, request.max_new_tokens - request.generated)
        request.generated += tokens
        request.verify_steps += 1
        return request.rid, tokens, request.done, request.verify_steps - 1, request.retractions

    def _wait_for_pass(self, ms: float) -> None:
        """Sleep to the pass's absolute end; messages meanwhile wait in the socket."""
        drip = self._setup.faults.get("slow_drip")
        if drip:
            ms *= drip.factor
        now = time.monotonic()
        self._deadline = (now if self._deadline is None else self._deadline) + ms / 1000
        time.sleep(max(self._deadline - now, 0.0))

    def _strike(self) -> None:
        running = sum(len(group.running) + len(group.waiting) for group in self._groups)
        if not running:
            return
        for number, fault in enumerate(self._setup.faults):
            first = 1 if fault.stage == "warm_up" else self._warm_up_requests + (fault.at_request or 1)
            due = self._requests >= first and running >= (fault.at_running or 1)
            if due and fault.stage in ("warm_up", "serving") and number not in self._struck:
                self._struck.add(number)
                strike(self._setup, self._console, fault, fault.stage)

    def _report_busy(self, busy: float) -> None:
        now = time.monotonic()
        if busy == self._busy and now - self._busy_reported < _BUSY_REPORT_EVERY_S:
            return
        self._busy, self._busy_reported = busy, now
        tau = self._setup.box.cards.heat_tau_s
        self._setup.devices.set_busy(busy, tau)
        self._heat = self._setup.devices.heat(tau)
