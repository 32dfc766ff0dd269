"""From a study to its pictures, by name: what page and report draw is decided here, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Connection

from autotune import figures
from autotune.crash_panels import boundary_panels
from autotune.figures import Figure, LevelResult, Point, SettingAxis, Stay
from autotune.study_view import StudyView
from autotune.trial_view import TrialView
from db import queries
from db.rows import GpuSampleRow, TrialRow
from trials.counted import counted
from trials.outcome import Measurement, Percentiles, Stage

_MIB_PER_GIB = 1024
_MOST_MOMENTS = 600
_BOOT_STAGES = [str(stage) for stage in Stage if Stage.START.order <= stage.order < Stage.READY.order]
LATENCIES = {
    "ttft p50": ("ttft_ms", "p50"),
    "ttft p95": ("ttft_ms", "p95"),
    "itl p50": ("itl_ms", "p50"),
    "itl p95": ("itl_ms", "p95"),
    "e2e p95": ("e2e_ms", "p95"),
}
"""Latencies that throughput can be held against: first token, between tokens, whole answer."""


_USUAL_LATENCY = "ttft p95"


class PictureError(LookupError):
    """There is no such picture of this study; one sentence."""


@dataclass(frozen=True)
class PictureRequest:
    """Which view of a picture is wanted; None: the picture's own choice.

    Attributes:
        across, up: Settings of the crash map's axes.
        setting: Of the slice.
        latency: One of ``LATENCIES``.
        narrow: For a screen that has no room for panels side by side.
    """

    level: int | None = None
    across: str | None = None
    up: str | None = None
    setting: str | None = None
    latency: str | None = None
    narrow: bool = False


_Drawer: TypeAlias = Callable[[StudyView, Connection, PictureRequest], Figure]


@dataclass(frozen=True)
class Choice:
    """What a reader may choose for one field of a request, and what stands there at first."""

    values: Sequence[str]
    usual: str | None


@dataclass(frozen=True)
class StudyPicture:
    """A picture that a study has.

    Attributes:
        choices: What a reader may choose, by field of ``PictureRequest``, for this study.
        wide: It needs the page's whole width.
    """

    title: str
    draw: _Drawer
    choices: Callable[[StudyView], Mapping[str, Choice]] = field(default=lambda study: {})
    needs_levels: int = 1
    wide: bool = False


def draw(name: str, study: StudyView, connection: Connection, request: PictureRequest) -> Figure:
    """A picture of a study.

    Raises:
        PictureError: If there is none of this name, or it lacks what the request asks for.
    """
    picture = STUDY_PICTURES.get(name)
    if picture is None:
        raise PictureError(f"there is no picture {name!r}; choose one of: {', '.join(STUDY_PICTURES)}")
    for key, offered in picture.choices(study).items():
        wanted = getattr(request, key)
        if wanted is not None and wanted not in offered.values:
            raise PictureError(f"{key} {wanted!r} is not one of: {', '.join(offered.values)}")
    if request.level is None:
        request = replace(request, level=study.bench.main_level)
    return picture.draw(study, connection, request)


def gpu_picture(samples: Sequence[GpuSampleRow], row: TrialRow, *, simulated: bool) -> Figure:
    """Memory and power of a trial's cards over its life."""
    samples = samples[:: -(-len(samples) // _MOST_MOMENTS) or 1]
    started = row.started_at or (samples[0].at if samples else "")
    cards: dict[int, tuple[list[float], list[float | None]]] = {}
    for sample in samples:
        for card in sample.cards:
            memory, power = cards.setdefault(card["index"], ([], []))
            memory.append(round(card["used_mib"] / _MIB_PER_GIB, 2))
            power.append(card["power_w"])
    moments = [round(_seconds(started, sample.at), 1) for sample in samples]
    curves = {index: figures.CardCurve(*curve) for index, curve in cards.items()}
    return figures.gpus(moments, curves, simulated=simulated)


def points(study: StudyView, level: int) -> list[Point]:
    """Every trial as pictures see it at a level."""
    pairs = zip(study.rows, study.trials, strict=True)
    return [_point(study, row, trial, level) for row, trial in pairs]


def setting_axes(study: StudyView, seen: Sequence[Point]) -> list[SettingAxis]:
    """Every setting of the space that more than one value ran of, in the space's order."""
    axes = []
    for name, parameter in study.space.parameters.items():
        ran = [point.settings[name] for point in seen if name in point.settings]
        offered = parameter.values or ()
        one = SettingAxis.of(name, offered if len(offered) <= _MOST_OFFERED else (), ran)
        if len(one.values) > 1:
            axes.append(one)
    return axes


_MOST_OFFERED = 64


def _point(study: StudyView, row: TrialRow, trial: TrialView, level: int) -> Point:
    measured = trial.at(level)
    return Point(
        number=row.number,
        role=row.role,
        outcome=row.outcome or "running",
        tok_s=measured.decode_tok_s if measured else None,
        ci95=measured.decode_tok_s_ci95 if measured else None,
        failure=row.failure_kind,
        text=_words(row, measured, level),
        settings=study.space.active({**trial.settings, **trial.ran}),
        latency_ms=_latencies(measured) if measured else {},
    )


def _words(row: TrialRow, measured: Measurement | None, level: int) -> str:
    role = "" if row.role == "search" else f" ({row.role})"
    return f"trial {row.number}{role}: {row.failure_summary or _reached(row, measured, level)}"


def _reached(row: TrialRow, measured: Measurement | None, level: int) -> str:
    if measured is None:
        return row.outcome or "running"
    low_high = measured.decode_tok_s_ci95
    interval = f"{low_high[0]:.1f} to {low_high[1]:.1f}" if low_high else "interval unknown"
    return f"{measured.decode_tok_s:.1f} tok/s ({interval}), {counted(level, 'stream')}"


def _latencies(measured: Measurement) -> dict[str, float | None]:
    found = {}
    for name, (kind, percentile) in LATENCIES.items():
        percentiles: Percentiles = getattr(measured, kind)
        found[name] = getattr(percentiles, percentile)
    return found


def _history(study: StudyView, _: Connection, request: PictureRequest) -> Figure:
    level = _level(request)
    return figures.history(points(study, level), level, simulated=study.card.simulated)


def _crash_map(study: StudyView, _: Connection, request: PictureRequest) -> Figure:
    seen = points(study, _level(request))
    axes = {one.name: one for one in setting_axes(study, seen)}
    if len(axes) < 2:
        return figures.nothing_yet("Crash map", "It needs two settings that were varied.")
    across, up = _map_axes(request, list(axes))
    panels = boundary_panels(study, seen, axes[across], axes[up])
    return figures.crash_map(axes[across], axes[up], panels, narrow=request.narrow)


def _map_axes(request: PictureRequest, names: Sequence[str]) -> tuple[str, str]:
    """What was asked for, else memory fraction against graph size, else the first two settings."""
    across = request.across or next(name for name in _usual_first(names) if name != request.up)
    up = request.up or next(name for name in _usual_first(names) if name != across)
    if across == up:
        raise PictureError("the crash map needs two different settings")
    return across, up


def _usual_first(names: Sequence[str]) -> list[str]:
    usual = [name for name in ("mem_fraction_static", "cuda_graph_max_bs") if name in names]
    return list(dict.fromkeys([*usual, *names]))


def _importance(study: StudyView, _: Connection, request: PictureRequest) -> Figure:
    seen = points(study, _level(request))
    if not any(point.worked or point.failure for point in seen):
        return figures.nothing_yet("What matters", "No trial has ended yet.")
    return figures.importance(seen, setting_axes(study, seen))


def _parallel(study: StudyView, _: Connection, request: PictureRequest) -> Figure:
    level = _level(request)
    seen = points(study, level)
    return figures.parallel(seen, setting_axes(study, seen), level, simulated=study.card.simulated)


def _slice(study: StudyView, _: Connection, request: PictureRequest) -> Figure:
    level = _level(request)
    seen = points(study, level)
    axes = setting_axes(study, seen)
    if not axes:
        return figures.nothing_yet("One setting at a time", "No setting was varied yet.")
    one = next((one for one in axes if one.name == request.setting), axes[0])
    return figures.setting_slice(seen, one, level, simulated=study.card.simulated)


def _tradeoff(study: StudyView, _: Connection, request: PictureRequest) -> Figure:
    level = _level(request)
    latency = request.latency or _USUAL_LATENCY
    return figures.tradeoff(points(study, level), latency, level, simulated=study.card.simulated)


def _levels(study: StudyView, _: Connection, request: PictureRequest) -> Figure:
    main = study.verdict().best
    results = [_level_result(study, level, main) for level in study.bench.levels]
    return figures.levels(results, study.bench.main_level, simulated=study.card.simulated)


def _level_result(study: StudyView, level: int, main: int | None) -> LevelResult:
    verdict = study.verdict(level)
    is_other = main is not None and main != verdict.best
    there = study.trials[study.places[main]].at(level) if main is not None and is_other else None
    base = verdict.baseline_throughput
    return LevelResult(
        level=level,
        best=verdict.best,
        tok_s=verdict.throughput.tok_s if verdict.throughput else None,
        ci95=verdict.throughput.ci95 if verdict.throughput else None,
        baseline_tok_s=base.tok_s if base else None,
        baseline_ci95=base.ci95 if base else None,
        main_winner_tok_s=there.decode_tok_s if there else None,
    )


def _timeline(study: StudyView, connection: Connection, _: PictureRequest) -> Figure:
    return figures.timeline(stays(study, connection), [str(stage) for stage in Stage])


def _boot_times(study: StudyView, connection: Connection, _: PictureRequest) -> Figure:
    seconds: dict[str, list[float]] = {stage: [] for stage in _BOOT_STAGES}
    last = {stay.trial: stay.stage for stay in stays(study, connection)}
    for stay in stays(study, connection):
        if stay.stage in seconds and last[stay.trial] != stay.stage:
            seconds[stay.stage].append(stay.seconds)
    return figures.boot_times(seconds)


def stays(study: StudyView, connection: Connection) -> list[Stay]:
    """How long each trial was at each of its stages, in order; an open stage has no end and is left out."""
    first = next((row.started_at for row in study.rows if row.started_at), None)
    found: list[Stay] = []
    for number, stages in queries.all_stages(connection).items():
        row = study.row(number)
        if row is None or row.started_at is None or first is None:
            continue
        begun = _seconds(first, row.started_at)
        ends = [stage.seconds for stage in stages[1:]]
        if row.ended_at:
            ends.append(_seconds(row.started_at, row.ended_at))
        for stage, end in zip(stages, ends, strict=False):
            spent = max(0.0, end - stage.seconds)
            found.append(Stay(number, stage.stage, _ending(row), begun + stage.seconds, spent))
    return found


def _ending(row: TrialRow) -> str:
    if row.failure_kind is not None:
        return "failed"
    return row.outcome if row.outcome in ("completed", "stopped") else "other"


def _level(request: PictureRequest) -> int:
    assert request.level is not None
    return request.level


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def _varied(study: StudyView) -> list[str]:
    level = study.bench.main_level
    return [one.name for one in setting_axes(study, points(study, level))]


def _map_choices(study: StudyView) -> dict[str, Choice]:
    names = _varied(study)
    across, up, *_ = [*_usual_first(names), None, None]
    return {"across": Choice(names, across), "up": Choice(names, up)}


def _slice_choices(study: StudyView) -> dict[str, Choice]:
    names = _varied(study)
    return {"setting": Choice(names, names[0] if names else None)}


def _latency_choices(_: StudyView) -> dict[str, Choice]:
    return {"latency": Choice(list(LATENCIES), _USUAL_LATENCY)}


STUDY_PICTURES: dict[str, StudyPicture] = {
    "history": StudyPicture("History", _history),
    "crash-map": StudyPicture("Crash map", _crash_map, _map_choices),
    "importance": StudyPicture("What matters", _importance),
    "slice": StudyPicture("One setting at a time", _slice, _slice_choices),
    "parallel": StudyPicture("All settings at once", _parallel, wide=True),
    "tradeoff": StudyPicture("Throughput against latency", _tradeoff, _latency_choices),
    "levels": StudyPicture("Winner per level", _levels, needs_levels=2),
    "boot-times": StudyPicture("Boot time by stage", _boot_times),
    "timeline": StudyPicture("Where the night went", _timeline),
}
"""Every picture of a study, in the order in which a page shows them."""


def pictures_of(study: StudyView) -> dict[str, StudyPicture]:
    """The pictures that say something about this study."""
    count = len(study.bench.levels)
    return {name: one for name, one in STUDY_PICTURES.items() if count >= one.needs_levels}


def choices_json(study: StudyView) -> dict[str, Any]:
    """Which pictures there are, and what can be chosen of each."""
    shown = pictures_of(study)
    narrow = [name for name, one in shown.items() if not one.wide]
    # Two beside each other: an odd one out has the row to itself.
    alone = narrow[-1] if len(narrow) % 2 else None
    return {
        name: {
            "title": one.title,
            "wide": one.wide or name == alone,
            "choices": {
                key: {"values": list(choice.values), "usual": choice.usual}
                for key, choice in one.choices(study).items()
            },
        }
        for name, one in shown.items()
    }
