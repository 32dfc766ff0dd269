"""The answer of ``diagnose``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from trials.outcome import BootReport, Failure

Verdict: TypeAlias = Literal["healthy", "failed"]


@dataclass(frozen=True)
class Diagnosis:
    """What a log, and what is known beside it, comes to.

    Attributes:
        failure: Why, None when healthy.
        family: Name of the family that decided, as in ``docs/failures.md``; None when none did.
        boot: What the boot showed of memory and time.
    """

    failure: Failure | None
    family: str | None
    boot: BootReport

    @property
    def verdict(self) -> Verdict:
        """``failed`` also when the server never became ready and says nothing about it."""
        return "healthy" if self.failure is None else "failed"

    def as_line(self, file: str) -> dict[str, Any]:
        """The object that ``autotune diagnose --json`` prints for one log."""
        if self.failure is None:
            empty = {"kind": None, "stage": None, "at_fault": None, "summary": None}
            return {"file": file, "verdict": self.verdict, **empty, "evidence": [], "remedies": []}
        told = self.failure.model_dump(mode="json")
        keys = ("kind", "stage", "at_fault", "summary", "evidence", "remedies")
        return {"file": file, "verdict": self.verdict, **{key: told[key] for key in keys}}
