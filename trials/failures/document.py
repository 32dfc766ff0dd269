"""Writes ``docs/failures.md`` from the families: see the command in its head."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import groupby

from trials.failures.families import FAMILIES
from trials.failures.family import Advice, Family
from trials.outcome import FailureKind

_HEAD = """# Failures

Generated from `trials/failures/families`: `python -m trials.failures.document > docs/failures.md`.

`autotune diagnose LOG...` tries all families, in the order of `FAMILIES`, on the first exception by time
over all ranks; the first that matches names the failure. Here they are grouped by kind, and words in
*italics* stand for what the log says. A failure that only follows from another (*echo*) decides when
nothing else was found. Where none matches, the verdict is `unknown` with the first exception quoted.
"At fault" says whether a study blames the settings or the machine.
"""

_KINDS = {
    FailureKind.KV_POOL_TOO_SMALL: "the KV pool is too small: `mem_fraction_static` is too low",
    FailureKind.OOM_KV_POOL: "the KV pool does not fit: `mem_fraction_static` is too high",
    FailureKind.OOM_GRAPH_CAPTURE: "no memory left to capture CUDA graphs",
    FailureKind.OOM_RUNTIME: "no memory left to run requests",
    FailureKind.OOM_WEIGHTS: "the weights do not fit",
    FailureKind.OOM_HOST: "the host ran out of memory",
    FailureKind.UNSUPPORTED_KERNEL: "no kernel for this GPU",
    FailureKind.KERNEL_FAULT: "a kernel went wrong while it ran",
    FailureKind.COMMUNICATION: "the ranks could not talk to each other",
    FailureKind.INVALID_SETTINGS: "SGLang refuses the settings",
    FailureKind.HANG: "nothing moved any more",
    FailureKind.ENVIRONMENT: "the machine is at fault",
    FailureKind.MODEL: "the model's files are at fault",
    FailureKind.UNKNOWN: "the log does not say",
}
"""The kinds that a log can show, in the document's order. ``wrong_output`` is found by a trial's check."""


def document() -> str:
    """The whole document."""
    order = list(_KINDS)
    families = sorted(FAMILIES, key=lambda family: order.index(family.kind))
    parts = [_HEAD]
    for kind, group in groupby(families, key=lambda family: family.kind):
        parts += [f"## `{kind}`: {_KINDS[kind]}\n", *map(_section, group)]
    return "\n".join(parts)


def _section(family: Family) -> str:
    echo = " *(echo)*" if family.consequence else ""
    lines = [
        f"### {family.name[:1].upper()}{family.name[1:]}{echo}\n",
        f"- **The log says**: {family.says}",
        f"- **It means**: {_plain(family.summary)} {family.means}",
        f"- **To change**: {'; '.join(map(_advice, family.remedies)) or _nothing(family)}",
        f"- **At fault**: the {family.side}{''.join(_stages(family))}",
    ]
    return "\n".join(lines) + "\n"


def _plain(summary: str) -> str:
    """The summary with its placeholders as words of a document."""
    text = re.sub(r"\{(\w+)\}", r"*\1*", summary)
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _advice(advice: Advice) -> str:
    bound = {"": "", "current": " (beyond the value under test)"}.get(
        advice.bound, " (beyond the value in the log)"
    )
    when = " (with speculation)" if advice.speculative else ""
    return f"{advice.direction} `{advice.setting}`{bound}{when}"


def _nothing(family: Family) -> str:
    return "nothing in the settings" if family.side == "environment" else "nothing that is known to help"


def _stages(family: Family) -> Iterator[str]:
    if family.stages:
        names = sorted(family.stages, key=lambda stage: stage.order)
        yield f"; only at stage {', '.join(f'`{name}`' for name in names)}"


if __name__ == "__main__":
    sys.stdout.write(document())
