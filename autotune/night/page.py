"""The dashboard as a process of its own: it can die or be killed without the night noticing."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import httpx

from autotune.night.detaching import spawn_detached
from autotune.spec import DashboardSection

_TRIED_PORTS = 20
_UP_WITHIN_S = 20.0
_ENDS_WITHIN_S = 5.0
_LOG = "dashboard.log"
_TOKEN_BYTES = 24
TOKEN_VARIABLE = "AUTOTUNE_PAGE_TOKEN"
"""Where the dashboard finds the token that it asks for (``autotune.dashboard.access``)."""


Begun = TypeVar("Begun")


class PageError(RuntimeError):
    """The dashboard did not come up; the night goes on without it."""


def put_up(folder: Path, where: DashboardSection, begun: Callable[[int, str], Begun]) -> Begun:
    """Start a dashboard that outlives the caller.

    Args:
        begun: Told its pid and the study's address with the token before it is up: a caller that dies
            meanwhile has left a note of it.

    Returns:
        What ``begun`` made of that.

    Raises:
        PageError: If it does not come up.
    """
    port = free_port(where.host, where.port)
    command = [sys.executable, "-m", "autotune.dashboard", str(folder.parent.absolute())]
    command += ["--host", where.host, "--port", str(port)]
    address = f"http://{_dialable(where.host)}:{port}"
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    # Not among the arguments, which every user of the machine can list.
    process = _spawn(command, folder / _LOG, {**os.environ, TOKEN_VARIABLE: token})
    try:
        noted = begun(process.pid, f"{address}/studies/{quote(folder.name)}?token={token}")
        _wait_until_up(process, address, folder / _LOG)
    except OSError as error:
        _end(process)
        raise PageError(f"nothing can be written beside the study ({error.strerror})") from error
    except BaseException:
        _end(process)
        raise
    return noted


def free_port(host: str, wanted: int) -> int:
    """The wanted port, or the first free one above it.

    Raises:
        PageError: If none of the next ones is free.
    """
    for port in range(wanted, wanted + _TRIED_PORTS):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise PageError(
        f"ports {wanted} to {wanted + _TRIED_PORTS - 1} on {host} are all taken; set [dashboard] port"
    )


def _spawn(command: Sequence[str], log: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return spawn_detached(command, log, env)
    except OSError as error:
        raise PageError(f"the dashboard could not be started ({error.strerror})") from error


def _dialable(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "::") else host


def _wait_until_up(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + _UP_WITHIN_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise PageError(f"the dashboard ended with code {process.returncode}; its log is {log}")
        if answers(address):
            return
        time.sleep(0.1)
    raise PageError(f"the dashboard did not answer within {_UP_WITHIN_S:.0f} s; its log is {log}")


def answers(address: str) -> bool:
    """True when a dashboard is there."""
    try:
        return httpx.get(f"{address}/healthz", timeout=2, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
