"""SGLang's command line as argparse sees it: the same names, aliases, deprecations and refusals."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

from trials.box.description import BoxError
from trials.box.release import release

_SUFFIXES = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_SUFFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def human_readable_int(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)", text.strip())
    if match is None:
        try:
            return int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"Invalid integer value: '{text}'.") from None
    number, suffix = match.groups()
    if suffix in _SUFFIXES:
        return int(float(number) * _SUFFIXES[suffix])
    if "." in number:
        raise argparse.ArgumentTypeError(f"Decimals are not allowed with IEC suffixes like '{suffix}'.")
    return int(number) * _BINARY_SUFFIXES[suffix]


def nullable_str(text: str) -> str | None:
    return None if text in ("", "None") else text


_TYPES: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "loads": json.loads,
    "json_list_type": json.loads,
    "human_readable_int": human_readable_int,
    "nullable_str": nullable_str,
    "parse_cuda_graph_backend_arg": str,
    "parse_cuda_graph_config_arg": json.loads,
}


class _Deprecated(argparse.Action):
    """A deprecated flag: it warns when the server starts to log, then stores something."""

    def __init__(
        self, *args: Any, new_flag: str | None = None, fixed: object = None, **keywords: Any
    ) -> None:
        self.new_flag = new_flag
        self.fixed = fixed
        super().__init__(*args, **keywords)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        instead = f" Use '{self.new_flag}' instead." if self.new_flag else ""
        sentence = f"'{option_string}' is deprecated and will be removed in a future release.{instead}"
        namespace.deprecations = [*getattr(namespace, "deprecations", []), f"\033[1;33m{sentence}\033[0m"]
        setattr(namespace, self.dest, self.fixed if self.nargs == 0 else values)


def _value_options(row: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {name: row[name] for name in ("choices", "nargs") if name in row}
    kind = _TYPES.get(row.get("type", ""))
    if kind is not None:
        options["type"] = kind
        if "choices" in options and kind in (int, float):
            options["choices"] = [kind(choice) for choice in options["choices"]]
    return options


def _action_options(row: dict[str, Any]) -> dict[str, Any]:
    """How argparse must be told about one row of the packaged flag list."""
    action = row["action"]
    new_flag = row.get("new_flag")
    if action == "StoreTrueAction":
        return {"action": "store_true"}
    if action == "BooleanOptionalAction":
        return {"action": argparse.BooleanOptionalAction}
    if action in ("DeprecatedStoreTrueAction", "DeprecatedAction"):
        return {"action": _Deprecated, "nargs": 0, "new_flag": new_flag, "fixed": True}
    if action == "DeprecatedStoreConstAction":
        value = (new_flag or "").partition("=")[2] or True
        return {"action": _Deprecated, "nargs": row.get("nargs", 0), "new_flag": new_flag, "fixed": value}
    if action == "DeprecatedAliasStoreAction":
        return {"action": _Deprecated, "new_flag": new_flag, **_value_options(row)}
    return _value_options(row)


def _help_text(row: dict[str, Any]) -> str | None:
    if not row.get("deprecated"):
        return None
    new_flag = row.get("new_flag")
    return f"[Deprecated] Use {new_flag} instead." if new_flag else "[Deprecated]"


def _program(version: str) -> str:
    return "sglang serve" if release(version) >= (0, 5, 14) else "launch_server.py"


def server_parser(version: str) -> argparse.ArgumentParser:
    """The parser of one SGLang release.

    Raises:
        BoxError: If this release's flags are not in the package.
    """
    file = resources.files("trials.box.flags") / f"{version}.json"
    if not file.is_file():
        raise BoxError(f"no flag list of SGLang {version} in the box; its sglang_version must be one that is")
    parser = argparse.ArgumentParser(prog=_program(version))
    for row in json.loads(file.read_text()):
        flags: Sequence[str] = row["flags"]
        options = _action_options(row)
        if options.get("action") is argparse.BooleanOptionalAction:
            flags = [flag for flag in flags if not flag.startswith("--no-")]
        default = argparse.SUPPRESS if row.get("suppress") else row.get("default")
        parser.add_argument(
            *flags,
            dest=row["dest"],
            default=default,
            required=row.get("required", False),
            help=_help_text(row),
            **options,
        )
    return parser
