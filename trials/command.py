"""The whole command of one boot: what is fixed, what is under test, and where it listens."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trials.argument_checks import ENDPOINT_FLAGS, MODEL_FLAG, check_args, check_names, conflicts
from trials.flags import FlagCatalogue
from trials.problems import Problem, SettingError
from trials.settings import ServerPlan, Settings
from trials.translation import translate

__all__ = [
    "Command",
    "Problem",
    "SettingError",
    "build_command",
    "check_args",
    "check_names",
    "conflicts",
    "user_endpoint",
]

DEFAULT_ENDPOINT = ("127.0.0.1", 30000)
SERVER_IN_IMAGE = ("python3", "-m", "sglang.launch_server")


@dataclass(frozen=True)
class Command:
    """What is started.

    Attributes:
        argv: The words, program first.
        env: Variables on top of the environment that it inherits.
    """

    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)


def build_command(
    settings: Settings,
    server: ServerPlan,
    catalogue: FlagCatalogue,
    *,
    port: int,
    host: str = DEFAULT_ENDPOINT[0],
) -> Command:
    """The server's command for these settings; for an image, the one INSIDE the container.

    Raises:
        SettingError: If the server cannot express a setting, or ``args`` already set it.
    """
    for problem in conflicts(server.args, settings, catalogue, server.env):
        raise SettingError(problem.where, problem.sentence)
    draft = None if server.draft_model_path is None else _reachable(server.draft_model_path, server)
    translation = translate(settings, catalogue, draft)
    argv = (
        *_program(server),
        MODEL_FLAG,
        _reachable(server.model_path, server),
        *_without_endpoint(server.args),
        *translation.words,
        "--host",
        host,
        "--port",
        str(port),
    )
    return Command(argv, {**_visible_cards(server), **server.env, **translation.env})


def user_endpoint(args: Sequence[str]) -> tuple[str, int]:
    """The host and port that the user's own ``args`` ask for, else 127.0.0.1:30000.

    Raises:
        SettingError: If the port is no number.
    """
    host, port = DEFAULT_ENDPOINT
    for flag, value in _endpoint_values(args):
        if flag == "--host":
            host = value
        elif value.isdecimal():
            port = int(value)
        else:
            raise SettingError("args", f"--port in args takes a number, not {value!r}")
    return host, port


def _reachable(model_path: str, server: ServerPlan) -> str:
    """A local folder by its full path where the server does not start in our folder: in a container."""
    local = Path(model_path)
    return str(local.resolve()) if server.image is not None and local.is_dir() else model_path


def _program(server: ServerPlan) -> tuple[str, ...]:
    if server.box is not None:
        return (sys.executable, "-m", "trials.box", server.box)
    return server.command or SERVER_IN_IMAGE


def _visible_cards(server: ServerPlan) -> dict[str, str]:
    """Limits a local server to the plan's cards; numbers are NVML's, which are in PCI order."""
    if server.gpus == "all" or server.image is not None:
        return {}
    cards = ",".join(str(number) for number in server.gpus)
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": cards}


def _without_endpoint(args: Sequence[str]) -> list[str]:
    kept: list[str] = []
    words = iter(args)
    for word in words:
        if word in ENDPOINT_FLAGS:
            next(words, None)
        elif word.partition("=")[0] not in ENDPOINT_FLAGS:
            kept.append(word)
    return kept


def _endpoint_values(args: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for index, word in enumerate(args):
        flag, equals, value = word.partition("=")
        if flag in ENDPOINT_FLAGS and (equals or index + 1 < len(args)):
            found.append((flag, value if equals else args[index + 1]))
    return found
