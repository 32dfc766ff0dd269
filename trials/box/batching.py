"""The requests of one attention group: waiting, running, and the KV pool between them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

_FIRST_RATIO = 0.7
_LEAST_RATIO = 0.1
_RATIO_STEPS = 600


@dataclass
class Request:
    """One request inside the scheduler.

    Attributes:
        luck: How its next drafts fare, 0 to 1.
        generated: Tokens that were sent.
    """

    rid: int
    prompt_tokens: int
    cached_tokens: int
    max_new_tokens: int
    luck: float = 0.0
    generated: int = 0
    verify_steps: int = 0
    retractions: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.generated

    @property
    def done(self) -> bool:
        return self.generated >= self.max_new_tokens


@dataclass
class Prefill:
    """One prefill batch: what is new in it, for its log line."""

    requests: list[Request]
    new_tokens: int
    cached_tokens: int


@dataclass
class Retraction:
    """Requests that went back to the queue because the pool was full."""

    count: int
    tokens_gained: int
    old_ratio: float
    new_ratio: float


@dataclass
class Group:
    """One attention group.

    Attributes:
        kv_tokens: Its pool, tokens.
        slots: Requests at once.
        chunk: Largest prefill batch, tokens.
        conservativeness: SGLang's ``--schedule-conservativeness``.
    """

    kv_tokens: int
    slots: int
    chunk: int
    conservativeness: float = 1.0
    waiting: deque[Request] = field(default_factory=deque)
    running: list[Request] = field(default_factory=list)
    ratio: float = field(init=False)

    def __post_init__(self) -> None:
        self.ratio = self._first_ratio

    @property
    def _first_ratio(self) -> float:
        return min(_FIRST_RATIO * self.conservativeness, 1.0)

    @property
    def used_tokens(self) -> int:
        return sum(request.tokens for request in self.running)

    @property
    def usage(self) -> float:
        return self.used_tokens / self.kv_tokens

    def add(self, request: Request) -> None:
        """Queue a request, its output cut to what the pool can ever hold (SGLang does so silently)."""
        request.max_new_tokens = max(
            1, min(request.max_new_tokens, self.kv_tokens - request.prompt_tokens - 2)
        )
        self.waiting.append(request)

    def drop(self, rid: int) -> bool:
        """Forget a request; whether it was here."""
        before = len(self.waiting) + len(self.running)
        self.waiting = deque(request for request in self.waiting if request.rid != rid)
        self.running = [request for request in self.running if request.rid != rid]
        return len(self.waiting) + len(self.running) < before

    def admit(self) -> Prefill | None:
        """Move waiting requests into the batch as far as slots, pool and prefill chunk allow."""
        admitted: list[Request] = []
        new_tokens = cached = 0
        promised = self._promised_tokens()
        while self.waiting and len(self.running) + len(admitted) < self.slots:
            request = self.waiting[0]
            need = request.tokens + self.ratio * (request.max_new_tokens - request.generated)
            alone = not self.running and not admitted
            if promised + need > self.kv_tokens and not alone:
                break
            fresh = max(request.tokens - request.cached_tokens, 1)
            if admitted and new_tokens + fresh > self.chunk:
                break
            promised += need
            new_tokens += fresh
            cached += request.cached_tokens
            admitted.append(self.waiting.popleft())
        if not admitted:
            return None
        self.running += admitted
        return Prefill(admitted, new_tokens, cached)

    def make_room(self, rows: int) -> Retraction | None:
        """Send the youngest requests back to the queue until the next step's tokens fit."""
        gained = count = 0
        while len(self.running) > 1 and self.used_tokens + len(self.running) * rows > self.kv_tokens:
            request = min(self.running, key=lambda candidate: candidate.generated)
            self.running.remove(request)
            request.retractions += 1
            request.cached_tokens = 0
            gained += request.tokens
            count += 1
            self.waiting.appendleft(request)
        old = self.ratio
        if not count:
            self.ratio = max(self.ratio - (self._first_ratio - _LEAST_RATIO) / _RATIO_STEPS, _LEAST_RATIO)
            return None
        self.ratio = min(1.0, self.ratio + 0.1)
        return Retraction(count, gained, old, self.ratio)

    def finish(self) -> list[Request]:
        """Take out the requests that are done."""
        done = [request for request in self.running if request.done]
        if done:
            self.running = [request for request in self.running if not request.done]
        return done

    def _promised_tokens(self) -> float:
        return sum(
            request.tokens + self.ratio * (request.max_new_tokens - request.generated)
            for request in self.running
        )
