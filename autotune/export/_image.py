"""What all container formats share: the image, the words inside it, and what it needs from the machine."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.export._base import ExportInput
from trials.command import SERVER_IN_IMAGE

HUB_CACHE = ("${HOME}/.cache/huggingface", "/root/.cache/huggingface")
"""Where model weights from the hub lie on the machine, and where an image looks for them."""

_REPOSITORY = "lmsysorg/sglang"


def image(exported: ExportInput) -> str:
    """The image that ran, else SGLang's own one of the same version."""
    version = exported.versions.get("sglang")
    return exported.image or (f"{_REPOSITORY}:v{version}" if version else f"{_REPOSITORY}:latest")


def inner_words(exported: ExportInput) -> tuple[str, ...]:
    """The server's command inside the container."""
    program = exported.program if exported.image else SERVER_IN_IMAGE
    return (*program, *exported.flags)


def mounts(exported: ExportInput) -> list[tuple[str, str]]:
    """Folders of the machine and where they appear inside; a model in a folder keeps its path."""
    return [HUB_CACHE, *((folder, folder) for folder in dict.fromkeys(_model_folders(exported)))]


def image_facts(exported: ExportInput) -> Iterator[str]:
    """What else to know when the study did not run in this image."""
    if not exported.image:
        yield "The study ran without a container; check the speed once in this image."


def _model_folders(exported: ExportInput) -> Iterator[str]:
    for path in (exported.model_path, exported.draft_model_path):
        if path is not None and path.startswith("/"):
            yield path
