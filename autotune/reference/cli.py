"""``docs/cli.md``: every command with its arguments and options, from the functions that they call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from autotune.cli.main import app
from autotune.reference.markdown import GENERATED, code, plain, table

_HEAD = f"""# The command line

{GENERATED}

Exit codes: 0 done, 1 failed (`verify`: no match), 2 bad input, 3 nothing found, 130 interrupted; a
study that was interrupted goes on with the same command. `--json` prints data for programs on standard
output, and whatever is said about it goes to standard error. A STUDY is a name in the folder `--studies`
(left out: `$AUTOTUNE_STUDIES`, else `./studies`), a study's folder, or a `study.db`; left out: the study
changed last."""


@dataclass(frozen=True)
class _Parameter:
    """One argument or option.

    Attributes:
        kind: Its type without ``None``.
    """

    name: str
    info: ArgumentInfo | OptionInfo
    kind: Any
    default: Any

    @property
    def is_argument(self) -> bool:
        return isinstance(self.info, ArgumentInfo)

    @property
    def words(self) -> str:
        """As it is typed."""
        if self.is_argument:
            return self.info.metavar or self.name.upper()
        # In an annotation the first name stands where typer keeps the default.
        given = [self.info.default, *(self.info.param_decls or ())]
        named = (name for name in given if isinstance(name, str) and name.startswith("--"))
        flag = next(named, f"--{self.name.replace('_', '-')}")
        return flag if self.kind is bool else f"{flag} {self.info.metavar or _value_of(self.kind)}"

    @property
    def left_out(self) -> str:
        """What it is then, where that is worth saying."""
        empty = (None, False, inspect.Parameter.empty)
        return "" if self.default in empty or self.is_argument else code(str(self.default))


def document() -> str:
    commands = [(command.name, command.callback) for command in app.registered_commands]
    sections = [_command(name or call.__name__, call) for name, call in commands if call]
    return "\n\n".join([_HEAD, *sections]) + "\n"


def _command(name: str, call: Callable[..., Any]) -> str:
    parameters = list(_parameters(call))
    arguments = [one.words for one in parameters if one.is_argument]
    usage = " ".join(["autotune", name, *arguments, "[OPTIONS]"])
    rows = [(code(one.words), plain(one.info.help or ""), one.left_out) for one in parameters]
    told = plain(inspect.getdoc(call) or "")
    return f"## {name}\n\n```\n{usage}\n```\n\n{told}\n\n{table(('option', 'is', 'left out'), rows)}"


def _parameters(call: Callable[..., Any]) -> Iterator[_Parameter]:
    defaults = inspect.signature(call).parameters
    for name, hint in get_type_hints(call, include_extras=True).items():
        found = [
            one for one in getattr(hint, "__metadata__", ()) if isinstance(one, ArgumentInfo | OptionInfo)
        ]
        if found:
            kinds = [kind for kind in get_args(hint.__origin__) if kind is not type(None)]
            kind = kinds[0] if kinds else hint.__origin__
            yield _Parameter(name, found[0], kind, defaults[name].default)


def _value_of(kind: Any) -> str:
    return {int: "NUMBER", float: "NUMBER", str: "TEXT"}.get(kind, "PATH")
