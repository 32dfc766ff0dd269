"""For machines that watch: is the page alive, and the figures of every study for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from autotune.dashboard.routes.shared import TheLibrary
from autotune.dashboard.summaries import summary_or_trouble

router = APIRouter(tags=["health"])

_METRICS = {
    "autotune_study_readable": "1 if the study's file can be read.",
    "autotune_study_running": "1 while a runner lives.",
    "autotune_study_boots": "Server starts so far.",
    "autotune_study_boots_saved": "Server starts that the memory pre-flight made needless.",
    "autotune_study_trials": "Trials by outcome.",
    "autotune_study_best_tok_per_second": "Decode throughput of the best settings at the main level.",
    "autotune_study_speed_up_ratio": "Best over baseline.",
}


@router.get("/healthz")
def health() -> dict[str, str]:
    """Answers as long as the process serves, to anybody; says nothing about any night."""
    return {"status": "ok"}


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(library: TheLibrary) -> PlainTextResponse:
    """Prometheus' text format; every sample is labelled with the study and whether it is simulated."""
    samples: dict[str, list[str]] = {name: [] for name in _METRICS}
    for study in library.names():
        for name, labels, value in _samples(summary_or_trouble(library, study)):
            samples[name].append(f"{name}{{{_labels(labels)}}} {value}")
    lines = []
    for name, described in _METRICS.items():
        lines += [f"# HELP {name} {described}", f"# TYPE {name} gauge", *samples[name]]
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")


def _samples(summary: dict[str, Any]) -> Iterator[tuple[str, dict[str, str], float]]:
    labels = {"study": summary["name"]}
    yield "autotune_study_readable", labels, float("trouble" not in summary)
    if "trouble" in summary:
        return
    labels["simulated"] = str(summary["simulated"]).lower()
    yield "autotune_study_running", labels, float(summary["state"] == "running")
    yield "autotune_study_boots", labels, summary["plan"]["boots"]
    yield "autotune_study_boots_saved", labels, summary["plan"]["boots_saved"]
    for outcome, count in summary["trials"].items():
        if outcome != "total":
            yield "autotune_study_trials", {**labels, "outcome": outcome}, count
    best = summary["best"]
    if best["throughput"]:
        level = {**labels, "level": str(best["level"])}
        yield "autotune_study_best_tok_per_second", level, best["throughput"]["tok_s"]
        if best["speed_up"] is not None:
            yield "autotune_study_speed_up_ratio", level, best["speed_up"]


def _labels(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
