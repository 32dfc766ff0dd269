"""What a rule is, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trials.model_facts import ModelFacts
from trials.settings import (
    FLAG_PREFIX,
    SPECULATIVE_DETAILS,
    Layout,
    Settings,
    SettingValue,
    is_speculative,
)
from trials.translation import speculative_details

UNKNOWN_MODEL = ModelFacts()
BACKENDS_OVER_ALL_GPUS = (
    "ascend_fuseep",
    "deepep",
    "deepep_v2",
    "flashinfer",
    "flashinfer_megamoe",
    "megamoe",
    "mooncake",
    "mori",
    "nixl",
    "pplx",
)
"""Values of ``--moe-a2a-backend`` with which 0.5.23 sets ep to tp, whatever was asked."""


@dataclass(frozen=True)
class Combination:
    """Settings in their context.

    Attributes:
        gpu_count: Cards of the machine, None when unknown.
        model: What is known of the model; all None when nothing is.
        has_draft: A draft model is configured; None when unknown.
    """

    settings: Settings
    gpu_count: int | None = None
    model: ModelFacts = UNKNOWN_MODEL
    has_draft: bool | None = None

    @property
    def layout(self) -> Layout | None:
        """None when the layout is not under test, or no layout."""
        try:
            return Layout.parse(str(self.settings["layout"]))
        except (KeyError, ValueError):
            return None

    @property
    def expert_groups(self) -> int:
        """Groups that the experts are divided over: some back ends always use all GPUs of a replica."""
        layout = self.layout
        if layout is None:
            return 1
        return layout.tp if self.flag("moe-a2a-backend") in BACKENDS_OVER_ALL_GPUS else layout.ep

    @property
    def algorithm(self) -> str | None:
        """The speculative algorithm, None when speculation is off or unset."""
        if not is_speculative(self.settings):
            return None
        return str(self.settings["speculative_algorithm"]).upper()

    def number(self, setting: str) -> float | None:
        """A numeric setting as it reaches the server, None when it does not or is no number."""
        reaching = self.settings
        if setting in SPECULATIVE_DETAILS:
            reaching = speculative_details(self.settings) if self.algorithm else {}
        value = reaching.get(setting)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def flag(self, name: str) -> SettingValue | None:
        """``flag.NAME``, however its dashes are written."""
        names = (f"{FLAG_PREFIX}{name}", f"{FLAG_PREFIX}{name.replace('-', '_')}")
        return next((self.settings[key] for key in names if key in self.settings), None)


@dataclass(frozen=True)
class Rule:
    """One thing that cannot work.

    Attributes:
        name: Short name.
        why: The fact behind it and where it was seen.
        broken: One sentence about THIS combination when it breaks the rule, else None.
    """

    name: str
    why: str
    broken: Callable[[Combination], str | None]
