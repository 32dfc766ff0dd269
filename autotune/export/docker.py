"""A shell script that starts the server in a container."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from autotune.export._base import ExportInput, facts, flag_lines
from autotune.export._image import HUB_CACHE, ULIMITS, image, image_facts, inner_words, mounts
from autotune.export._shell import heading
from trials.container_runtime import gpu_options

NAME = "docker"
DESCRIPTION = "docker run line"
FILE_NAME = "docker-run.sh"
MEDIA_TYPE = "text/x-shellscript"


def write(exported: ExportInput) -> str:
    top = heading(exported, [*facts(exported), *image_facts(exported)])
    return "\n".join([*top, "", f"exec {command(exported)}", ""])


def command(exported: ExportInput) -> str:
    """The ``docker run`` line, an option to a line."""
    program, *words = inner_words(exported)
    lines = ["docker run --rm --init --network host --ipc host", *_options(exported)]
    lines += [shlex.join(("--entrypoint", program)), shlex.quote(image(exported))]
    lines += [shlex.join(line) for line in flag_lines(words)]
    return " \\\n  ".join(lines)


def _options(exported: ExportInput) -> Iterator[str]:
    yield shlex.join(gpu_options("all" if exported.gpus is None else exported.gpus, "docker"))
    yield " ".join(f"--ulimit {name}={limit}" for name, limit in ULIMITS.items())
    for mount in mounts(exported):
        quoted = f'"{mount}"' if mount is HUB_CACHE else shlex.quote(str(mount))
        yield f"--volume {quoted}"
    for name, value in exported.env.items():
        yield shlex.join(("--env", f"{name}={value}"))
