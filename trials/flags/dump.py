"""Prints what an SGLang accepts, as one line of JSON. Runs inside the SERVER'S interpreter, as text.

Nothing of ours can be imported there, and SGLang cannot be imported here.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
from typing import Any


def _action(action: argparse.Action) -> dict[str, Any]:
    kind = action.type
    kind_of_action = type(action).__name__
    return {
        "flags": list(action.option_strings),
        "dest": action.dest,
        "action": kind_of_action,
        "type": None if kind is None else getattr(kind, "__name__", str(kind)),
        "nargs": action.nargs,
        "choices": sorted(map(str, action.choices)) if action.choices else None,
        "default": repr(action.default),
        "required": action.required,
        "new_flag": getattr(action, "new_flag", None),
        "deprecated": "deprecat" in (action.help or "").lower() or kind_of_action.startswith("Deprecated"),
    }


def _environment() -> list[str] | None:
    try:
        registry = importlib.import_module("sglang.srt.environ")
        variables = vars(registry.Envs).items()
        return sorted(name for name, value in variables if isinstance(value, registry.EnvField))
    except (ImportError, AttributeError):
        return None


def _speculative_algorithms() -> list[str] | None:
    try:
        known = importlib.import_module("sglang.srt.speculative.spec_info").SpeculativeAlgorithm
        return sorted({name for name in known.__members__ if name != "NONE"} | {"NEXTN"})
    except (ImportError, AttributeError):
        return None


def _main() -> None:
    parser = argparse.ArgumentParser(prog="sglang serve")
    importlib.import_module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
    dump = {
        "version": importlib.metadata.version("sglang"),
        "actions": [_action(action) for action in parser._actions],
        "environment": _environment(),
        "speculative_algorithms": _speculative_algorithms(),
    }
    print("\nAUTOTUNE-FLAGS " + json.dumps(dump, default=str), flush=True)


if __name__ == "__main__":
    _main()
