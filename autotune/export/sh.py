"""A shell script that starts the server."""

from __future__ import annotations

import shlex

from autotune.export import docker
from autotune.export._base import ExportInput, facts, flag_lines
from autotune.export._shell import heading

NAME = "sh"
DESCRIPTION = "shell script"
FILE_NAME = "launch.sh"
MEDIA_TYPE = "text/x-shellscript"


def write(exported: ExportInput) -> str:
    """What ran, as a script; a study in containers ran docker, and so does its script."""
    if exported.image:
        return docker.write(exported)
    return "\n".join(
        [*heading(exported, facts(exported)), "", *_exports(exported), f"exec {_command(exported)}", ""]
    )


def launch_command(exported: ExportInput) -> str:
    """The same without comments and ``exec``, to read and to paste."""
    if exported.image:
        return docker.command(exported)
    return "\n".join([*_exports(exported), _command(exported)])


def _exports(exported: ExportInput) -> list[str]:
    return [f"export {name}={shlex.quote(value)}" for name, value in exported.env.items()]


def _command(exported: ExportInput) -> str:
    lines = [shlex.join(exported.program), *(shlex.join(line) for line in flag_lines(exported.flags))]
    return " \\\n  ".join(lines)
