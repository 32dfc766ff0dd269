"""A study of any size for the dashboard's bench: written in bulk, as a thousand real tells take minutes."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import TrialState
from sqlalchemy import Connection, column, insert, select, table

from autotune.liveness import started_s
from db import optuna_tables, schema
from db.clock import utc_text
from db.engine import open_storage
from db.journal import Journal, StudyCard
from db.outcomes import trial_columns
from trials.outcome import (
    AnyOutcome,
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

_SPACE: dict[str, Any] = {
    "mem_fraction_static": {"low": 0.7, "high": 0.94, "step": 0.01},
    "cuda_graph_max_bs": [16, 32, 64, 128, 256, 512],
    "max_running_requests": [48, 64, 128],
    "layout": ["tp8", "tp8-ep8", "tp8-adp2"],
    "speculative_algorithm": ["off", "EAGLE3"],
    "speculative_num_steps": {"low": 1, "high": 6},
    "speculative_eagle_topk": [1, 2, 4, 8],
    "speculative_num_draft_tokens": {"low": 2, "high": 16},
    "all_reduce": ["nccl", "pcie_ipc", "flashinfer_fusion", "torch_symm_mem"],
}
_VALUES = table("trial_values", *map(column, ("trial_id", "objective", "value", "value_type")))
_LEVELS = (1, 8, 48)
_STAGE_S = (1, 4, 12, 180, 20, 60, 8, 1, 190, 20, 10)
_TRIAL_S = sum(_STAGE_S)
_SAMPLES = 30
_CRASHES = {
    FailureKind.KV_POOL_TOO_SMALL: Stage.KV_POOL,
    FailureKind.OOM_GRAPH_CAPTURE: Stage.GRAPH_CAPTURE,
    FailureKind.OOM_RUNTIME: Stage.MEASURE,
    FailureKind.UNSUPPORTED_KERNEL: Stage.GRAPH_CAPTURE,
}


def write_big_study(path: Path, trials: int, *, seed: int = 7) -> Journal:
    """Write a study whose newest trial still runs; this process passes for its runner.

    Returns:
        The pen, to write changes with.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    journal = Journal.open(path, create=True)
    storage = open_storage(path)
    optuna.create_study(storage=storage, study_name=path.parent.name, direction="maximize")
    storage.engine.dispose()
    journal.describe_study(_card(path.parent.name))
    run = journal.begin_run(pid=os.getpid(), boot_id="", process_started=started_s(os.getpid()))
    journal.plan_run(boots_planned=trials + 12, ends_by=None)
    rng = random.Random(seed)
    with journal.engine.begin() as connection:
        _write_trials(connection, run, trials, rng)
    journal.checkpoint()
    _write_log(path.parent / "trials" / "0000")
    return journal


def _card(name: str) -> StudyCard:
    return StudyCard(
        uuid="0b7c2f5e-0000-4000-8000-0000000000ff",
        name=name,
        simulated=True,
        spec_toml="",
        spec={
            "server": {"box": "kimi-k2.5-8x-rtx-pro-6000", "model_path": "moonshotai/Kimi-K2.5"},
            "bench": {"levels": list(_LEVELS), "main_level": 1},
            "limits": {},
            "space_table": _SPACE,
        },
        versions={"autotune": "0.1.0", "sglang": "0.5.23", "driver": "580.95"},
        gpus=[{"index": index, "name": "Imagined", "memory_mib": 97887} for index in range(8)],
    )


def _write_trials(connection: Connection, run: int, trials: int, rng: random.Random) -> None:
    study = connection.execute(select(optuna_tables.studies.c.study_id)).scalar_one()
    begun = datetime.now(UTC) - timedelta(seconds=_TRIAL_S * (trials - 1) + 60)
    theirs, values, ours, rest = [], [], [], _Rest()
    for number in range(trials):
        at = begun + timedelta(seconds=_TRIAL_S * number)
        outcome = None if number == trials - 1 else _outcome(number, rng)
        settings = _settings(number, rng)
        worked = isinstance(outcome, Completed)
        state = "RUNNING" if outcome is None else "COMPLETE" if worked else "PRUNED"
        theirs.append(
            {"trial_id": number + 1, "number": number, "study_id": study, "state": TrialState[state].name}
        )
        if isinstance(outcome, Completed):
            value = outcome.measurements[0].decode_tok_s
            values.append({"trial_id": number + 1, "objective": 0, "value": value, "value_type": "FINITE"})
        ours.append(_row(number, run, at, settings, outcome))
        rest.add(number, at, outcome)
    connection.execute(insert(optuna_tables.trials), theirs)
    connection.execute(insert(_VALUES), values)
    connection.execute(insert(schema.trials), ours)
    connection.execute(insert(schema.boots), rest.boots)
    connection.execute(insert(schema.stages), rest.stages)
    connection.execute(insert(schema.gpu_samples), rest.samples)
    connection.execute(insert(schema.events), rest.events)


