"""Trials, or studies, side by side: rows of values with those marked that differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from autotune.dashboard.wording import (
    NOTHING,
    STATE_LABELS,
    about,
    duration,
    number,
    setting,
    throughput,
    times,
)
from autotune.standing import OUTCOME_LABELS
from autotune.verdict import streams

_Trial: TypeAlias = Mapping[str, Any]
_Reader: TypeAlias = Callable[[_Trial], str]


@dataclass(frozen=True)
class ComparedRow:
    """One property of all that is compared."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether two of them have it, and not the same."""
        return len(set(self.values) - {NOTHING}) > 1


@dataclass(frozen=True)
class ComparedTable:
    title: str
    rows: Sequence[ComparedRow]


def compared_trials(trials: Sequence[_Trial]) -> list[ComparedTable]:
    """Result, settings, each level's figures, memory and time of some trials."""
    if not trials:
        return []
    tables = [
        _table("Result", trials, _RESULT),
        ComparedTable("Settings", _settings(trials)),
        *(_level(level, trials) for level in _levels(trials)),
        _table("Memory per GPU", trials, _MEMORY),
        ComparedTable("Stages", _stages(trials)),
    ]
    return [table for table in tables if table.rows]


def compared_studies(studies: Sequence[Mapping[str, Any]]) -> list[ComparedRow]:
    """What stands in the list of studies, side by side."""
    rows = [ComparedRow(name, tuple(read(study) for study in studies)) for name, read in _STUDY.items()]
    settings = [study["best"]["settings"] for study in studies]
    names = dict.fromkeys(name for one in settings for name in one or {})
    return [*rows, *(ComparedRow(name, tuple(_of_best(one, name) for one in settings)) for name in names)]


def _of_best(settings: Mapping[str, Any] | None, name: str) -> str:
    return NOTHING if settings is None else setting(settings.get(name))


def _table(title: str, trials: Sequence[_Trial], readers: Mapping[str, _Reader]) -> ComparedTable:
    rows = [ComparedRow(name, tuple(read(trial) for trial in trials)) for name, read in readers.items()]
    return ComparedTable(title, [row for row in rows if set(row.values) != {NOTHING}])


def _settings(trials: Sequence[_Trial]) -> list[ComparedRow]:
    names = dict.fromkeys(name for trial in trials for name in [*trial["settings"], *trial["ran"]])
    return [ComparedRow(name, tuple(_setting(trial, name) for trial in trials)) for name in names]


def _setting(trial: _Trial, name: str) -> str:
    asked = setting(trial["settings"].get(name))
    return f"{setting(trial['ran'][name])} (asked {asked})" if name in trial["ran"] else asked


def _levels(trials: Sequence[_Trial]) -> list[int]:
    return sorted({measured["level"] for trial in trials for measured in trial["measurements"]})


def _level(level: int, trials: Sequence[_Trial]) -> ComparedTable:
    measured = [next((m for m in trial["measurements"] if m["level"] == level), None) for trial in trials]
    rows = [
        ComparedRow(name, tuple(NOTHING if one is None else read(one) for one in measured))
        for name, read in _MEASURED.items()
    ]
    return ComparedTable(
        f"Measured with {streams(level)}", [row for row in rows if set(row.values) != {NOTHING}]
    )


def _stages(trials: Sequence[_Trial]) -> list[ComparedRow]:
    took = [{stage["stage"]: stage["took_s"] for stage in trial["stages"]} for trial in trials]
    names = dict.fromkeys(name for one in took for name in one)
    return [
        ComparedRow(name.replace("_", " "), tuple(duration(one.get(name)) for one in took)) for name in names
    ]


def _percentiles(kind: str) -> _Reader:
    def read(measured: _Trial) -> str:
        values = measured[kind]
        if values["p50"] is None:
            return NOTHING
        return f"{number(values['p50'])} / {number(values['p95'])} ms"

    return read


def _failure(trial: _Trial) -> str:
    return f"{trial['failure']['kind']}: {trial['failure']['summary']}" if trial["failure"] else NOTHING


def _memory(name: str, unit: str) -> _Reader:
    def read(trial: _Trial) -> str:
        value = (trial["boot"] or {}).get(name)
        return NOTHING if value is None else f"{number(value)} {unit}"

    return read


_RESULT: dict[str, _Reader] = {
    "outcome": lambda trial: OUTCOME_LABELS[trial["outcome"] or "interrupted"],
    "failure": _failure,
    "took": lambda trial: duration(trial["seconds"]),
}
_MEASURED: dict[str, _Reader] = {
    "decode (95 % interval)": lambda m: throughput(m["decode_tok_s"], m["decode_tok_s_ci95"]),
    "a stream": lambda m: (
        NOTHING if m["per_stream_tok_s"] is None else f"{number(m['per_stream_tok_s'])} tok/s"
    ),
    "first token p50 / p95": _percentiles("ttft_ms"),
    "between tokens p50 / p95": _percentiles("itl_ms"),
    "whole answer p50 / p95": _percentiles("e2e_ms"),
    "accept length": lambda m: number(m["accept_length"]),
}
_MEMORY: dict[str, _Reader] = {
    "weights": _memory("weights_gib", "GiB"),
    "draft": _memory("draft_gib", "GiB"),
    "KV pool": _memory("kv_gib", "GiB"),
    "KV tokens": _memory("kv_tokens", "tokens"),
    "graphs": _memory("graphs_gib", "GiB"),
    "left": _memory("left_gib", "GiB"),
}
_STUDY: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "state": lambda study: STATE_LABELS[study["state"]],
    "measured": lambda study: "on the simulated box" if study["simulated"] else "on this machine",
    "main level": lambda study: streams(study["main_level"]),
    "best": lambda study: throughput(*_best(study)),
    "against the baseline": lambda study: times(study["best"]["speed_up"]),
    "confirmed by finals": lambda study: "yes" if study["best"]["confirmed"] else "no",
    "trials": lambda study: number(study["trials"]["total"]),
    "worked": lambda study: number(study["trials"]["completed"]),
    "failed": lambda study: number(
        study["trials"]["settings_failed"] + study["trials"]["environment_failed"]
    ),
    "boots saved": lambda study: number(study["plan"]["boots_saved"]),
    "time left": lambda study: (
        NOTHING if study["plan"]["seconds_left"] is None else about(study["plan"]["seconds_left"])
    ),
}


def _best(study: Mapping[str, Any]) -> tuple[float | None, Sequence[float] | None]:
    found = study["best"]["throughput"]
    return (found["tok_s"], found["ci95"]) if found else (None, None)
