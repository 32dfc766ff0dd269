"""One flag and one value -> the words on the command line, checked against what the server accepts."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from trials.flags import Flag, FlagCatalogue
from trials.problems import SettingError, unknown_flag
from trials.settings import SettingValue

_WHOLE_NUMBERS = ("int",)
_NUMBERS = ("int", "float")


def words_of(
    setting: str, names: Sequence[str], value: SettingValue, catalogue: FlagCatalogue
) -> tuple[str, ...]:
    """The words for ``value`` under the first of ``names`` that the server has.

    Raises:
        SettingError: If the server has none of them, or does not take this value.
    """
    flag = catalogue.first_of(names)
    if flag is None:
        raise SettingError(setting, f"{setting}: {_why_missing(names, catalogue)}")
    if flag.takes == "nothing":
        return _switch(setting, flag, value)
    values = str(value).split() if flag.takes == "many" else [_text(setting, flag, value)]
    for single in values:
        _check_choice(setting, flag, single)
    name = _spelling(flag, names)
    if len(values) == 1 and values[0].startswith("-") and not _is_number(values[0]):
        return (f"{name}={values[0]}",)
    return (name, *values)


def _why_missing(names: Sequence[str], catalogue: FlagCatalogue) -> str:
    flag = catalogue.find(names[0])
    if flag is not None and flag.retired:
        return f"{names[0]} no longer does anything on {catalogue.server_name}; leave it out"
    return unknown_flag(names[0], catalogue)


def _spelling(flag: Flag, names: Sequence[str]) -> str:
    """The caller's own spelling where the server has it: ``--tp-size``, not ``--tensor-parallel-size``."""
    return next((name for name in names if name in flag.names), flag.name)


def _switch(setting: str, flag: Flag, value: SettingValue) -> tuple[str, ...]:
    if not isinstance(value, bool):
        raise SettingError(setting, f"{setting} takes no value; write true or false instead of {value!r}")
    if value:
        return (flag.name,)
    return () if flag.negative is None else (flag.negative,)


def _text(setting: str, flag: Flag, value: SettingValue) -> str:
    if flag.type in _NUMBERS and (isinstance(value, bool) or not _is_number(str(value))):
        written = str(value).lower() if isinstance(value, bool) else repr(value)
        raise SettingError(setting, f"{setting} takes a number, not {written}")
    if flag.type in _WHOLE_NUMBERS and not float(value).is_integer():
        raise SettingError(setting, f"{setting} takes a whole number, not {value!r}")
    if isinstance(value, float) and value.is_integer() and flag.type != "float":
        return str(int(value))  # a range of floats gives 128.0, which an integer parser refuses
    return str(value)


def _check_choice(setting: str, flag: Flag, value: str) -> None:
    if flag.choices is None or value in flag.choices:
        return
    near = difflib.get_close_matches(value, flag.choices, n=1, cutoff=0.5)
    hint = f"the nearest is {near[0]!r}" if near else f"it takes {', '.join(flag.choices)}"
    raise SettingError(setting, f"{setting}: {flag.name} does not take {value!r}; {hint}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