class _Rest:
    """Rows of the tables beside the trials."""

    def __init__(self) -> None:
        self.boots: list[dict[str, Any]] = []
        self.stages: list[dict[str, Any]] = []
        self.samples: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []

    def add(self, number: int, at: datetime, outcome: AnyOutcome | None) -> None:
        argv = [
            "python",
            "-m",
            "sglang.launch_server",
            "--model-path",
            "moonshotai/Kimi-K2.5",
            "--port",
            "30711",
        ]
        self.boots.append(
            {"trial": number, "boot": 1, "pid": 99, "argv": argv, "env": {}, "started_at": utc_text(at)}
        )
        failure = getattr(outcome, "failure", None)
        last = failure.stage if failure else Stage.MEASURE if outcome is None else Stage.STOP
        seconds = 0.0
        for stage, took in zip(Stage, _STAGE_S, strict=True):
            if stage.order > last.order and stage is not Stage.STOP:
                continue
            moment = utc_text(at + timedelta(seconds=seconds))
            self.stages.append(
                {"trial": number, "boot": 1, "stage": str(stage), "at": moment, "seconds": seconds}
            )
            seconds += took
        cards = [[index, 88_000 + index, 400.0, 2400, 61, 0.97, []] for index in range(8)]
        self.samples += [
            {"trial": number, "at": utc_text(at + timedelta(seconds=10 * second)), "cards": cards}
            for second in range(_SAMPLES)
        ]
        warning = "the server reduced max_running_requests to 31"
        self.events.append({"at": utc_text(at), "level": "warning", "trial": number, "text": warning})


def _row(
    number: int, run: int, at: datetime, settings: Settings, outcome: AnyOutcome | None
) -> dict[str, Any]:
    names = [column.name for column in schema.trials.columns]
    ended = at + timedelta(seconds=_TRIAL_S)
    told = {**trial_columns(outcome, 1), "ended_at": utc_text(ended)} if outcome else {}
    row = {
        "number": number,
        "run": run,
        "role": "search" if number else "baseline",
        "folder": f"trials/{number:04}",
        "settings": settings,
        "proposal": {"why": f"From trial {number // 2}: one setting changed.", "parent": number // 2},
        "started_at": utc_text(at),
        **told,
    }
    return dict.fromkeys(names) | row


def _settings(number: int, rng: random.Random) -> Settings:
    speculates = number > 0 and rng.random() < 0.7
    settings: Settings = {
        "mem_fraction_static": round(0.7 + 0.01 * rng.randrange(25), 2),
        "cuda_graph_max_bs": rng.choice(_SPACE["cuda_graph_max_bs"]),
        "max_running_requests": rng.choice(_SPACE["max_running_requests"]),
        "layout": rng.choice(_SPACE["layout"]),
        "all_reduce": rng.choice(_SPACE["all_reduce"]),
        "speculative_algorithm": "EAGLE3" if speculates else "off",
    }
    if speculates:
        settings |= {
            "speculative_num_steps": rng.randint(1, 6),
            "speculative_eagle_topk": rng.choice((2, 4, 8)),
            "speculative_num_draft_tokens": rng.randint(2, 16),
        }
    return settings


def _outcome(number: int, rng: random.Random) -> AnyOutcome:
    if number and rng.random() < 0.25:
        kind, stage = rng.choice(list(_CRASHES.items()))
        return SettingsFailed(
            failure=Failure(
                kind=kind,
                stage=stage,
                summary="After the weights too little memory is left for what was asked for.",
                evidence=("line 1203: [TP0] Load weight end.", "line 1207: RuntimeError: Not enough memory."),
                remedies=(Remedy(setting="mem_fraction_static", direction="raise", bound=0.78),),
                at_fault="settings",
            )
        )
    tok_s = rng.uniform(60, 180)
    boot = BootReport(
        weights_gib=71.2, kv_gib=8.25, kv_tokens=312_000, graphs_gib=1.4, left_gib=5.1, boot_s=290.0
    )
    return Completed(boot=boot, measurements=tuple(_measured(level, tok_s) for level in _LEVELS))


def _measured(level: int, tok_s: float) -> Measurement:
    total = tok_s * level**0.8
    return Measurement(
        level=level,
        running=level,
        decode_tok_s=total,
        decode_tok_s_ci95=(total * 0.99, total * 1.01),
        per_stream_tok_s=total / level,
        ttft_ms=Percentiles(p50=20_000 / tok_s, p95=30_000 / tok_s, p99=35_000 / tok_s),
        itl_ms=Percentiles(p50=1000 / tok_s, p95=1300 / tok_s, p99=1500 / tok_s),
        requests=8 * level,
        output_tokens=4096 * level,
        seconds=48.0,
        stopped_by="precision",
    )


def _write_log(folder: Path) -> None:
    folder.mkdir(parents=True)
    with (folder / "server.log").open("w") as log:
        log.writelines(f"[2026-11-29 17:36:51 TP0] Decode batch {number}\n" for number in range(200_000))
