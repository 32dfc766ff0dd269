"""Checks of [space]: every setting known, and its values of the right kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autotune.search import SearchSpace, SpaceError
from autotune.spec_problems import Complaint
from trials.settings import ENV_PREFIX, FLAG_PREFIX, SPECULATIVE_DETAILS, Layout
from trials.translation import ALL_REDUCE

_DOTTED = (FLAG_PREFIX.rstrip("."), ENV_PREFIX.rstrip("."))


def space_complaints(table: object) -> list[Complaint]:
    """Everything that is wrong inside the [space] table, one complaint per setting."""
    if not isinstance(table, Mapping):
        return []  # said by the document's own validation
    if not table:
        return [Complaint(("space",), "is empty; add a setting to tune, e.g. cuda_graph_max_bs = [128, 512]")]
    found = (_domain_complaint(name, domain) for name, domain in table.items())
    return [
        Complaint(("space", name), message) for name, message in zip(table, found, strict=True) if message
    ]


def value_complaint(name: str, value: object) -> str | None:
    """What is wrong with one value of a setting, wherever it stands; None when nothing is."""
    is_right, right = _VALUE_KINDS.get(name, _FLAG_OR_ENV[name.startswith(ENV_PREFIX)])
    if not is_right(value):
        return f"{value!r} is not {right}"
    if name == "layout":
        try:
            Layout.parse(str(value))
        except ValueError as error:
            return str(error)
    return None


def _domain_complaint(name: str, domain: Any) -> str | None:
    if name in _DOTTED and isinstance(domain, Mapping):
        inner = next(iter(domain), "NAME")
        return f'a dot splits a TOML key; put the whole name in quotes: "{name}.{inner}" = [...]'
    try:
        SearchSpace.from_dict({name: domain})
    except SpaceError as error:
        return _without_key(name, str(error))
    values = domain if isinstance(domain, list) else [domain["low"], domain["high"]]
    if isinstance(domain, Mapping) and name in _LISTS_ONLY:
        return "is a choice, not a range; write a list"
    return next((complaint for value in values if (complaint := value_complaint(name, value))), None)


def _without_key(name: str, sentence: str) -> str:
    return sentence.removeprefix(f"[space] {name}").lstrip(": ")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_chunk(value: object) -> bool:
    return _is_count(value) or value == -1


def _is_fraction(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_all_reduce(value: object) -> bool:
    return isinstance(value, str) and value in ALL_REDUCE


_COUNT = (_is_count, "a whole number above 0")
_TEXT = (_is_text, "a text in quotes")
_VALUE_KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "mem_fraction_static": (_is_fraction, "a fraction between 0 and 1, e.g. 0.88"),
    "cuda_graph_max_bs": _COUNT,
    "max_running_requests": _COUNT,
    "chunked_prefill_size": (_is_chunk, "a whole number above 0, or -1 for no chunks"),
    "layout": (_is_text, 'a layout in quotes, e.g. "tp8" or "tp8-ep8"'),
    "speculative_algorithm": (_is_text, 'the name of an algorithm in quotes, e.g. "off" or "EAGLE3"'),
    "all_reduce": (_is_all_reduce, f"one of {', '.join(ALL_REDUCE)}"),
    **dict.fromkeys(SPECULATIVE_DETAILS, _COUNT),
}
_FLAG_OR_ENV = {
    True: (lambda value: isinstance(value, str), 'a text; a variable\'s values need quotes, e.g. "1"'),
    False: (lambda value: isinstance(value, bool | int | float | str), "a text, a number, true or false"),
}
_LISTS_ONLY = ("layout", "speculative_algorithm", "all_reduce")
