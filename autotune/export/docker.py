"""A shell script that starts the server in a container."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from autotune.export._base import ExportInput, facts, flag_lines
from autotune.export._image import HUB_CACHE, image, image_facts, inner_words, mounts
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
    lines = ["docker run --rm --network host --ipc host", *_options(exported)]
    lines += [shlex.quote(image(exported)), *map(shlex.join, flag_lines(inner_words(exported)))]
    return " \\\n  ".join(lines)


def _options(exported: ExportInput) -> Iterator[str]:
    yield shlex.join(gpu_options("all" if exported.gpus is None else exported.gpus, "docker"))
    for outside, inside in mounts(exported):
        if outside == HUB_CACHE[0]:
            yield f'--volume "{outside}:{inside}"'
        else:
            yield shlex.join(("--volume", f"{outside}:{inside}:ro"))
    for name, value in exported.env.items():
        yield shlex.join(("--env", f"{name}={value}"))
