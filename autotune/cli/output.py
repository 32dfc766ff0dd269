"""Where text goes: results to standard output, everything about them to standard error."""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.console import Console
from rich.text import Text


def out() -> Console:
    """Standard output as it is now: tests and pipes replace it."""
    return Console(highlight=False, soft_wrap=True)


def say(text: str, style: str = "") -> None:
    """One paragraph on standard output, never wrapped or marked up: it may be piped."""
    out().print(Text(text, style=style))


def say_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def say_error(text: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(text, style="red"))
