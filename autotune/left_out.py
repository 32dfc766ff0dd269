"""Boots of a winner with one setting taken back, as they are kept beside a study."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from trials.outcome import AnyOutcome, Completed, Stopped
from trials.settings import Settings

RECORD = "explain.json"
"""In the study's folder: these boots are none of its trials and change no verdict."""


@dataclass(frozen=True)
class LeftOut:
    """A boot of the winner with one setting taken back.

    Attributes:
        tok_s: By level; empty when it did not run.
        failure: What it died of, empty when it ran.
    """

    settings: Settings
    tok_s: Mapping[int, float]
    failure: str

    @classmethod
    def of(cls, settings: Settings, outcome: AnyOutcome) -> LeftOut:
        failure = getattr(outcome, "failure", None)
        ran = isinstance(outcome, Completed | Stopped)
        reached = {m.level: m.decode_tok_s for m in outcome.measurements} if ran else {}
        return cls(settings, reached, f"{failure.kind}: {failure.summary}" if failure else "")


def read_left_out(folder: Path) -> list[LeftOut]:
    """The boots that earlier explanations made; none where there were none."""
    try:
        told = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return [
        LeftOut(one["settings"], {int(level): tok_s for level, tok_s in one["tok_s"].items()}, one["failure"])
        for one in told
    ]


def keep_left_out(folder: Path, boots: Sequence[LeftOut]) -> None:
    """Write them down, all at once."""
    partial = folder / f"{RECORD}.part"
    partial.write_text(json.dumps([asdict(boot) for boot in boots], indent=2), encoding="utf-8")
    partial.replace(folder / RECORD)
