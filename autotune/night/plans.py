"""The plan of one trial: the study file's parts, the trial's folder, and what earlier trials have taught."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from autotune.night.study_book import trial_folder
from autotune.spec import StudySpec
from trials.settings import ReferenceAnswer, TrialPlan

_REFERENCE = "reference.json"
_log = logging.getLogger(__name__)


class Plans:
    """Makes trial plans, and keeps the baseline's answers that later outputs are compared with."""

    def __init__(self, spec: StudySpec, folder: Path, uuid: str) -> None:
        self._spec = spec
        self._folder = folder
        self._uuid = uuid
        self._reference = _read_reference(folder / _REFERENCE)

    @property
    def has_reference(self) -> bool:
        return bool(self._reference)

    def plan(
        self,
        number: int,
        *,
        hopeless_below: float | None,
        soak_above: float,
        stage_timeouts_s: Mapping[str, float],
    ) -> TrialPlan:
        folder = self._folder / trial_folder(number)
        folder.mkdir(parents=True, exist_ok=True)
        return TrialPlan(
            server=self._spec.server,
            bench=self._spec.bench,
            limits=self._spec.limits,
            folder=folder,
            workspace=self._folder,
            cache=cache_folder(),
            mark=f"{self._uuid}:{number}",
            reference=self._reference,
            hopeless_below=hopeless_below,
            soak_above=soak_above,
            stage_timeouts_s=stage_timeouts_s,
        )

    def keep_reference(self, answers: Sequence[ReferenceAnswer]) -> None:
        """From now on outputs are compared with these; written down, so that a resumed night does too."""
        self._reference = tuple(answers)
        written = json.dumps([answer.model_dump(mode="json") for answer in answers], ensure_ascii=False)
        partial = self._folder / f"{_REFERENCE}.part"
        with partial.open("w", encoding="utf-8") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._folder / _REFERENCE)


def cache_folder() -> Path:
    """Where flag catalogues are kept: they belong to installed servers, not to a study."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "sglang-autotune"


def _read_reference(path: Path) -> tuple[ReferenceAnswer, ...]:
    """The answers that were kept; none where a disk has spoilt them, so that they are collected anew."""
    try:
        entries = json.loads(path.read_text("utf-8"))
        return tuple(ReferenceAnswer.model_validate(entry) for entry in entries)
    except (FileNotFoundError, ValueError) as error:
        if path.exists():
            _log.warning("%s cannot be read and is collected anew: %s", path, error)
        return ()
