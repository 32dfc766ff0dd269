"""What is wrong with a study file, in sentences that name the file, the line, the key and the cure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from autotune.spec_help import EXPECTED
from autotune.toml_lines import KeyPath


@dataclass(frozen=True)
class SpecProblem:
    """One thing to change in a study file.

    Attributes:
        line: Where the key stands, counted from 1; None when it stands nowhere.
        key: As written in TOML terms, ``[bench] levels``; empty for the file as a whole.
        message: What is wrong and what to write instead.
    """

    file: Path
    line: int | None
    key: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else str(self.file)
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class SpecError(ValueError):
    """A study file that cannot be used; ``problems`` holds everything that is wrong with it."""

    def __init__(self, problems: Sequence[SpecProblem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


@dataclass(frozen=True)
class Complaint:
    """A problem before its file and line are known."""

    path: KeyPath
    message: str


def key_text(path: KeyPath) -> str:
    """A key as its reader knows it: ``[server] gpus[1]``, ``[[known_good]] 2: layout``."""
    if not path:
        return ""
    table, *rest = path
    if rest and table == "known_good" and isinstance(rest[0], int):
        names = ".".join(map(str, rest[1:]))
        return f"[[known_good]] {rest[0] + 1}" + (f": {names}" if names else "")
    text = ""
    for part in rest:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else f" {part}")
    return f"[{table}]{text}"


def validation_complaints(
    error: ValidationError, document: Mapping[str, Any], model: type[BaseModel]
) -> Iterator[Complaint]:
    """One complaint per key that pydantic refused."""
    seen: set[KeyPath] = set()
    for details in error.errors():
        complaint = _complaint(details, document, model)
        if complaint.path not in seen:
            seen.add(complaint.path)
            yield complaint


def unknown_key(name: str, known: Iterable[str]) -> str:
    """The sentence for a key that does not exist, with the nearest one that does."""
    known = sorted(known)
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if nearest:
        return f"unknown key {name!r}; did you mean {nearest[0]!r}?"
    return f"unknown key {name!r}; known here: {', '.join(known)}"


def _complaint(details: ErrorDetails, document: Mapping[str, Any], model: type[BaseModel]) -> Complaint:
    path, value = _written_part(details["loc"], document)
    kind = details["type"]
    if kind == "extra_forbidden":
        return Complaint(path, unknown_key(str(path[-1]), _known_keys(model, path[:-1])))
    if kind == "missing":
        path = (*path, str(details["loc"][-1]))
        return Complaint(path, f"is missing; write {_expected(path)}")
    if kind == "value_error":
        return Complaint(path, details["msg"].removeprefix("Value error, "))
    return Complaint(path, f"is {_shown(value)}; write {_expected(path)}")


def _written_part(location: tuple[int | str, ...], document: Any) -> tuple[KeyPath, Any]:
    """The longest part of pydantic's location that the document really has, and what stands there."""
    path: KeyPath = ()
    value = document
    for step in location:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            break
        path += (step,)
    return path, value


def _known_keys(model: type[BaseModel], path: KeyPath) -> list[str]:
    for step in path:
        annotation = model.model_fields[str(step)].annotation
        assert isinstance(annotation, type)
        model = annotation
    return [field.alias or name for name, field in model.model_fields.items()]


def _expected(path: KeyPath) -> str:
    names = [str(step) for step in path if not isinstance(step, int)]
    while names:
        if (key := ".".join(names)) in EXPECTED:
            return EXPECTED[key]
        names.pop()
    return "a value of the right type"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a table"
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= 60 else f"{text[:57]}..."
