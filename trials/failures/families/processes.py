"""A process was seen to end, and nothing says why. Exit codes of children are the only speech left."""

from __future__ import annotations

from typing import Final

from trials.failures.case import Case
from trials.failures.family import Family
from trials.outcome import FailureKind

_KILLED: Final = r"(?:crashed with exit code|exit code:) -9\b"


def _kernel_killed_another(case: Case) -> bool:
    facts = case.situation.facts
    return facts.oom_kills_rose is True and facts.oom_victim is not None


def _kernel_killed(case: Case) -> bool:
    return case.situation.facts.oom_kills_rose is True


def _kernel_did_not_kill(case: Case) -> bool:
    return case.situation.facts.oom_kills_rose is False


PROCESSES: Final[tuple[Family, ...]] = (
    Family(
        name="host memory: another process was too big",
        kind=FailureKind.OOM_HOST,
        signs=(_KILLED,),
        says="a child killed (-9), the kernel's out-of-memory counter rose and it named another process",
        summary="The host ran out of memory, and the kernel blamed a process that is not ours.",
        means="Something else on the machine takes the memory.",
        when=_kernel_killed_another,
        consequence=True,
        at_fault="environment",
    ),
    Family(
        name="host memory: killed by the kernel",
        kind=FailureKind.OOM_HOST,
        signs=(_KILLED,),
        says="a child killed (-9), and the kernel's or the cgroup's out-of-memory counter rose",
        summary="The host ran out of memory and the kernel killed a rank.",
        means="Loading needs host memory for the weights of all ranks at once.",
        when=_kernel_killed,
        consequence=True,
    ),
    Family(
        name="killed from outside",
        kind=FailureKind.ENVIRONMENT,
        signs=(_KILLED,),
        says="a child killed (-9), and no out-of-memory kill was counted",
        summary="Somebody killed a process of the server.",
        means="Not the kernel's out-of-memory killer: its counter did not rise.",
        when=_kernel_did_not_kill,
        consequence=True,
    ),
    Family(
        name="killed, nobody knows by whom",
        kind=FailureKind.UNKNOWN,
        signs=(_KILLED,),
        says="`crashed with exit code -9`, `Rank 0 scheduler died during initialization (exit code: -9)`; "
        "the sentence about the OOM killer follows every child's death and proves nothing",
        summary="A process of the server was killed from outside; the log cannot say by whom.",
        means="The kernel's out-of-memory killer is one possibility: `dmesg` or the cgroup's counter knows.",
        consequence=True,
    ),
    Family(
        name="aborted",
        kind=FailureKind.KERNEL_FAULT,
        signs=(r"(?:crashed with exit code|exit code:) -6\b",),
        says="`crashed with exit code -6`",
        summary="A rank aborted in native code without a word.",
        means="An uncaught C++ exception: a CUDA error or a library's own check.",
        consequence=True,
    ),
    Family(
        name="bus error",
        kind=FailureKind.ENVIRONMENT,
        signs=(r"(?:crashed with exit code|exit code:) -7\b",),
        says="`crashed with exit code -7`",
        summary="A rank died of a bus error: the host's shared memory or a mapped file gave way.",
        means="/dev/shm too small, or a disk with the weights that failed.",
        consequence=True,
    ),
    Family(
        name="illegal instruction",
        kind=FailureKind.ENVIRONMENT,
        signs=(r"(?:crashed with exit code|exit code:) -4\b",),
        says="`crashed with exit code -4`",
        summary="A rank died of an instruction that this processor does not have.",
        means="Usually AVX-512 or AMX code on an older machine.",
        consequence=True,
    ),
    Family(
        name="launcher gone",
        kind=FailureKind.UNKNOWN,
        signs=(r"BrokenPipeError|EOFError",),
        says="`BrokenPipeError: [Errno 32] Broken pipe` when a scheduler reports that it is ready",
        summary="The launcher was gone when a rank wanted to report to it.",
        means="The server was ended from outside while it started.",
        consequence=True,
    ),
    Family(
        name="died without a reason",
        kind=FailureKind.UNKNOWN,
        signs=(
            r"(?:crashed with exit code|exit code:) -?\d+",
            r"Initialization failed\. Please see the error messages above",
        ),
        says="`Rank 0 scheduler died during initialization (exit code: 1)` and no exception above it",
        summary="A process of the server died, and the log does not say why.",
        means="The reason stands further up where the log is whole.",
        consequence=True,
    ),
)
