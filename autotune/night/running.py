"""Runs one asked trial: makes its plan, lets the worker live it, and passes its reports on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from autotune.night.archive import compress_logs
from autotune.night.asking import Asked
from autotune.night.contenders import hopeless_below, soak_above
from autotune.night.machine_before import MachineBefore
from autotune.night.patience import stage_timeouts
from autotune.night.plans import Plans
from autotune.night.reporter import Reporter
from autotune.night.stop_requests import StopRequests
from autotune.night.witness import Witness
from autotune.trial_view import TrialView
from db import queries
from db.journal import Journal
from trials.outcome import AnyOutcome, Completed, Stage
from trials.recorder import Recorder, StopSignal
from trials.settings import BenchPlan, Settings, TrialPlan


class RunTrial(Protocol):
    """``trials.run_trial``, or a stand-in."""

    def __call__(
        self,
        settings: Settings,
        plan: TrialPlan,
        recorder: Recorder,
        stop: StopSignal,
        hurry: StopSignal | None = None,
    ) -> AnyOutcome: ...


@dataclass(frozen=True)
class Runner:
    """Everything that running a trial needs beside the trial itself."""

    bench: BenchPlan
    simulated: bool
    plans: Plans
    journal: Journal
    reporter: Reporter
    requests: StopRequests
    run_trial: RunTrial

    def run(self, asked: Asked, history: Sequence[TrialView]) -> AnyOutcome:
        plan = self.plans.plan(
            asked.number,
            hopeless_below=hopeless_below(history, self.bench, asked.role),
            soak_above=soak_above(history),
            stage_timeouts_s=self._timeouts(history),
        )
        MachineBefore.now().write(plan.folder)
        begun = time.monotonic()
        with self.journal.recorder(asked.number) as recorder:
            witness = Witness(recorder, self.reporter)
            outcome = self.run_trial(asked.settings, plan, witness, self.requests.now, self.requests.hurry)
        outcome = outcome.model_copy(update={"seconds": time.monotonic() - begun})
        compress_logs(plan.folder)
        if outcome.server_version:
            self.journal.server_version(outcome.server_version)
        if isinstance(outcome, Completed) and outcome.reference and not self.plans.has_reference:
            self.plans.keep_reference(outcome.reference)
        return outcome

    def _timeouts(self, history: Sequence[TrialView]) -> dict[str, float]:
        worked = [trial.number for trial in history if trial.worked]
        with self.journal.engine.connect() as connection:
            boots = [
                [(Stage(row.stage), row.seconds) for row in queries.stages(connection, number)]
                for number in worked
            ]
        return stage_timeouts(boots, simulated=self.simulated)
