"""Which container runtime is here, and how it is asked for GPUs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Literal

RUNTIMES = ("docker", "podman")


class ContainerError(Exception):
    """No container can be started here; one sentence that says what to do."""


def find_runtime() -> str:
    """``docker``, else ``podman``: the first one on PATH.

    Raises:
        ContainerError: If neither is there.
    """
    for runtime in RUNTIMES:
        if shutil.which(runtime) is not None:
            return runtime
    raise ContainerError(
        "[server] image needs docker or podman, and neither is on PATH; install one, or use [server] command"
    )


def gpu_options(gpus: Literal["all"] | Sequence[int], runtime: str) -> tuple[str, ...]:
    """Options that give the container its cards: docker's ``--gpus``, podman's CDI ``--device``."""
    if runtime == "podman":
        names = ["all"] if gpus == "all" else [str(number) for number in gpus]
        return tuple(word for name in names for word in ("--device", f"nvidia.com/gpu={name}"))
    if gpus == "all":
        return ("--gpus", "all")
    # docker reads the value as CSV: the quotes keep the list in one field.
    return ("--gpus", f'"device={",".join(str(number) for number in gpus)}"')
