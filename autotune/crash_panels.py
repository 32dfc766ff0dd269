"""The panels of a study's crash map: split by speculation, with the boundary that the search has learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autotune.figures import Panel, Point, SettingAxis
from autotune.search.boot_chances import PastBoot, boot_chances
from autotune.study_view import StudyView
from trials.settings import SPECULATION_OFF, Settings, SettingValue

_SPLIT = "speculative_algorithm"
_NEWEST = 200
"""Boots that the boundary is learned from: the model's cost grows with their number."""


def boundary_panels(
    study: StudyView, seen: Sequence[Point], across: SettingAxis, up: SettingAxis
) -> list[Panel]:
    """One panel without speculation and one with it, or one for all where it is an axis or no choice."""
    if _SPLIT in (across.name, up.name):
        return [_panel(study, "", seen, across, up, None)]
    groups: dict[str, list[Point]] = {"without speculation": [], "with speculation": []}
    for point in seen:
        off = point.settings.get(_SPLIT, SPECULATION_OFF) == SPECULATION_OFF
        groups["without speculation" if off else "with speculation"].append(point)
    if not all(groups.values()):
        return [_panel(study, "", seen, across, up, None)]
    return [
        _panel(study, title, points, across, up, title == "with speculation")
        for title, points in groups.items()
    ]


def _panel(
    study: StudyView,
    title: str,
    points: Sequence[Point],
    across: SettingAxis,
    up: SettingAxis,
    speculative: bool | None,
) -> Panel:
    there = [point for point in points if across.name in point.settings and up.name in point.settings]
    centre = _centre(study, there)
    return Panel(title, there, _chances(study, centre, across, up) if centre is not None else None)


def _centre(study: StudyView, points: Sequence[Point]) -> Mapping[str, SettingValue] | None:
    """The settings that the boundary is drawn around: those of the panel's fastest trial."""
    whole = [point for point in points if not study.space.missing(point.settings)]
    worked = [point for point in whole if point.worked]
    if worked:
        return max(worked, key=lambda point: point.tok_s or 0.0).settings
    return whole[-1].settings if whole else None


def _chances(
    study: StudyView, centre: Mapping[str, SettingValue], across: SettingAxis, up: SettingAxis
) -> list[list[float]]:
    wanted: list[Settings] = [
        {**centre, up.name: high, across.name: wide} for high in up.values for wide in across.values
    ]
    chances = boot_chances(study.space, _past(study), wanted)
    width = len(across.values)
    return [chances[start : start + width] for start in range(0, len(chances), width)]


def _past(study: StudyView) -> list[PastBoot]:
    past = [
        PastBoot(
            settings={**trial.settings, **trial.ran},
            failure=trial.failure.model_dump(mode="json") if trial.failure else None,
            boot=trial.boot.model_dump(mode="json") if trial.boot else {},
        )
        for trial in study.trials
        if not trial.suspect and (trial.worked or (trial.failure and not trial.environment_failed))
    ]
    return past[-_NEWEST:]
