"""What all container formats share: the image, the words inside it, and what it needs from the machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autotune.export._base import ExportInput
from trials.command import SERVER_IN_IMAGE


@dataclass(frozen=True)
class Mount:
    """A folder or file of the machine and where it appears inside."""

    outside: str
    inside: str
    read_only: bool = True

    def __str__(self) -> str:
        return f"{self.outside}:{self.inside}{':ro' if self.read_only else ''}"


HUB_CACHE = Mount("${HOME}/.cache/huggingface", "/root/.cache/huggingface", read_only=False)
"""Where models from the hub lie, and where an image looks for them; HOME is left to shell and compose."""

ULIMITS = {"memlock": -1, "stack": 67108864}
"""SGLang's guide asks for them."""

_REPOSITORY = "lmsysorg/sglang"


def image(exported: ExportInput) -> str:
    """The image that ran, else SGLang's own one of the same version."""
    version = exported.versions.get("sglang")
    return exported.image or (f"{_REPOSITORY}:v{version}" if version else f"{_REPOSITORY}:latest")


def inner_words(exported: ExportInput) -> tuple[str, ...]:
    """The server's command inside the container."""
    program = exported.program if exported.image else SERVER_IN_IMAGE
    return (*program, *exported.flags)


def mounts(exported: ExportInput) -> list[Mount]:
    """The cache of models, and every local path that the flags name, at its own place."""
    cache = exported.env.get("HF_HOME")
    first = HUB_CACHE if cache is None else Mount(cache, cache, read_only=False)
    values = (word.partition("=")[2] if word.startswith("--") else word for word in exported.flags)
    paths = dict.fromkeys(value for value in values if value.startswith("/") and len(value) > 1)
    return [first, *(Mount(path, path) for path in paths)]


def image_facts(exported: ExportInput) -> Iterator[str]:
    """What else to know when the study did not run in this image."""
    if not exported.image:
        yield "The study ran without a container; check the speed once in this image."
