"""The table of trials: each line made once, then filtered, sorted and cut into pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from autotune.dashboard.trial_json import baseline_settings, trial_json
from autotune.study_view import StudyView
from autotune.trial_view import TrialView
from db.rows import TrialRow
from trials.settings import SettingValue

SortKey: TypeAlias = Literal["number", "tok_s", "outcome", "seconds"]
PAGE_LINES = 50


@dataclass(frozen=True)
class Line:
    """One trial.

    Attributes:
        encoded: The line as JSON.
        words: All that the text filter looks into, in lower case.
    """

    data: Mapping[str, Any]
    encoded: bytes
    words: str


@dataclass(frozen=True)
class TableQuery:
    """What a reader wants to see; None: no matter.

    Attributes:
        setting: ``NAME=VALUE``, or a NAME alone for trials where it counts.
        text: Words that must all occur somewhere in the line.
    """

    outcome: str | None = None
    kind: str | None = None
    role: str | None = None
    setting: str | None = None
    text: str | None = None
    sort: SortKey = "number"
    descending: bool = True

    @property
    def filters(self) -> bool:
        return any((self.outcome, self.kind, self.role, self.setting, self.text))

    def select(self, lines: Sequence[Line]) -> list[Line]:
        """The lines that are wanted, in the order wanted; those without a value come last."""
        tests = self._tests()
        kept = [line for line in lines if all(test(line) for test in tests)]
        if self.sort == "number":
            return kept[::-1] if self.descending else kept
        known = [line for line in kept if line.data[self.sort] is not None]
        unknown = [line for line in kept if line.data[self.sort] is None]
        known.sort(key=lambda line: line.data[self.sort], reverse=self.descending)
        return [*known, *unknown]

    def _tests(self) -> list[Callable[[Line], bool]]:
        tests: list[Callable[[Line], bool]] = []
        if self.outcome:
            tests.append(lambda line: line.data["outcome"] == self.outcome)
        if self.role:
            tests.append(lambda line: line.data["role"] == self.role)
        if self.kind:
            tests.append(lambda line: (line.data["failure"] or {}).get("kind") == self.kind)
        if self.setting:
            tests.append(_setting_test(self.setting))
        if self.text:
            words = self.text.lower().split()
            tests.append(lambda line: all(word in line.words for word in words))
        return tests


@dataclass(frozen=True)
class _Kept:
    row: TrialRow
    trial: TrialView
    baseline: Mapping[str, SettingValue] | None
    line: Line


class TrialTable:
    """Lines of one study at one level; only those of trials that changed are made anew."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._kept: dict[int, _Kept] = {}

    def lines(self, study: StudyView) -> list[Line]:
        baseline = baseline_settings(study)
        pairs = zip(study.rows, study.trials, strict=True)
        return [self._line(study, row, trial, baseline) for row, trial in pairs]

    def _line(
        self,
        study: StudyView,
        row: TrialRow,
        trial: TrialView,
        baseline: Mapping[str, SettingValue] | None,
    ) -> Line:
        kept = self._kept.get(row.number)
        if kept is None or kept.row is not row or kept.trial is not trial or kept.baseline != baseline:
            line = _make(trial_json(study, row, trial, self._level, baseline))
            kept = self._kept[row.number] = _Kept(row, trial, baseline, line)
        return kept.line


def kinds_seen(lines: Sequence[Line]) -> list[str]:
    """Kinds of failure that occur, most frequent first."""
    counts: dict[str, int] = {}
    for line in lines:
        if line.data["failure"]:
            kind = line.data["failure"]["kind"]
            counts[kind] = counts.get(kind, 0) + 1
    return sorted(counts, key=lambda kind: -counts[kind])


def _make(data: dict[str, Any]) -> Line:
    failure = data["failure"] or {}
    settings = [f"{name}={value}" for name, value in {**data["settings"], **data["ran"]}.items()]
    why = (data["proposal"] or {}).get("why")
    said = [failure.get("kind"), failure.get("summary"), data["outcome"], data["role"], why]
    words = " ".join([f"trial {data['number']}", *settings, *filter(None, said)])
    return Line(data, json.dumps(data).encode(), words.lower())


def _setting_test(wanted: str) -> Callable[[Line], bool]:
    name, equals, value = (part.strip() for part in wanted.partition("="))

    def holds(line: Line) -> bool:
        settings = {**line.data["settings"], **line.data["ran"]}
        return name in settings and (not equals or _same(settings[name], value))

    return holds


def _same(value: SettingValue, text: str) -> bool:
    if str(value).lower() == text.lower():
        return True
    try:
        return not isinstance(value, str) and float(value) == float(text)
    except ValueError:
        return False
