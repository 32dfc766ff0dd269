"""A server's log as a stream of events: stages, memory, warnings, readiness.

Understands SGLang 0.4.6 to 0.5.23; all of its wording stands in ``trials.boot_log.wording``.
"""

from trials.boot_log.events import (
    DecodeBatch,
    Event,
    Fatal,
    GraphsCaptured,
    MemoryFigure,
    Notice,
    Ready,
    Retraction,
    StageChanged,
)
from trials.boot_log.lines import LogLine, split_lines
from trials.boot_log.reader import BootLog
from trials.boot_log.server_args import parse_server_args
from trials.boot_log.wording import is_health_echo

__all__ = [
    "BootLog",
    "DecodeBatch",
    "Event",
    "Fatal",
    "GraphsCaptured",
    "LogLine",
    "MemoryFigure",
    "Notice",
    "Ready",
    "Retraction",
    "StageChanged",
    "is_health_echo",
    "parse_server_args",
    "split_lines",
]
