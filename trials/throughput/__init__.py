"""From token times to a number with an interval: decode throughput of one load level."""

from trials.throughput.decode_log import LogWindow, no_log
from trials.throughput.level import OnProgress, measure_level

__all__ = ["LogWindow", "OnProgress", "measure_level", "no_log"]
