"""Numbers of a report in words, with their units; text and HTML say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autotune.report.content import Report
from autotune.standing import OUTCOME_LABELS
from autotune.verdict import tok_s_unit
from trials.outcome import Measurement, Percentiles

UNKNOWN = "–"


def counts(report: Report) -> str:
    """How the trials ended."""
    found = report.standing.counts
    parts = [f"{found[word]} {label}" for word, label in OUTCOME_LABELS.items() if found[word]]
    return f"{found['total']} trials, {report.standing.boots} boots: {', '.join(parts)}"


def measured(measurement: Measurement, *, simulated: bool) -> Mapping[str, str]:
    """One level of the winner, by column."""
    unit = tok_s_unit(simulated)
    interval = measurement.decode_tok_s_ci95
    sure = f" ({interval[0]:.1f} to {interval[1]:.1f})" if interval else ""
    return {
        "streams": f"{measurement.running} of {measurement.level}"
        if measurement.capped
        else str(measurement.level),
        f"{unit} (95 %)": f"{measurement.decode_tok_s:.1f}{sure}",
        f"{unit} a stream": _number(measurement.per_stream_tok_s),
        "TTFT p50 / p95, ms": _percentiles(measurement.ttft_ms),
        "ITL p50 / p95, ms": _percentiles(measurement.itl_ms),
        "accept length": _number(measurement.accept_length),
    }


def value(setting: Any) -> str:
    return "not set" if setting is None else f"{setting:g}" if isinstance(setting, float) else str(setting)


def cell(found: Any) -> str:
    """A number of a picture's table, with five digits at most."""
    if found is None:
        return UNKNOWN
    return f"{found:.5g}" if isinstance(found, float) else str(found)


def _percentiles(found: Percentiles) -> str:
    return f"{_number(found.p50)} / {_number(found.p95)}"


def _number(found: float | None) -> str:
    return UNKNOWN if found is None else f"{found:.1f}"
