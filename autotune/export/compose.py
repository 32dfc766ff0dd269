"""A compose file with the server as its one service."""

from __future__ import annotations

import json
from collections.abc import Iterator

from autotune.export._base import ExportInput, facts
from autotune.export._image import HUB_CACHE, image, image_facts, inner_words, mounts

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
    yield "    entrypoint: []"
    yield "    command:"
    yield from (f"      - {_text(word)}" for word in inner_words(exported))
    if exported.env:
        yield "    environment:"
        yield from (f"      {json.dumps(name)}: {_text(value)}" for name, value in exported.env.items())
    yield "    volumes:"
    yield from (f"      - {_volume(outside, inside)}" for outside, inside in mounts(exported))
    yield "    deploy:"
    yield "      resources:"
    yield "        reservations:"
    yield "          devices:"
    yield f"            - {{ driver: nvidia, {_cards(exported)}, capabilities: [gpu] }}"


def _text(value: str) -> str:
    """A YAML text in JSON's quotes; compose would put variables where a single dollar stands."""
    return json.dumps(value.replace("$", "$$"), ensure_ascii=False)


def _volume(outside: str, inside: str) -> str:
    if outside == HUB_CACHE[0]:
        return json.dumps(f"{outside}:{inside}")
    return _text(f"{outside}:{inside}:ro")


def _cards(exported: ExportInput) -> str:
    if exported.gpus is None:
        return "count: all"
    return f"device_ids: {json.dumps([str(number) for number in exported.gpus])}"
