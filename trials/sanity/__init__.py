"""Is the output still right? However fast, wrong output never wins."""

from trials.sanity.check import accept_length_flag, check_output, collect_reference
from trials.sanity.verdict import Verdict

__all__ = ["Verdict", "accept_length_flag", "check_output", "collect_reference"]
