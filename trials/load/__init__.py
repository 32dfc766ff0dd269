"""Streaming load on an SGLang server: waves of streams and when their tokens arrived."""

from trials.load.dialect import Dialect
from trials.load.endpoint import Endpoint
from trials.load.exchange import ExchangeError, call, exchange
from trials.load.token_stream import StreamRecord
from trials.load.wave import Patience, Request, Wave, run_wave

__all__ = [
    "Dialect",
    "Endpoint",
    "ExchangeError",
    "Patience",
    "Request",
    "StreamRecord",
    "Wave",
    "call",
    "exchange",
    "run_wave",
]
