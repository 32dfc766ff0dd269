"""How the paced server behaves: a known pace, or one known kind of bad luck."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """What goes wrong, once ``Pace.fault_after`` tokens of a stream are out."""

    NONE = "none"
    STALL = "stall"
    RESET = "reset"
    CLOSE = "close"
    MALFORMED = "malformed"
    ERROR_EVENT = "error_event"
    SHORT = "short"
    REFUSE = "refuse"
    NO_TEMPLATE = "no_template"


@dataclass(frozen=True)
class Pace:
    """An exactly known server.

    Attributes:
        first_token_s: From the request to the first step, s.
        step_s: Between two steps of a stream, s; 0 is as fast as it can.
        tokens_per_step: Tokens of consecutive steps, repeated: (2, 3) is an accept length of 2.5.
        slots: Streams that run at once; the others wait. None: all.
        warm_up_s: For so long after the first request every step takes three times as long.
    """

    first_token_s: float = 0.02
    step_s: float = 0.01
    tokens_per_step: tuple[int, ...] = (1,)
    slots: int | None = None
    warm_up_s: float = 0.0
    fault: Fault = Fault.NONE
    fault_after: int = 20
    refuse_status: int = 400
    refuse_body: str = '{"message": "no"}'
    error_message: str = "out of slots"

    @property
    def accept_length(self) -> float:
        return sum(self.tokens_per_step) / len(self.tokens_per_step)

    @property
    def stream_tok_s(self) -> float:
        """Decode throughput of one stream, tok/s."""
        return self.accept_length / self.step_s
