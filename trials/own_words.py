"""A user's own launch flags read back into settings: ``trials.translation`` the other way round."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trials.argument_checks import CLAIMED_FLAGS, MODEL_FLAG
from trials.flags import Flag, FlagCatalogue
from trials.problems import SettingError, unknown_flag
from trials.settings import SPECULATION_OFF, Layout, Settings, SettingValue
from trials.translation import (
    ALL_REDUCE,
    ATTENTION_DP_FLAGS,
    DP_ATTENTION_FLAGS,
    DP_FLAGS,
    DRAFT_MODEL_FLAGS,
    EP_FLAGS,
    PLAIN_FLAGS,
    SPECULATIVE_FLAGS,
    TP_FLAGS,
    AllReduce,
)


@dataclass(frozen=True)
class OwnWords:
    """What somebody's flags say.

    Attributes:
        settings: Those that a study can tune; a flag that was not given is not in it, but for the layout, the
            algorithm of speculation ("off") and the all-reduce ("default").
        args: All other flags, as written, host and port among them.
        env: Variables that no setting stands for.
    """

    settings: Settings
    args: tuple[str, ...]
    env: Mapping[str, str]
    model_path: str | None = None
    draft_model_path: str | None = None


def read_back(words: Sequence[str], env: Mapping[str, str], catalogue: FlagCatalogue) -> OwnWords:
    """Divide flags into what a study can tune and what it passes through.

    Raises:
        SettingError: If the server does not have one of the flags.
    """
    given = _Given(list(flag_groups(words, catalogue)), catalogue)
    model = given.take((MODEL_FLAG,)) or given.take_positional()
    draft = given.take(DRAFT_MODEL_FLAGS)
    settings: Settings = {"layout": str(_layout(given))}
    for name, flags in PLAIN_FLAGS.items():
        if (value := given.take(flags)) is not None:
            settings[name] = _number(value)
    settings |= _speculation(given)
    rest = dict(env)
    settings |= _all_reduce(given, rest)
    return OwnWords(settings, tuple(given.left()), rest, model, draft)


@dataclass
class FlagGroup:
    """One flag with the words that belong to it, itself first."""

    flag: Flag | None
    words: list[str]
    values: list[str] = field(default_factory=list)


class _Given:
    def __init__(self, groups: list[FlagGroup], catalogue: FlagCatalogue) -> None:
        self._groups = groups
        self._catalogue = catalogue

    def take_positional(self) -> str | None:
        """A model that stands without its flag, as ``sglang serve MODEL`` takes it."""
        group = next((group for group in self._groups if group.flag is None), None)
        if group is None:
            return None
        self._groups.remove(group)
        return group.words[0]

    def find(self, names: Sequence[str]) -> FlagGroup | None:
        flags = [flag for name in names if (flag := self._catalogue.find(name)) is not None]
        return next((group for group in reversed(self._groups) if group.flag in flags), None)

    def take(self, names: Sequence[str]) -> str | None:
        """The value of a flag (the last one counts), which is then no longer among those that are left."""
        value = None
        while (group := self.find(names)) is not None:
            self._groups.remove(group)
            value = value or " ".join(group.values) or "true"
        return value

    def left(self) -> list[str]:
        return [word for group in self._groups for word in group.words]


def flag_groups(words: Sequence[str], catalogue: FlagCatalogue) -> Iterator[FlagGroup]:
    """Each flag with its values; a word that belongs to none has None for its flag.

    Raises:
        SettingError: If the server does not have one of the flags.
    """
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("--"):
            yield FlagGroup(None, [word])
            continue
        name, equals, value = word.partition("=")
        flag = catalogue.match(name)
        if flag is None:
            raise SettingError("args", unknown_flag(name, catalogue))
        group = FlagGroup(flag, [word], [value] if equals else [])
        most = 0 if equals else {"nothing": 0, "one": 1, "optional": 1, "many": len(waiting)}[flag.takes]
        while len(group.values) < most and waiting and not waiting[0].startswith("--"):
            group.values.append(waiting[0])
            group.words.append(waiting.pop(0))
        yield group


def _layout(given: _Given) -> Layout:
    tp, ep, dp, adp = (_size(given, names) for names in (TP_FLAGS, EP_FLAGS, DP_FLAGS, ATTENTION_DP_FLAGS))
    if given.take(DP_ATTENTION_FLAGS) and adp == 1:
        adp, dp = dp, 1
    return Layout(tp=tp, ep=ep, adp=adp, dp=dp)


def _size(given: _Given, names: Sequence[str]) -> int:
    value = given.take(names) or "1"
    if not value.isdecimal() or int(value) < 1:
        raise SettingError("layout", f"{names[0]} takes a whole number, not {value!r}")
    return int(value)


def _speculation(given: _Given) -> Settings:
    algorithm = given.take(SPECULATIVE_FLAGS["speculative_algorithm"])
    found: Settings = {"speculative_algorithm": algorithm or SPECULATION_OFF}
    for name, flags in SPECULATIVE_FLAGS.items():
        value = given.take(flags)
        if algorithm is not None and value is not None:
            found[name] = _number(value)
    return found


def _all_reduce(given: _Given, env: dict[str, str]) -> Settings:
    """The way that explains all all-reduce flags that are there; none when no single one does."""
    names = CLAIMED_FLAGS["all_reduce"]
    there = {group.flag.name for name in names if (group := given.find((name,))) and group.flag}
    for name, way in reversed(list(ALL_REDUCE.items())):
        if way.env.items() <= env.items() and _explains(way, there, given):
            given.take(names)
            for variable in way.env:
                env.pop(variable)
            return {"all_reduce": "default" if name == "custom" else name}
    return {}


def _explains(way: AllReduce, there: set[str], given: _Given) -> bool:
    """The flags of this way are exactly those that are there; a variable alone is enough as well."""
    if not there:
        return bool(way.env) or not way.flags
    asked = set()
    for names, value in way.flags:
        group = given.find(names)
        if group is not None and group.flag is not None and (value is True or group.values == [str(value)]):
            asked.add(group.flag.name)
    return asked == there


def _number(text: str) -> SettingValue:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
