"""Asks the configured server what it accepts: its own parser through its own interpreter, else ``--help``."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from trials.container_runtime import ContainerError, find_runtime, gpu_options
from trials.flags.catalogue import FlagCatalogue
from trials.flags.help_text import from_help
from trials.flags.interpreter import interpreter_of, missing_program
from trials.settings import ServerPlan

_MARK = "AUTOTUNE-FLAGS "
_TIMEOUT_S = 180.0
_IMAGE_TIMEOUT_S = 1800.0  # the image may have to be pulled first
_WHICH_SGLANG = f"""
import importlib.metadata, importlib.util, json, os
spec = importlib.util.find_spec("sglang")
home = list(spec.submodule_search_locations or [""])[0] if spec else ""
args = os.path.join(home, "srt", "server_args.py")
there = os.path.exists(args)
print("{_MARK}" + json.dumps([importlib.metadata.version("sglang") if there else None, home,
                              os.stat(args).st_mtime_ns if there else 0]))
"""


class CatalogueError(Exception):
    """The server could not be asked what it accepts; one sentence that says what to do."""


def load_catalogue(server: ServerPlan, cache: Path) -> FlagCatalogue:
    """What ``server`` accepts.

    Args:
        cache: Folder for what servers have answered: asking SGLang takes 5 to 9 s, the cache 0.1 s.

    Raises:
        CatalogueError: If the server is not there or does not answer.
    """
    if server.image is not None:
        return _of_image(server, server.image, cache)
    environment = {**os.environ, **server.env}
    if server.box is not None:
        return _help_of((sys.executable, "-m", "trials.box", server.box), environment)
    command = server.command or ()
    missing = missing_program(command, environment)
    if missing is not None:
        raise CatalogueError(missing)
    python = interpreter_of(command, environment)
    return _help_of(command, environment) if python is None else _of_python(python, environment, cache)


def _of_python(python: Sequence[str], environment: Mapping[str, str], cache: Path) -> FlagCatalogue:
    version, home, changed = _run_marked([*python, "-c", _WHICH_SGLANG], environment, _TIMEOUT_S)
    if version is None:
        raise CatalogueError(
            f"{python[-1]} has no SGLang installed; let [server] command name the Python that has"
        )
    # SGLANG_* variables choose the platform, and with it the choices of some flags.
    platform = sorted(item for item in environment.items() if item[0].startswith("SGLANG_"))
    file = cache / f"flags-{version}-{_digest(home, changed, platform)}.json"
    return _cached(file, [*python, "-c", _dump_script()], environment, _TIMEOUT_S)


def _of_image(server: ServerPlan, image: str, cache: Path) -> FlagCatalogue:
    try:
        runtime = find_runtime()
    except ContainerError as error:
        raise CatalogueError(str(error)) from error
    variables = [word for name in server.env for word in ("--env", name)]  # by name: values may be secret
    ask = [runtime, "run", "--rm", *gpu_options(server.gpus, runtime), *variables]
    ask += ["--entrypoint", "python3", image, "-c", _dump_script()]
    environment = {**os.environ, **server.env}
    identity = _image_id(runtime, image)
    if identity is None:
        return FlagCatalogue.from_dump(_run_marked(ask, environment, _IMAGE_TIMEOUT_S))
    platform = sorted(item for item in server.env.items() if item[0].startswith("SGLANG_"))
    file = cache / f"flags-image-{_digest(identity, platform)}.json"
    return _cached(file, ask, environment, _IMAGE_TIMEOUT_S)


def _image_id(runtime: str, image: str) -> str | None:
    answer = subprocess.run(
        [runtime, "image", "inspect", "--format", "{{.Id}}", image],
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    return answer.stdout.strip() or None if answer.returncode == 0 else None


def _help_of(command: Sequence[str], environment: Mapping[str, str]) -> FlagCatalogue:
    return _from_help(tuple(command), tuple(sorted(environment.items())))


@lru_cache(maxsize=8)
def _from_help(command: tuple[str, ...], variables: tuple[tuple[str, str], ...]) -> FlagCatalogue:
    """Asked once per process: a file could not tell when what a wrapper starts was upgraded."""
    answer = _run([*command, "--help"], dict(variables), _TIMEOUT_S)
    try:
        return from_help(answer)
    except ValueError as error:
        raise CatalogueError(f"server command {command[0]!r} is no SGLang server: {error}") from error


def _cached(
    file: Path, ask: Sequence[str], environment: Mapping[str, str], timeout_s: float
) -> FlagCatalogue:
    try:
        return FlagCatalogue.from_dump(json.loads(file.read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        dump = _run_marked(ask, environment, timeout_s)
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(f".{os.getpid()}.tmp")
    unfinished.write_text(json.dumps(dump))
    unfinished.replace(file)
    return FlagCatalogue.from_dump(dump)


def _run_marked(argv: Sequence[str], environment: Mapping[str, str], timeout_s: float) -> Any:
    """The JSON after our mark; SGLang's imports print lines of their own."""
    lines = _run(argv, environment, timeout_s).splitlines()
    marked = [line.removeprefix(_MARK) for line in lines if line.startswith(_MARK)]
    if not marked:
        raise CatalogueError(f"{argv[0]!r} did not answer when asked for SGLang's flags")
    return json.loads(marked[-1])


def _run(argv: Sequence[str], environment: Mapping[str, str], timeout_s: float) -> str:
    try:
        answer = subprocess.run(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise CatalogueError(f"server command {argv[0]!r} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise CatalogueError(
            f"{argv[0]!r} did not say within {timeout_s:.0f} s which flags it accepts"
        ) from error
    if answer.returncode != 0:
        raise CatalogueError(
            f"{argv[0]!r} could not say which flags it accepts (exit code {answer.returncode}): "
            f"{_last_line(answer.stderr) or 'it printed nothing'}"
        )
    return answer.stdout


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _dump_script() -> str:
    return resources.files("trials.flags").joinpath("dump.py").read_text()


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps([*parts, _dump_script()]).encode()).hexdigest()[:16]
