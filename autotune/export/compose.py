"""A compose file with the server as its one service."""

from __future__ import annotations

import json
from collections.abc import Iterator

from autotune.export._base import ExportInput, facts
from autotune.export._image import HUB_CACHE, ULIMITS, Mount, image, image_facts, inner_words, mounts

NAME = "compose"
DESCRIPTION = "compose.yaml"
FILE_NAME = "compose.yaml"
MEDIA_TYPE = "application/yaml"


def write(exported: ExportInput) -> str:
    comments = [f"# {fact}" for fact in (*facts(exported), *image_facts(exported))]
    return "\n".join([*comments, *_service(exported), ""])


def _service(exported: ExportInput) -> Iterator[str]:
    yield "services:"
    yield "  sglang:"
    yield f"    image: {_text(image(exported))}"
    yield "    network_mode: host"
    yield "    ipc: host"
    yield "    restart: unless-stopped"
    yield "    init: true"
    yield "    ulimits:"
    yield from (f"      {name}: {limit}" for name, limit in ULIMITS.items())
    program, *words = inner_words(exported)
    yield f"    entrypoint: [{_text(program)}]"
    yield "    command:"
    yield from (f"      - {_text(word)}" for word in words)
    if exported.env:
        yield "    environment:"
        yield from (f"      {json.dumps(name)}: {_text(value)}" for name, value in exported.env.items())
    yield "    volumes:"
    yield from (f"      - {_volume(mount)}" for mount in mounts(exported))
    yield "    deploy:"
    yield "      resources:"
    yield "        reservations:"
    yield "          devices:"
    yield f"            - {{ driver: nvidia, {_cards(exported)}, capabilities: [gpu] }}"


def _text(value: str) -> str:
    """A YAML text in JSON's quotes; compose would put variables where a single dollar stands."""
    return json.dumps(value.replace("$", "$$"), ensure_ascii=False)


def _volume(mount: Mount) -> str:
    return json.dumps(str(mount)) if mount is HUB_CACHE else _text(str(mount))


def _cards(exported: ExportInput) -> str:
    if exported.gpus is None:
        return "count: all"
    return f"device_ids: {json.dumps([str(number) for number in exported.gpus])}"
