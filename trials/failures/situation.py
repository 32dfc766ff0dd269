"""The log as a whole and what is known beside it, as the rules see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trials.boot_log import BootLog
from trials.failures.facts import MachineFacts
from trials.outcome import Stage
from trials.settings import Settings, SettingValue, is_speculative

_SERVER_NAMES: dict[str, tuple[str, ...]] = {
    "cuda_graph_max_bs": ("cuda_graph_max_bs", "cuda_graph_max_bs_decode"),
}
"""Where the server's name of a setting differs, all of its names by release."""


@dataclass(frozen=True)
class Situation:
    """The log as a whole, and what is known beside it."""

    log: BootLog
    settings: Settings = field(default_factory=dict)
    facts: MachineFacts = field(default_factory=MachineFacts)
    exit_code: int | None = None
    stage: Stage | None = None

    @property
    def server_args(self) -> Mapping[str, Any]:
        return self.log.server_args or {}

    def current(self, setting: str) -> SettingValue | None:
        """The value under test: as resolved by the server, which also knows its defaults, else as asked."""
        for name in _SERVER_NAMES.get(setting, (setting.removeprefix("flag.").replace("-", "_"),)):
            value = self.server_args.get(name)
            if isinstance(value, bool | int | float | str):
                return value
        return self.settings.get(setting)

    def number(self, setting: str) -> float | None:
        value = self.current(setting)
        return None if isinstance(value, bool | str) or value is None else float(value)

    @property
    def speculative(self) -> bool:
        return self.server_args.get("speculative_algorithm") is not None or is_speculative(self.settings)

    @property
    def reached(self) -> Stage:
        """The last stage: the worker knows more than the log once the server is ready, or when it is torn."""
        seen = self.log.stage
        if self.stage is None or self.stage.order <= Stage.START.order:
            return seen
        if Stage.ARGUMENTS.order < seen.order < Stage.READY.order:
            return seen
        return max(seen, self.stage, key=lambda stage: stage.order)
