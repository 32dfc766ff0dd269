"""What a server's death means: ``diagnose`` reads its log, the families under ``families/`` are the rules."""

from trials.failures.diagnose import diagnose
from trials.failures.exits import hardware_faults
from trials.failures.facts import MachineFacts
from trials.failures.files import diagnose_file
from trials.failures.sides import side_of
from trials.failures.verdict import Diagnosis

__all__ = ["Diagnosis", "MachineFacts", "diagnose", "diagnose_file", "hardware_faults", "side_of"]
