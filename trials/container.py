"""The server in a container: the docker or podman command line around the server's own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trials.command import Command
from trials.container_runtime import RUNTIMES, find_runtime, gpu_options
from trials.owners import Owner
from trials.settings import MARK_VARIABLE, ServerPlan

MARK_LABEL = "autotune.mark"
OWNER_LABEL = "autotune.owner"
_PRIVILEGES = (
    # Its processes and NCCL share memory; locked memory and deep stacks are what SGLang's guide asks for.
    *("--ipc", "host", "--ulimit", "memlock=-1", "--ulimit", "stack=67108864"),
    # The port is then the one that was chosen, with no address translation in between.
    *("--network", "host"),
)
_ASK_TIMEOUT_S = 60.0
_OWNS_PORT = """
import os, sys
port = f"{int(sys.argv[1]):04X}"
inodes = set()
for table in ("/proc/net/tcp", "/proc/net/tcp6"):
    if os.path.exists(table):
        rows = [line.split() for line in open(table).read().splitlines()[1:]]
        inodes |= {f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and row[1].endswith(":" + port)}
for process in filter(str.isdigit, os.listdir("/proc")):
    folder = f"/proc/{process}/fd"
    try:
        if any(os.readlink(f"{folder}/{fd}") in inodes for fd in os.listdir(folder)):
            sys.exit(0)
    except OSError:
        pass
sys.exit(1)
"""
"""Run inside the container, which sees its own processes only: does one of them listen on the port?"""


@dataclass(frozen=True)
class ServerContainer:
    """One container, named after the boot that it is for."""

    mark: str
    runtime: str

    @classmethod
    def for_boot(cls, mark: str) -> ServerContainer:
        """The container of the boot with this mark, ``STUDY_ID:TRIAL:BOOT``; nothing is started yet.

        Raises:
            ContainerError: If there is neither docker nor podman.
        """
        return cls(mark, find_runtime())

    @property
    def name(self) -> str:
        return "autotune-" + re.sub(r"[^\w.-]+", "-", self.mark)

    def around(self, command: Command, server: ServerPlan) -> Command:
        """The command that runs ``command`` inside the plan's image.

        Variables are passed by name only, with their values in the client's environment, so that no secret
        stands in a command line.
        """
        program, *words = command.argv
        cache = _hugging_face_cache()
        passed = {**command.env, **({"HF_HOME": str(cache)} if cache else {})}
        labels = (f"{MARK_LABEL}={self.mark}", f"{OWNER_LABEL}={Owner.me()}")
        argv = (
            *(self.runtime, "run", "--rm", "--init", "--name", self.name),
            *(word for label in labels for word in ("--label", label)),
            *gpu_options(server.gpus, self.runtime),
            *_PRIVILEGES,
            *(word for mount in _mounts(command.argv, cache) for word in ("--volume", mount)),
            *(word for name in (*passed, MARK_VARIABLE) for word in ("--env", name)),
            *("--entrypoint", program, str(server.image), *words),
        )
        return Command(argv, passed)

    def owns_port(self, port: int) -> bool:
        """True when the socket that listens on the port belongs to the container."""
        return _ask([self.runtime, "exec", self.name, "python3", "-c", _OWNS_PORT, str(port)]) is not None

    def remove(self) -> None:
        """End and delete the container; nothing happens when it is gone already."""
        _ask([self.runtime, "rm", "--force", self.name])


def remove_marked(prefix: str) -> list[str]:
    """Remove every container whose mark starts with ``prefix``, left behind by a runner that died.

    Returns:
        Names of the containers removed; empty when there is no container runtime.
    """
    return _remove(lambda mark, owner: mark.startswith(prefix) and not (owner and owner.is_another))


def remove_abandoned() -> list[str]:
    """Remove every container of ours whose owner is gone.

    Returns:
        As ``remove_marked``.
    """
    return _remove(lambda mark, owner: owner is not None and owner.is_gone)


def _remove(is_wanted: Callable[[str, Owner | None], bool]) -> list[str]:
    removed = []
    columns = f'{{{{.Names}}}} {{{{.Label "{MARK_LABEL}"}}}} {{{{.Label "{OWNER_LABEL}"}}}}'
    for runtime in filter(shutil.which, RUNTIMES):
        listed = _ask([runtime, "ps", "--all", "--filter", f"label={MARK_LABEL}", "--format", columns])
        for line in (listed or "").splitlines():
            name, mark, owner = (*line.split(" "), "", "")[:3]
            wanted = is_wanted(mark, Owner.parse(owner))
            if wanted and _ask([runtime, "rm", "--force", name]) is not None:
                removed.append(name)
    return removed


def _mounts(argv: Sequence[str], cache: Path | None) -> Iterator[str]:
    """Every local folder or file that the command names, read-only at its own place, and the model cache."""
    named = (word.partition("=")[2] if word.startswith("--") else word for word in argv[1:])
    paths = (Path(word) for word in named if word.startswith("/"))
    for path in dict.fromkeys(paths):
        if len(path.parts) > 1 and path.exists():
            yield f"{path}:{path}:ro"
    if cache is not None:
        yield f"{cache}:{cache}"


def _hugging_face_cache() -> Path | None:
    cache = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface").absolute()
    return cache if cache.is_dir() else None


def _ask(argv: Sequence[str]) -> str | None:
    """What a short command of the runtime prints, None when it fails."""
    try:
        answer = subprocess.run(argv, capture_output=True, text=True, timeout=_ASK_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout if answer.returncode == 0 else None
