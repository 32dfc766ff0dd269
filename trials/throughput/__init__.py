"""From token times to a number with an interval: decode throughput of one load level."""

from trials.throughput.compare import Comparison, compare_urls
from trials.throughput.decode_log import LogWindow, no_log
from trials.throughput.level import OnProgress, measure_level
from trials.throughput.levels import measure_url
from trials.throughput.soak import survive

__all__ = [
    "Comparison",
    "LogWindow",
    "OnProgress",
    "compare_urls",
    "measure_level",
    "measure_url",
    "no_log",
    "survive",
]
