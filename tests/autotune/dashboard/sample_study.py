"""A night that a page can be looked at with: a baseline, a winner, crashes, a trial that runs now."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna

from autotune.liveness import started_s
from db.imports import ImportedBoot, replace_imports
from db.journal import StudyCard
from tests.db.nights import CARD, Night
from trials.gpus import GpuSample
from trials.outcome import (
    BootReport,
    Completed,
    Failure,
    FailureKind,
    Measurement,
    Percentiles,
    Remedy,
    SettingsFailed,
    Stage,
)
from trials.settings import Settings

HOSTILE = "<script>alert('from the log')</script>"
GRAPH_SIZES = (512, 256, 128, 64)
RULED_OUT = {
    "settings": {"mem_fraction_static": 0.71, "cuda_graph_max_bs": 512},
    "proof": "a fraction of 0.71 is not above 0.760, too low as trial 2 showed",
}
COMMAND = ["python", "-m", "sglang.launch_server", "--model-path", "some/model", "--port", "30711"]

SAMPLE = replace(
    CARD,
    name="sample",
    gpus=[{"index": index, "name": "RTX PRO 6000", "memory_mib": 97887} for index in range(8)],
    spec={
        "server": {"box": "kimi-k2.5-8x-rtx-pro-6000", "model_path": "moonshotai/Kimi-K2.5"},
        "bench": {"levels": [1, 8], "main_level": 1},
        "limits": {},
        "space_table": {
            "mem_fraction_static": {"low": 0.7, "high": 0.94, "step": 0.01},
            "cuda_graph_max_bs": list(GRAPH_SIZES),
            "speculative_algorithm": ["off", "EAGLE3"],
            "all_reduce": ["nccl", "pcie_ipc"],
        },
    },
)


def make_sample(folder: Path, *, card: StudyCard = SAMPLE, searched: int = 12) -> Night:
    """Play a night in ``folder`` whose last trial still runs; this process passes for the runner."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    night = Night(folder / "study.db", card, os.getpid(), started_s(os.getpid()))
    told = [ImportedBoot("last week/study.db", True, _settings(), 81.0), _elsewhere(79.0), _elsewhere(None)]
    for source in ("last week/study.db", "other-machine.log"):
        replace_imports(night.journal.engine, source, [boot for boot in told if boot.source == source])
    night.journal.plan_run(boots_planned=searched + 6, ends_by=None)
    _worked(night, 82.0, role="baseline")
    for place in range(searched):
        if place % 3 == 1:
            _crashed(night, place)
        else:
            _worked(night, 80.0 + place, changed={"speculative_algorithm": "EAGLE3"} if place > 5 else {})
    night.journal.notice(f"a new best: trial {searched}", trial=searched)
    _running(night)
    return night


def _elsewhere(value: float | None) -> ImportedBoot:
    return ImportedBoot("other-machine.log", False, _settings(), value)


def _settings(**changed: Any) -> Settings:
    plain: Settings = {"cuda_graph_max_bs": 512, "speculative_algorithm": "off", "all_reduce": "nccl"}
    return {**plain, **changed}


def _worked(night: Night, tok_s: float, role: Any = "search", changed: dict[str, Any] | None = None) -> None:
    graph = GRAPH_SIZES[int(tok_s) % 4] if role == "search" else 512
    settings = _settings(cuda_graph_max_bs=graph, **(changed or {}))
    trial = night.begin(0.88, role=role, other_settings=settings)
    outcome = Completed(
        boot=BootReport(
            weights_gib=71.2, kv_gib=8.25, kv_tokens=312_000, graphs_gib=1.4, left_gib=5.1, boot_s=412.0
        ),
        measurements=(_measured(1, tok_s), _measured(8, tok_s * 5.5)),
        ran={"all_reduce": "custom"} if tok_s == 83 else {},
    )
    with night.journal.recorder(trial.number) as recorder:
        recorder.stage(Stage.ARGUMENTS, 0.0)
        recorder.boot_started(1, COMMAND, {"NCCL_P2P_DISABLE": "0"}, 99)
        for seconds, stage in enumerate(list(Stage)[1:]):
            recorder.stage(stage, seconds)
        for measured in outcome.measurements:
            recorder.measured(measured)
        recorder.gpus([GpuSample(index, 88_000 + index * 300, power_w=410.0) for index in range(8)])
        recorder.warning("the server reduced max_running_requests to 31")
    night.finish(trial, outcome)


def _measured(level: int, tok_s: float) -> Measurement:
    return Measurement(
        level=level,
        running=level,
        decode_tok_s=tok_s,
        decode_tok_s_ci95=(tok_s * 0.99, tok_s * 1.01),
        per_stream_tok_s=tok_s / level,
        ttft_ms=Percentiles(p50=212.0, p95=340.0, p99=390.0),
        itl_ms=Percentiles(p50=11.8, p95=13.0, p99=15.2),
        accept_length=2.43,
        requests=8 * level,
        output_tokens=4096 * level,
        seconds=48.0,
        stopped_by="precision",
    )


def _crashed(night: Night, place: int) -> None:
    kinds = (FailureKind.KV_POOL_TOO_SMALL, FailureKind.UNSUPPORTED_KERNEL, FailureKind.OOM_GRAPH_CAPTURE)
    trial = night.begin(0.76, other_settings=_settings(all_reduce="pcie_ipc"))
    log = night.path.parent / "trials" / f"{trial.number:04}"
    log.mkdir(parents=True)
    with gzip.open(log / "server.log.gz", "wt", encoding="utf-8") as file:
        file.write(f"[TP0] Load weight begin.\n\x1b[31m{HOSTILE}\x1b[0m\nRuntimeError: Not enough memory\n")
    failure = Failure(
        kind=kinds[place // 3 % len(kinds)],
        stage=Stage.KV_POOL,
        summary=f"After the weights too little memory is left for the KV pool: {HOSTILE}",
        evidence=("1203: [TP0] Load weight end. avail mem=18.2 GB", f"1207: RuntimeError: {HOSTILE}"),
        remedies=(Remedy(setting="mem_fraction_static", direction="raise", bound=0.78),),
        at_fault="settings",
    )
    with night.journal.recorder(trial.number) as recorder:
        recorder.boot_started(1, COMMAND, {}, 99)
        for seconds, stage in enumerate(list(Stage)[1:5]):
            recorder.stage(stage, seconds)
    night.finish(trial, SettingsFailed(failure=failure))


def _running(night: Night) -> None:
    proposal = {
        "why": "The best so far with the graph size that made the baseline faster.",
        "parent": 0,
        "changes": {"cuda_graph_max_bs": [512, 128]},
        "p_boots": 0.8,
        "expected": [88.0, 95.0],
        "ruled_out": [RULED_OUT],
    }
    trial = night.begin(0.88, other_settings=_settings(cuda_graph_max_bs=128), proposal=proposal)
    log = night.path.parent / "trials" / f"{trial.number:04}"
    log.mkdir(parents=True)
    (log / "server.log").write_text("".join(f"line {number} of the log\n" for number in range(10_000)))
    with night.journal.recorder(trial.number) as recorder:
        recorder.boot_started(1, COMMAND, {}, 99)
        for seconds, stage in enumerate(list(Stage)[1:9]):
            recorder.stage(stage, seconds)
        recorder.progress(1, 91.3)
        for second in range(30):
            recorder.gpus([GpuSample(index, min(90_000, 6_000 * second + 90 * index)) for index in range(8)])
