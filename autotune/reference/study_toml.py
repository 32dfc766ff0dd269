"""``docs/study-toml.md``: every key of a study file with what is right for it and its default."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from autotune.reference.markdown import GENERATED, code, first_paragraph, table
from autotune.spec import (
    DEFAULT_COMMAND,
    DashboardSection,
    FinalsSection,
    NotifySection,
    SpeculationSection,
    StudySection,
)
from autotune.spec_help import EXPECTED
from trials.settings import BenchPlan, Limits, ServerPlan
from trials.translation import ALL_REDUCE, DRAFTLESS_ALGORITHMS, PLAIN_FLAGS, SPECULATIVE_FLAGS

SECTIONS: Mapping[str, type[BaseModel]] = {
    "study": StudySection,
    "server": ServerPlan,
    "speculation": SpeculationSection,
    "bench": BenchPlan,
    "limits": Limits,
    "finals": FinalsSection,
    "notify": NotifySection,
    "dashboard": DashboardSection,
}
_DEFAULTS_BY_HAND = {
    "server.command": f"`{json.dumps(list(DEFAULT_COMMAND))}`, unless there is an image or a box",
    "server.env": "none",
    "bench.main_level": "the first of the levels",
    "finals.boots": "12, or 9 in a night of under 40 boots",
}
_HEAD = f"""# study.toml

{GENERATED}

Keys that are not here are errors that name the nearest one that is. Paths are relative to the file, `~` is
your home. `autotune init` writes a first file, `autotune check` says what is wrong with one, line by line."""


def document() -> str:
    return "\n\n".join([_HEAD, *_sections(), _space(), _known_good()]) + "\n"


def _sections() -> Iterator[str]:
    for name, model in SECTIONS.items():
        rows = [
            (code(key), EXPECTED[f"{name}.{key}"], _default(f"{name}.{key}", field))
            for key, field in model.model_fields.items()
            if f"{name}.{key}" in EXPECTED
        ]
        yield f"## [{name}]\n\n{first_paragraph(model)}\n\n{table(('key', 'is', 'left out'), rows)}"


def _default(key: str, field: FieldInfo) -> str:
    if key in _DEFAULTS_BY_HAND:
        return _DEFAULTS_BY_HAND[key]
    if field.is_required():
        return "must be there"
    value = field.default
    return "none" if value in (None, ()) else code(json.dumps(value, default=list))


def _space() -> str:
    rows = [
        *((code(name), f"the server's {_flags(flags)}") for name, flags in PLAIN_FLAGS.items()),
        (code("layout"), "`tp8`, `tp8-ep8`, `tp8-adp2`, `tp4-dp2`: see below"),
        *((code(name), f"the server's {_flags(flags)}") for name, flags in SPECULATIVE_FLAGS.items()),
        (code("all_reduce"), "one of the ways below"),
        (
            code('"flag.NAME"'),
            "any other flag of the server: `--NAME`; true and false for one without a value",
        ),
        (code('"env.NAME"'), "an environment variable, its values as texts"),
    ]
    ways = [(code(name), _way(name)) for name in ALL_REDUCE]
    return "\n\n".join(
        [
            "## [space]",
            "What is tuned. A list gives choices, `{ low = 1, high = 6 }` a range of whole numbers or, with "
            "points in them, of numbers; `step = 0.01` keeps a range to a grid.",
            table(("setting", "stands for"), rows),
            "**layout**: `tp` is the GPUs of one replica, `ep` divides the experts inside it, `adp` the "
            "attention into groups, `dp` runs whole replicas. It takes tp x dp GPUs; `adp` and `dp` together "
            "are refused.",
            '**speculation**: `speculative_algorithm` may be `"off"`, and then its details do not count. '
            "With `speculative_eagle_topk` 1 the draft tokens are steps + 1, no choice. Without a draft: "
            f"{', '.join(map(code, DRAFTLESS_ALGORITHMS))}.",
            table(("all_reduce", "asks the server for"), ways),
        ]
    )


def _flags(flags: tuple[str, ...]) -> str:
    return " or ".join(map(code, flags))


def _way(name: str) -> str:
    way = ALL_REDUCE[name]
    flags = " or ".join(
        code(names[0] if value is True else f"{names[0]} {value}") for names, value in way.flags
    )
    env = ", ".join(code(f"{variable}={value}") for variable, value in way.env.items())
    return " and ".join(filter(None, (flags, env))) or "nothing: its own choice"


def _known_good() -> str:
    return (
        "## [[known_good]]\n\n"
        "One line for each setting of the space, as you run the server now; several such tables may follow "
        "each other. They are tried first, and the first one is the baseline that every result is compared "
        "with. A setting that is left out takes the server's default, if that is known and in the space."
    )
