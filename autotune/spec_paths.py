"""Paths in a study file: ``~`` is the home folder, everything else is relative to the file."""

from __future__ import annotations

import copy
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from autotune.spec_problems import Complaint
from autotune.toml_lines import KeyPath, key_lines
from trials.box.description import BoxError, load_box
from trials.prompts import PromptFileError, load_prompts
from trials.prompts.reader import BUILTIN
from trials.settings import BenchPlan, ServerPlan

_MARKED_AS_PATH = ("/", "./", "../", "~")
_MODEL_KEYS: tuple[KeyPath, ...] = (("server", "model_path"), ("speculation", "draft_model_path"))
_PATH_KEYS: tuple[KeyPath, ...] = (
    *_MODEL_KEYS,
    ("server", "command", 0),
    ("server", "box"),
    ("bench", "prompts"),
)


def with_absolute_paths(document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A copy of a study document whose paths no longer depend on where the file stands."""
    changed = copy.deepcopy(dict(document))
    for key, path in _relative_paths(document, folder):
        holder: Any = changed
        for step in key[:-1]:
            holder = holder[step]
        holder[key[-1]] = path
    return changed


def portable(text: str, folder: Path) -> str:
    """A study text with the same change, all else untouched."""
    written = tomllib.loads(text)
    places = key_lines(text)
    lines = text.splitlines(keepends=True)
    for key, path in _relative_paths(written, folder.absolute()):
        place = places[key[:2]] - 1
        old = _value_at(written, key)
        for quoted in (f'"{old}"', f"'{old}'"):
            lines[place] = lines[place].replace(quoted, json.dumps(path, ensure_ascii=False), 1)
    return "".join(lines)


def path_complaints(server: ServerPlan, bench: BenchPlan) -> Iterator[Complaint]:
    """Files and folders that must be usable on this machine and are not; a container's models need not."""
    if server.command is not None:
        for key, path in zip(_MODEL_KEYS, (server.model_path, server.draft_model_path), strict=True):
            if path is not None and path.startswith("/") and not Path(path).exists():
                yield Complaint(key, f"there is no {path}; write the model's folder or its name on the hub")
    if server.box is not None and server.box.startswith("/") and not Path(server.box).is_file():
        yield Complaint(("server", "box"), f"there is no file {server.box}; write a box's name or its file")
    elif server.box is not None:
        try:
            load_box(server.box)
        except BoxError as error:
            yield Complaint(("server", "box"), str(error))
    if bench.prompts != BUILTIN and not Path(bench.prompts).is_file():
        message = f'there is no file {bench.prompts}; write "builtin" or the path of a JSONL file'
        yield Complaint(("bench", "prompts"), message)
    elif bench.prompts != BUILTIN:
        try:
            load_prompts(bench.prompts)
        except PromptFileError as error:
            yield Complaint(("bench", "prompts"), str(error))


def _relative_paths(document: Mapping[str, Any], folder: Path) -> Iterator[tuple[KeyPath, str]]:
    for key in _PATH_KEYS:
        value = _value_at(document, key)
        if isinstance(value, str) and _is_path(key, value, folder):
            # Not resolved: the python of a virtual environment is a link, and must stay one.
            absolute = os.path.normpath(folder / _at_home(value))
            if absolute != value:
                yield key, absolute


def _at_home(path: str) -> Path:
    """With ``~`` and ``~user`` replaced, where there is such a user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _is_path(key: KeyPath, value: str, folder: Path) -> bool:
    if key == ("bench", "prompts"):
        return value != BUILTIN
    if value.startswith(_MARKED_AS_PATH):
        return True
    if key == ("server", "box"):
        return value.endswith(".toml")
    return key in _MODEL_KEYS and value != "" and (folder / value).is_dir()


def _value_at(document: Any, key: KeyPath) -> Any:
    try:
        for step in key:
            document = document[step]
    except (KeyError, IndexError, TypeError):
        return None
    return document
