"""Finds the Python behind a server command: ``python -m sglang...``, or a script that names its own."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

_PYTHON = re.compile(r"python(\d+(\.\d+)?)?")
_SCRIPT_BYTES = 4096
_EXEC_LINE = re.compile(r"""^'''exec' (?P<python>"[^"]+"|\S+) """, re.MULTILINE)


def missing_program(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """A sentence when the command's program does not exist, else None."""
    if not command:
        return "[server] names neither a command nor an image nor a box"
    program = command[0]
    if _which(program, environment) is not None:
        return None
    if "/" in program:
        return f"server command {program!r} does not exist or is not executable; correct [server] command"
    return (
        f"server command {program!r} was not found on PATH; write its full path in [server] command, "
        "or activate the environment that SGLang is installed in"
    )


def interpreter_of(command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """The part of ``command`` that runs SGLang's Python, wrappers such as ``numactl`` included.

    Returns:
        Words after which ``-c SCRIPT`` can stand, or None when no interpreter of SGLang can be told.
    """
    for index, word in enumerate(command):
        rest = command[index + 1 :]
        if _PYTHON.fullmatch(Path(word).name) and _runs_sglang(rest):
            return (*command[:index], word, *rest[: rest.index("-m")])
        python = _python_of_script(word, environment)
        if python is not None:
            return (*command[:index], *python)
    return None


def _runs_sglang(words: Sequence[str]) -> bool:
    if "-m" not in words[:-1]:
        return False
    module = words[words.index("-m") + 1]
    return module == "sglang" or module.startswith("sglang.")


def _python_of_script(word: str, environment: Mapping[str, str]) -> tuple[str, ...] | None:
    path = _which(word, environment)
    if path is None:
        return None
    try:
        with Path(path).open("rb") as file:
            text = file.read(_SCRIPT_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    first, _, body = text.partition("\n")
    if not first.startswith("#!") or not re.search(r"^\s*(from|import) sglang\b", body, re.MULTILINE):
        return None
    long_path = _EXEC_LINE.search(body)  # pip's form for paths too long for a first line
    words = [long_path["python"].strip('"')] if long_path else shlex.split(first[2:])
    return tuple(words) if words and "python" in " ".join(words) else None


def _which(program: str, environment: Mapping[str, str]) -> str | None:
    return shutil.which(program, path=environment.get("PATH"))
