"""From a study's rows to the data that ``autotune.figures`` draws."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.dashboard.snapshot import Snapshot
from autotune.dashboard.wording import number, throughput
from autotune.figures import Figure, HistoryPoint, gpu_memory, history, streams
from autotune.moments import seconds_between
from autotune.trial_view import TrialView
from db.rows import GpuSampleRow, TrialRow

_MIB_PER_GIB = 1024


def history_figure(snapshot: Snapshot, level: int) -> Figure:
    """The optimisation history at a level."""
    study = snapshot.study
    pairs = zip(study.rows, study.trials, strict=True)
    points = [_point(row, view, level) for row, view in pairs]
    return history(points, level, simulated=study.card.simulated)


def gpu_figure(samples: Sequence[GpuSampleRow], row: TrialRow, *, simulated: bool) -> Figure:
    """Memory of a trial's cards over its life."""
    started = row.started_at or (samples[0].at if samples else "")
    used: dict[int, list[float]] = {}
    for sample in samples:
        for card in sample.cards:
            used.setdefault(card["index"], []).append(round(card["used_mib"] / _MIB_PER_GIB, 2))
    moments = [round(seconds_between(started, sample.at), 1) for sample in samples]
    return gpu_memory(moments, dict(used), simulated=simulated)


def _point(row: TrialRow, view: TrialView, level: int) -> HistoryPoint:
    measured = view.at(level)
    tok_s = measured.decode_tok_s if measured else None
    ci95 = measured.decode_tok_s_ci95 if measured else None
    return HistoryPoint(
        number=row.number,
        role=row.role,
        outcome=row.outcome or "running",
        tok_s=tok_s,
        ci95=ci95,
        failure=row.failure_kind,
        text=_text(row, throughput(tok_s, ci95), level),
    )


def _text(row: TrialRow, reached: str, level: int) -> str:
    what = row.failure_summary or (f"{reached}, {streams(level)}" if row.outcome else "running")
    role = "" if row.role == "search" else f" ({row.role})"
    return f"trial {number(row.number)}{role}: {what}"
