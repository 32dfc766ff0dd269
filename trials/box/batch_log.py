"""The ``Prefill batch`` and ``Decode batch`` lines of one attention group, and the figures behind them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from trials.box.batching import Group, Prefill, Retraction
from trials.box.console import Console


@dataclass
class BatchLog:
    """Counts what a group generates and logs it every ``interval`` decode passes.

    Attributes:
        drafts_per_step: Draft tokens verified beside the certain one, None without speculation.
        accepted, verified: Accepted tokens and verify steps since the server started.
    """

    console: Console
    interval: int
    drafts_per_step: int | None
    last_throughput: float = 0.0
    accepted: int = 0
    verified: int = 0
    _passes: int = 0
    _tokens: int = 0
    _window_accepted: int = 0
    _window_verified: int = 0
    _since: float = field(default_factory=time.monotonic)
    _last_prefill: float = field(default_factory=time.monotonic)

    def prefill(self, batch: Prefill, group: Group) -> None:
        now = time.monotonic()
        rate = batch.new_tokens / max(now - self._last_prefill, 1e-3)
        self._last_prefill = now
        pending = sum(request.prompt_tokens for request in group.waiting)
        self.console.log(
            f"Prefill batch, #new-seq: {len(batch.requests)}, #new-token: {batch.new_tokens}, "
            f"#cached-token: {batch.cached_tokens}, token usage: {group.usage:.2f}, "
            f"#running-req: {len(group.running) - len(batch.requests)}, #queue-req: {len(group.waiting)}, "
            f"#pending-token: {pending}, cuda graph: False, input throughput (token/s): {rate:.2f}"
        )

    def decode(self, group: Group, running: int, tokens: int, graph: bool) -> None:
        """Note one decode pass of ``running`` requests that made ``tokens`` tokens."""
        self._passes += 1
        self._tokens += tokens
        self._window_accepted += tokens
        self._window_verified += running
        if self._passes % self.interval == 0:
            self._log_decode(group, running, graph)

    def retraction(self, retraction: Retraction) -> None:
        self.console.log(
            f"KV cache pool is full. Retract requests. #retracted_reqs: {retraction.count}, "
            f"#new_tokens_gained: {retraction.tokens_gained}, "
            f"#new_token_ratio: {retraction.old_ratio:.4f} -> {retraction.new_ratio:.4f}"
        )

    def _log_decode(self, group: Group, running: int, graph: bool) -> None:
        now = time.monotonic()
        self.last_throughput = self._tokens / max(now - self._since, 1e-6)
        self._since, self._tokens = now, 0
        self.console.log(
            f"Decode batch, #running-req: {running}, #token: {group.used_tokens}, "
            f"token usage: {group.usage:.2f}, {self._accept_text()}cuda graph: {graph}, "
            f"gen throughput (token/s): {self.last_throughput:.2f}, #queue-req: {len(group.waiting)}"
        )

    def _accept_text(self) -> str:
        if self.drafts_per_step is None:
            return ""
        length = self._window_accepted / max(self._window_verified, 1)
        rate = (length - 1) / max(self.drafts_per_step, 1)
        self.accepted += self._window_accepted
        self.verified += self._window_verified
        self._window_accepted = self._window_verified = 0
        return f"accept len: {length:.2f}, accept rate: {rate:.2f}, "
