"""One asked trial: its plan, its note of the machine, its logs, and what is kept of its outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.night.asking import Asked
from autotune.night.machine_before import MachineBefore
from autotune.night.plans import Plans
from autotune.night.running import Runner, RunTrial
from autotune.night.stop_requests import StopRequests
from db import queries
from db.journal import Journal, NewTrial, StudyCard
from tests.autotune.night.nights import Notes, completed, write_study
from tests.autotune.night.views import worked
from trials.outcome import AnyOutcome, Stage
from trials.recorder import Recorder, StopSignal
from trials.settings import ReferenceAnswer, Settings, TrialPlan

_ANSWER = ReferenceAnswer(prompt="a", token_ids=(1,), logprobs=(-0.1,), text="b")
_CARD = StudyCard(
    uuid="u",
    name="small",
    simulated=True,
    spec_toml="",
    spec={},
    versions={"sglang": "0.5.20"},
    gpus=[],
)


class Lives:
    """``run_trial`` that writes a log, goes through stages and keeps its plan."""

    def __init__(self, outcome: AnyOutcome) -> None:
        self._outcome = outcome
        self.plans: list[TrialPlan] = []

    def __call__(
        self,
        settings: Settings,
        plan: TrialPlan,
        recorder: Recorder,
        stop: StopSignal,
        hurry: StopSignal | None = None,
    ) -> AnyOutcome:
        self.plans.append(plan)
        (plan.folder / "server.log").write_text("words\n")
        for second, stage in enumerate((Stage.START, Stage.LOAD_WEIGHTS, Stage.KV_POOL)):
            recorder.stage(stage, float(second * 100))
        return self._outcome


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "study.db", create=True) as opened:
        opened.describe_study(_CARD)
        opened.begin_run(pid=1, boot_id="", process_started=0.0)
        yield opened


def _runner(folder: Path, journal: Journal, run_trial: RunTrial) -> Runner:
    spec = write_study(folder)
    return Runner(spec.bench, False, Plans(spec, folder, "u"), journal, Notes(), StopRequests(), run_trial)


def _asked(journal: Journal, number: int) -> Asked:
    journal.begin_trial(NewTrial(number, "search", {"a": number}, f"trials/{number:04d}"))
    return Asked(number, number, "search", {"a": number}, key=number)


def test_the_trials_folder_holds_the_machine_and_a_compressed_log(tmp_path: Path, journal: Journal) -> None:
    runner = _runner(tmp_path, journal, Lives(completed(80.0)))
    runner.run(_asked(journal, 0), [])
    folder = tmp_path / "trials" / "0000"
    assert sorted(path.name for path in folder.iterdir()) == ["machine.json", "server.log.gz"]
    assert MachineBefore.read(folder) is not None


def test_the_outcome_gets_its_duration(tmp_path: Path, journal: Journal) -> None:
    outcome = _runner(tmp_path, journal, Lives(completed(80.0))).run(_asked(journal, 0), [])
    assert outcome.seconds is not None
    assert 0 <= outcome.seconds < 60
    assert outcome.model_copy(update={"seconds": None}) == completed(80.0)


def test_what_the_server_calls_itself_is_kept(tmp_path: Path, journal: Journal) -> None:
    outcome = completed(80.0).model_copy(update={"server_version": "0.5.23"})
    _runner(tmp_path, journal, Lives(outcome)).run(_asked(journal, 0), [])
    with journal.engine.connect() as connection:
        card = queries.study(connection)
    assert card is not None
    assert card.versions["sglang"] == "0.5.23"


def test_the_first_reference_is_kept_and_later_ones_are_not(tmp_path: Path, journal: Journal) -> None:
    lives = Lives(completed(80.0).model_copy(update={"reference": (_ANSWER,)}))
    runner = _runner(tmp_path, journal, lives)
    runner.run(_asked(journal, 0), [])
    other = _ANSWER.model_copy(update={"text": "other"})
    replace(runner, run_trial=Lives(completed(80.0).model_copy(update={"reference": (other,)}))).run(
        _asked(journal, 1), []
    )
    runner.run(_asked(journal, 2), [])
    assert lives.plans[0].reference == ()
    assert lives.plans[1].reference == (_ANSWER,)


def test_the_plan_learns_from_what_worked(tmp_path: Path, journal: Journal) -> None:
    lives = Lives(completed(80.0))
    runner = _runner(tmp_path, journal, lives)
    for number in (0, 1):
        runner.run(_asked(journal, number), [])
    runner.run(_asked(journal, 2), [worked(0, 80.0), worked(1, 100.0)])
    plan = lives.plans[-1]
    assert plan.hopeless_below == pytest.approx(60.0)
    assert plan.soak_above == pytest.approx(95.0)
    assert plan.stage_timeouts_s == {"start": 500.0, "load_weights": 500.0}
