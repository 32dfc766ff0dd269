"""All families, in the order in which they are tried: the first that matches names the failure."""

from trials.failures.families.arguments import ARGUMENTS
from trials.failures.families.communication import COMMUNICATION
from trials.failures.families.environment import ENVIRONMENT
from trials.failures.families.faults import FAULTS, OTHER_FAULTS
from trials.failures.families.hang import HANG
from trials.failures.families.kernels import KERNELS
from trials.failures.families.memory import MEMORY
from trials.failures.families.model import MODEL
from trials.failures.families.processes import PROCESSES
from trials.failures.families.settings import SETTINGS
from trials.failures.family import Family

FAMILIES: tuple[Family, ...] = (
    *ARGUMENTS,
    *KERNELS,  # before any memory word: "out of resource: shared memory" is no memory problem
    *MEMORY,
    *ENVIRONMENT,
    *FAULTS,  # before communication: the other ranks' collectives fail of it
    *COMMUNICATION,
    *HANG,
    *MODEL,
    *SETTINGS,
    *OTHER_FAULTS,
    *PROCESSES,
)

__all__ = ["FAMILIES"]
