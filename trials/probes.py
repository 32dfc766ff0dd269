"""Which GpuProbe belongs to which server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from trials.box.probe import BoxProbe
from trials.gpus import GpuProbe
from trials.no_gpus import NoGpus
from trials.nvml import NvmlProbe
from trials.settings import ServerPlan

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def open_probe(server: ServerPlan, box_state: Path) -> GpuProbe:
    """The probe of the cards that this server may use; the caller closes it.

    Args:
        box_state: Folder with the imagined memory of the simulated box.

    Raises:
        GpuProbeError: If a card that the plan names does not exist, or the cards do not answer.
    """
    if server.box is not None:
        return BoxProbe(server.box, box_state)
    return NvmlProbe.open(watched_cards(server, os.environ)) or NoGpus()


def count_cards(server: ServerPlan) -> int | None:
    """Cards that the server may use, None where none can be seen."""
    with TemporaryDirectory() as nothing, closing(open_probe(server, Path(nothing))) as probe:
        return len(probe.cards()) or None


def watched_cards(server: ServerPlan, environ: Mapping[str, str]) -> Literal["all"] | tuple[int, ...]:
    """Cards in scope: ``gpus``, else what CUDA_VISIBLE_DEVICES leaves, else all.

    What others do on cards that the server cannot use must not spoil a stop's proof. Cards that the variable
    names by UUID are not looked up: then all are watched.
    """
    if server.gpus != "all":
        return server.gpus
    visible = server.env.get(_VISIBLE, environ.get(_VISIBLE))
    if visible is None:
        return "all"
    words = [word.strip() for word in visible.split(",") if word.strip()]
    return tuple(map(int, words)) if all(word.isdecimal() for word in words) else "all"
