"""The top of every exported shell script."""

from __future__ import annotations

from collections.abc import Iterable

from autotune.export._base import ExportInput

_LITERAL_ON_PURPOSE = "# shellcheck disable=SC2016,SC1003  # nothing in single quotes is meant to expand"


def heading(exported: ExportInput, facts: Iterable[str]) -> list[str]:
    """First lines: the interpreter, what was measured, and what shellcheck need not say."""
    lines = ["#!/bin/sh", *(f"# {fact}" for fact in facts)]
    words = [*exported.argv, *exported.env.values()]
    if any(character in word for word in words for character in "$`\\"):
        lines.append(_LITERAL_ON_PURPOSE)
    return lines
