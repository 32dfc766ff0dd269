"""The flags of one server: names, aliases, choices, types, defaults, deprecations, ambiguous prefixes."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Takes: TypeAlias = Literal["nothing", "one", "optional", "many"]

_TAKES_BY_NARGS: dict[object, Takes] = {0: "nothing", "0": "nothing", None: "one", "?": "optional"}
_RETIRED_ACTION = "DeprecatedAction"
_NO_REPRESENTATION = ("None", "", None)


@dataclass(frozen=True)
class Flag:
    """One flag of the server's parser.

    Attributes:
        names: Every positive spelling, the preferred one first; all with leading dashes.
        negative: Spelling that switches it off (``--no-x``), or None.
        takes: How many values follow it.
        choices: Values that the parser accepts, or None when it does not say.
        type: Name of the parser's converter (``int``, ``float``, ``loads``, ...), or None when unknown.
        default: The default as Python prints it, or None when unknown.
        deprecated: The server warns about it.
        new_flag: What the server says to use instead.
        retired: The server still knows the name, only to say that it no longer does anything.
    """

    names: tuple[str, ...]
    dest: str
    takes: Takes = "one"
    negative: str | None = None
    choices: tuple[str, ...] | None = None
    type: str | None = None
    default: str | None = None
    required: bool = False
    deprecated: bool = False
    new_flag: str | None = None
    retired: bool = False

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def spellings(self) -> tuple[str, ...]:
        return self.names if self.negative is None else (*self.names, self.negative)

    @classmethod
    def from_action(cls, row: Mapping[str, Any]) -> Flag:
        """Read one argparse action as ``dump.py`` prints it."""
        long = [name for name in row["flags"] if name.startswith("--")] or list(row["flags"])
        negative = negative_of(long)
        kind = row.get("type")
        boolean = row["action"] == "BooleanOptionalAction"
        return cls(
            names=tuple(name for name in long if name != negative),
            dest=row["dest"],
            takes="nothing" if boolean else _TAKES_BY_NARGS.get(row.get("nargs"), "many"),
            negative=negative,
            choices=None if row.get("choices") is None else tuple(row["choices"]),
            type=None if kind in _NO_REPRESENTATION else kind,
            default=row.get("default"),
            required=bool(row.get("required")),
            deprecated=bool(row.get("deprecated")),
            new_flag=row.get("new_flag"),
            retired=row["action"] == _RETIRED_ACTION,
        )


@dataclass(frozen=True)
class FlagCatalogue:
    """What one server accepts.

    Attributes:
        version: SGLang's version, or None when the server does not tell.
        environment: SGLang's environment variables, or None when the server does not list them.
        speculative_algorithms: Algorithms that it knows, or None when it does not list them.
    """

    flags: tuple[Flag, ...]
    version: str | None = None
    environment: frozenset[str] | None = None
    speculative_algorithms: tuple[str, ...] | None = None
    _by_name: Mapping[str, Flag] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {name: flag for flag in self.flags for name in flag.spellings}
        object.__setattr__(self, "_by_name", by_name)

    @classmethod
    def from_dump(cls, dump: Mapping[str, Any]) -> FlagCatalogue:
        """Build from what ``dump.py`` prints."""
        environment = dump.get("environment")
        algorithms = dump.get("speculative_algorithms")
        return cls(
            flags=tuple(Flag.from_action(row) for row in dump["actions"]),
            version=dump.get("version"),
            environment=None if environment is None else frozenset(environment),
            speculative_algorithms=None if algorithms is None else tuple(algorithms),
        )

    @property
    def server_name(self) -> str:
        """The server, for use in sentences."""
        return f"SGLang {self.version}" if self.version else "this server"

    def find(self, name: str) -> Flag | None:
        """The flag of exactly this name; leading dashes and the kind of dash do not matter."""
        return self._by_name.get(dashed(name))

    def first_of(self, names: Sequence[str]) -> Flag | None:
        """The first of several names that this server has and that still does something."""
        found = (self.find(name) for name in names)
        return next((flag for flag in found if flag is not None and not flag.retired), None)

    def completions(self, prefix: str) -> tuple[str, ...]:
        """Spellings that start with this prefix."""
        start = dashed(prefix)
        return tuple(name for name in self._by_name if name.startswith(start))

    def match(self, option: str) -> Flag | None:
        """The flag that the parser would take for ``option``: its name, or an unambiguous prefix of it."""
        exact = self.find(option)
        if exact is not None:
            return exact
        matches = {id(flag): flag for flag in map(self.find, self.completions(option)) if flag is not None}
        return next(iter(matches.values())) if len(matches) == 1 else None

    def nearest(self, name: str) -> str | None:
        """The name most like ``name``: one that it is a prefix of, else one spelt alike."""
        longer = self.completions(name)
        if longer:
            return min(longer, key=len)
        alike = difflib.get_close_matches(dashed(name), self._by_name, n=1, cutoff=0.6)
        return alike[0] if alike else None


def dashed(name: str) -> str:
    """``tp_size``, ``tp-size`` and ``--tp-size`` are one name: the last."""
    return "--" + name.lstrip("-").replace("_", "-")


def negative_of(names: Sequence[str]) -> str | None:
    """The ``--no-x`` among ``names`` that switches off an ``--x`` among them."""
    off = (name for name in names if name.startswith("--no-"))
    return next((name for name in off if f"--{name.removeprefix('--no-')}" in names), None)
