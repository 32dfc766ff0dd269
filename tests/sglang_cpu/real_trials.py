"""Run one trial on the real SGLang as the night would, with somebody who strikes at it in the middle."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import psutil

from tests.sglang_cpu.environment import PLAIN_ATTENTION, SMALL, SMALL_FRACTION, SglangCpu, flags
from tests.trials.trial_runs import Record
from trials import run_trial
from trials.marks import marked_processes
from trials.outcome import AnyOutcome, EnvironmentFailed, SettingsFailed, Stage
from trials.process_table import OsProcess
from trials.settings import BenchPlan, ServerPlan, Settings, TrialPlan

PLAIN = flags(*SMALL, *PLAIN_ATTENTION, "--mem-fraction-static", str(SMALL_FRACTION))
QUICK = BenchPlan(output_tokens=96, max_seconds_per_level=4)

LAUNCHER = "sglang.launch_server"
SCHEDULER = "sglang::scheduler"
DETOKENIZER = "sglang::detokenizer"
CHILD = "multiprocessing.spawn"
"""A word in the command line of each of SGLang's processes; its children rename themselves once they run."""

_VICTIM_COMES_S = 120.0


@dataclass(frozen=True)
class Strike:
    """Somebody signals a process of the server.

    Attributes:
        at: When this stage begins; at MEASURE, when the first throughput is known.
        who: Whom it strikes; of several, the one that was started first.
        once: A process that must be there before.
    """

    at: Stage
    who: str
    number: signal.Signals
    once: str = LAUNCHER


class StruckRecord(Record):
    """A recorder through which the strike is made, and which keeps the time."""

    def __init__(self, mark: str, strike: Strike | None) -> None:
        super().__init__()
        self.begun: dict[Stage, float] = {}
        self._mark = mark
        self._strike = strike

    def stage(self, stage: Stage, seconds: float) -> None:
        super().stage(stage, seconds)
        self.begun[stage] = time.monotonic()
        if stage is not Stage.MEASURE:
            self._strike_at(stage)

    def progress(self, level: int, tok_s: float) -> None:
        self._strike_at(Stage.MEASURE)

    def _strike_at(self, stage: Stage) -> None:
        strike = self._strike
        if strike is None or strike.at is not stage:
            return
        self._strike = None
        self._first(strike.once)
        self._first(strike.who).send(strike.number)

    def _first(self, word: str) -> OsProcess:
        deadline = time.monotonic() + _VICTIM_COMES_S
        while time.monotonic() < deadline:
            found = [process for process in marked_processes(self._mark) if word in _command(process)]
            if found:
                return min(found, key=lambda process: process.pid)
            time.sleep(0.05)
        raise AssertionError(f"no process {word} within {_VICTIM_COMES_S:.0f} s")


@dataclass(frozen=True)
class RealTrial:
    """What came of it. Times in s; ``boot_s`` also counts a boot that ended early."""

    outcome: AnyOutcome
    record: StruckRecord
    log: str
    boot_s: float
    stop_s: float

    @property
    def verdict(self) -> str:
        """``completed``, or kind, stage and fault."""
        if isinstance(self.outcome, SettingsFailed | EnvironmentFailed):
            failure = self.outcome.failure
            return f"{failure.kind} {failure.stage} {failure.at_fault}"
        return type(self.outcome).__name__.lower()


def real_plan(
    sglang: SglangCpu,
    folder: Path,
    *,
    model: str = "tiny-llama",
    draft: str | None = None,
    args: Sequence[str] = PLAIN,
    env: Mapping[str, str] | None = None,
    bench: BenchPlan = QUICK,
    stage_timeouts_s: Mapping[str, float] | None = None,
) -> TrialPlan:
    """A plan around the real server; the catalogue of its flags is kept beside the build."""
    server = ServerPlan(
        command=sglang.command,
        model_path=sglang.model(model),
        draft_model_path=None if draft is None else sglang.model(draft),
        args=tuple(args),
        env={**sglang.env, **(env or {})},
        boot_timeout_s=400,
    )
    return TrialPlan(
        server=server,
        bench=bench,
        folder=folder / "trial",
        workspace=folder,
        cache=sglang.models.parent / "flags",
        mark=f"real-{folder.name}-{time.monotonic_ns()}:0",
        stage_timeouts_s=stage_timeouts_s or {},
    )


def run_for_real(settings: Settings, plan: TrialPlan, strike: Strike | None = None) -> RealTrial:
    """Run, and hold the trial to what every trial must leave behind: nothing."""
    record = StruckRecord(plan.mark, strike)
    outcome = run_trial(settings, plan, record, Event())
    ended = time.monotonic()
    assert outcome.stop_proven, outcome.left_behind
    assert marked_processes(plan.mark) == []
    begun = record.begun
    stopped = begun.get(Stage.STOP, ended)
    booted = begun.get(Stage.READY, stopped)
    log = plan.folder / "server.log"
    return RealTrial(
        outcome,
        record,
        log.read_text(errors="replace") if log.exists() else "",
        boot_s=booted - begun.get(Stage.START, booted),
        stop_s=ended - stopped,
    )


def _command(process: OsProcess) -> str:
    try:
        return " ".join(psutil.Process(process.pid).cmdline())
    except psutil.Error:
        return ""
