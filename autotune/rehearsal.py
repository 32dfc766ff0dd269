"""Tonight's study file, played on the simulated box in minutes: a typo is found at 22:00, not at 07:00."""

from __future__ import annotations

import difflib

from autotune.spec import FinalsSection, StudySpec
from trials.box.description import box_names, load_box
from trials.settings import Layout

TRIALS = 14
FINALS = 6
SECONDS_PER_LEVEL = 2.0
OUTPUT_TOKENS = 64
BOOT_TIMEOUT_S = 60.0
VARIANTS = ("demo", "kimi-k2.5-8x-rtx-pro-6000-patched")
"""Boxes that stand for a special case of another one."""


def rehearsal_of(spec: StudySpec) -> StudySpec:
    """The same study on the box of the nearest kind, short, under a name of its own.

    Space, levels, prompts, limits and known-good settings stay as they are; what is shortened is time.
    """
    server = spec.server.model_copy(
        update={
            "command": None,
            "image": None,
            "box": nearest_box(spec),
            "boot_timeout_s": BOOT_TIMEOUT_S,
            "gpus": "all",
        }
    )
    study = spec.study.model_copy(
        update={"name": f"{spec.name}-rehearsal", "trials": TRIALS, "hours": None, "until": None}
    )
    bench = spec.bench.model_copy(
        update={
            "output_tokens": min(OUTPUT_TOKENS, spec.bench.output_tokens),
            "max_seconds_per_level": min(SECONDS_PER_LEVEL, spec.bench.max_seconds_per_level),
        }
    )
    finals = FinalsSection(boots=FINALS if spec.finals.boots is None else min(FINALS, spec.finals.boots))
    return spec.model_copy(update={"server": server, "study": study, "bench": bench, "finals": finals})


def nearest_box(spec: StudySpec) -> str:
    """The box with room for the study's layouts whose model's name is most like the study's."""
    cards = max((Layout.parse(str(value)).gpus for value in _layouts(spec)), default=1)
    boxes = {name: load_box(name) for name in box_names() if name not in VARIANTS}
    roomy = [name for name, box in boxes.items() if box.cards.count >= cards] or list(boxes)
    wanted = spec.server.model_path.lower()
    return max(roomy, key=lambda name: _likeness(wanted, boxes[name].model.name.lower()))


def _layouts(spec: StudySpec) -> tuple[object, ...]:
    layout = spec.space.parameters.get("layout")
    return tuple(layout.values or ()) if layout is not None else ()


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()
