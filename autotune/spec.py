"""StudySpec: a study file, read and validated as a whole."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import time
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from autotune.search import SearchSpace
from autotune.spec_paths import path_complaints, portable, with_absolute_paths
from autotune.spec_problems import Complaint, SpecError, SpecProblem, key_text, validation_complaints
from autotune.spec_rules import finals_complaints, known_good_complaints, plan_complaints
from autotune.spec_space import space_complaints
from autotune.toml_lines import KeyPath, key_lines, line_of
from trials.settings import BenchPlan, Limits, Plan, ServerPlan, Settings

__all__ = ["SpecError", "SpecProblem", "StudySpec"]

DEFAULT_COMMAND = ("python", "-m", "sglang.launch_server")
MOST_HOURS, MOST_TRIALS = 8760, 100_000
"""A year, and more boots than fit into it."""
MOST_SEED = 2**32 - 1
"""What NumPy's generators take."""
_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(:00)?")


def _time_of_day(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = _TIME_OF_DAY.fullmatch(value)
    if match is None:
        raise ValueError(f'is {value!r}; write a local time of day, "HH:MM", e.g. "07:00"')
    return time(int(match[1]), int(match[2]))


class StudySection(Plan):
    """[study]: the name and the budget; whichever of the three limits comes first ends the night.

    Attributes:
        stop_when_done: Also end it when nothing promising is left to try (``autotune.night.gain``).
    """

    name: str
    hours: float | None = Field(default=None, gt=0, le=MOST_HOURS, allow_inf_nan=False)
    trials: int | None = Field(default=None, ge=1, le=MOST_TRIALS)
    until: Annotated[time | None, BeforeValidator(_time_of_day)] = None
    seed: int | None = Field(default=None, ge=0, le=MOST_SEED)
    stop_when_done: bool = True

    @field_validator("name")
    @classmethod
    def _is_a_folder_name(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", name):
            raise ValueError(f'is {name!r}; use letters, digits, ".", "_" and "-", e.g. "kimi-night"')
        return name

    @model_validator(mode="after")
    def _ends(self) -> StudySection:
        if self.hours is None and self.trials is None and self.until is None:
            raise ValueError('has no end; add hours = 8, trials = 60 or until = "07:00"')
        return self


class SpeculationSection(Plan):
    """[speculation]."""

    draft_model_path: str | None = None


class FinalsSection(Plan):
    """[finals]: boots kept for the confirmation; None lets the night choose."""

    boots: int | None = Field(default=None, ge=0)


class NotifySection(Plan):
    """[notify]."""

    webhook: str | None = None

    @field_validator("webhook")
    @classmethod
    def _is_an_address(cls, webhook: str) -> str:
        if not webhook.startswith(("https://", "http://")):
            raise ValueError('must begin with "https://" or "http://"')
        return webhook


class DashboardSection(Plan):
    """[dashboard]: where the page listens."""

    host: str = "127.0.0.1"
    port: int = Field(default=8760, ge=1, le=65535)


class _Document(Plan):
    """The file's tables before they are checked against each other."""

    study: StudySection
    server: ServerPlan
    speculation: SpeculationSection = SpeculationSection()
    space: dict[str, Any]
    bench: BenchPlan = BenchPlan()
    limits: Limits = Limits()
    finals: FinalsSection = FinalsSection()
    notify: NotifySection = NotifySection()
    dashboard: DashboardSection = DashboardSection()
    known_good: tuple[Settings, ...] = ()


class StudySpec(Plan):
    """A whole study file.

    Attributes:
        file: Where it was read.
        text: As it was read.
        server: Complete, draft model included; paths are absolute.
        space_table: What ``space`` was read from.
        known_good: Settings to try first, as written: they may lack keys (see ``autotune.baseline``).
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    file: Path
    text: str = Field(repr=False)
    study: StudySection
    server: ServerPlan
    space: SearchSpace = Field(exclude=True)
    space_table: Mapping[str, Any]
    bench: BenchPlan
    limits: Limits
    finals: FinalsSection
    notify: NotifySection
    dashboard: DashboardSection
    known_good: tuple[Settings, ...]

    @property
    def name(self) -> str:
        return self.study.name

    @classmethod
    def load(cls, path: Path | str) -> StudySpec:
        """Read and validate a study file.

        Raises:
            SpecError: With everything that is wrong with it, each with its line and what to write instead.
        """
        file = Path(path)
        text = _read(file)
        document = _parse(file, text)
        try:
            return _build(file, text, document)
        except _ComplaintsError as error:
            raise SpecError(problems_of(file, text, error.complaints)) from error

    def problem(self, path: tuple[str | int, ...], message: str) -> SpecProblem:
        """A problem of this file that only shows later, for instance when the server is asked."""
        return problems_of(self.file, self.text, [Complaint(path, message)])[0]

    def portable_text(self) -> str:
        """The file's text with absolute paths, for a copy that stands in another folder."""
        return portable(self.text, self.file.parent)

    def plain(self) -> dict[str, Any]:
        """The validated file with its defaults, as JSON data."""
        return self.model_dump(mode="json", exclude={"file", "text"})


class _ComplaintsError(Exception):
    def __init__(self, complaints: Iterable[Complaint]) -> None:
        super().__init__()
        self.complaints = list(complaints)


def problems_of(file: Path, text: str, complaints: Iterable[Complaint]) -> list[SpecProblem]:
    """Complaints with the file and the line that they belong to, in the order of the file."""
    lines = key_lines(text)
    problems = [
        SpecProblem(file, line_of(lines, complaint.path), key_text(complaint.path), complaint.message)
        for complaint in complaints
    ]
    return sorted(problems, key=lambda problem: problem.line or 0)


def _build(file: Path, text: str, written: Mapping[str, Any]) -> StudySpec:
    document = with_absolute_paths(written, file.absolute().parent)
    parts, complaints = _validated(_with_defaults(document))
    complaints += space_complaints(document.get("space"))
    known = {complaint.path for complaint in complaints}
    complaints += (more for more in _endless_numbers(document) if known.isdisjoint(_stems(more.path)))
    if parts is None or complaints:
        raise _ComplaintsError(complaints)
    server = parts.server.model_copy(update=dict(parts.speculation))
    space = SearchSpace.from_dict(parts.space)
    complaints += plan_complaints(server, space, parts.bench)
    complaints += known_good_complaints(space, parts.known_good)
    complaints += finals_complaints(parts.finals.boots, parts.study.trials)
    complaints += path_complaints(server, parts.bench)
    if complaints:
        raise _ComplaintsError(complaints)
    same = {name: getattr(parts, name) for name in _SAME_SECTIONS}
    return StudySpec(file=file, text=text, server=server, space=space, space_table=parts.space, **same)


_SAME_SECTIONS = ("study", "bench", "limits", "finals", "notify", "dashboard", "known_good")


def _validated(document: Mapping[str, Any]) -> tuple[_Document | None, list[Complaint]]:
    """Validate through JSON: strict there means that lists are fine and that "3" is no number."""
    try:
        return _Document.model_validate_json(json.dumps(document, default=str), strict=True), []
    except ValidationError as error:
        return None, list(validation_complaints(error, document, _Document))


def _with_defaults(document: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the command and the main level, which depend on what else the file says."""
    filled = dict(document)
    server, bench = filled.get("server"), filled.get("bench")
    if isinstance(server, dict) and not {"command", "image", "box"} & set(server):
        filled["server"] = {"command": DEFAULT_COMMAND, **server}
    if isinstance(bench, dict) and isinstance(levels := bench.get("levels"), list) and levels:
        filled["bench"] = {"main_level": levels[0], **bench}
    return filled


def _endless_numbers(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[Complaint]:
    if isinstance(value, float) and not math.isfinite(value):
        yield Complaint(path, f"is {value}; write a finite number")
    elif isinstance(value, dict | list):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _endless_numbers(item, (*path, step))


def _stems(path: KeyPath) -> list[KeyPath]:
    return [path[:length] for length in range(1, len(path) + 1)]


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError([SpecProblem(file, None, "", f"cannot be read: {reason}")]) from error
    except UnicodeDecodeError as error:
        raise SpecError([SpecProblem(file, None, "", "is not a text file in UTF-8")]) from error


def _parse(file: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        line = int(place[1]) if place else None
        raise SpecError([SpecProblem(file, line, "", f"is not valid TOML: {error}")]) from error
