"""SGLang's own configuration file, for ``--config``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence

from autotune.export._base import ExportInput, facts, flag_lines

NAME = "sglang-yaml"
DESCRIPTION = "YAML for SGLang's --config"
FILE_NAME = "sglang.yaml"
MEDIA_TYPE = "application/yaml"


def write(exported: ExportInput) -> str:
    """Flags as keys; variables cannot stand in this file and are named in its comments."""
    lines = [f"# {fact}" for fact in facts(exported)]
    lines.append(f"# Start with: {shlex.join((*exported.program, '--config', FILE_NAME))}")
    if exported.env:
        lines.append("# and these variables set:")
        lines += [f"#   export {name}={_one_line(value)}" for name, value in exported.env.items()]
    return "\n".join([*lines, *_keys(exported.flags), ""])


def _keys(flags: Sequence[str]) -> Iterator[str]:
    for flag, *values in flag_lines(flags):
        name, equals, value = flag.removeprefix("--").partition("=")
        yield f"{name}: {_value([value, *values] if equals else values)}"


def _value(values: Sequence[str]) -> str:
    if not values:
        return "true"
    if len(values) == 1:
        return _text(values[0])
    return f"[{', '.join(map(_text, values))}]"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _one_line(value: str) -> str:
    return " ".join(shlex.quote(value).splitlines())
