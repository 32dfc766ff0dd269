"""What is wrong with a plan before anything boots, as sentences."""

from __future__ import annotations

from dataclasses import dataclass

from trials.flags import FlagCatalogue


@dataclass(frozen=True)
class Problem:
    """One thing that the server would refuse or misread.

    Attributes:
        where: The setting, the argument or the variable, as the user wrote it.
        sentence: What is wrong, and what to write instead.
    """

    where: str
    sentence: str


class SettingError(ValueError):
    """A setting that this server cannot express.

    Attributes:
        setting: Its name, as in ``[space]``.
    """

    def __init__(self, setting: str, sentence: str) -> None:
        super().__init__(sentence)
        self.setting = setting


def unknown_flag(name: str, catalogue: FlagCatalogue) -> str:
    """Why ``name`` is no flag of this server, with the nearest one that is."""
    candidates = [found for found in catalogue.completions(name) if found != name]
    if len(candidates) > 1:
        return f"{name} is ambiguous on {catalogue.server_name}; write {_either(candidates)}"
    nearest = catalogue.nearest(name)
    hint = f"; the nearest is {nearest}" if nearest else ""
    return f"{catalogue.server_name} has no flag {name}{hint}"


def _either(names: list[str], at_most: int = 3) -> str:
    shown = sorted(names, key=len)[:at_most]
    return " or ".join(shown) + (" or another of its forms" if len(names) > at_most else "")
