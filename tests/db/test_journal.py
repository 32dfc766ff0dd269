from __future__ import annotations

import optuna

from db import inbox, queries
from db.engine import open_reader
from tests.db.nights import CARD, Night, completed, settings_failed


def test_a_finished_trial_is_told_and_whole(night: Night) -> None:
    number = night.play(completed(82.0))
    with open_reader(night.path) as reader, reader.connect() as connection:
        row = queries.trial(connection, number)
    assert row is not None
    assert (row.state, row.outcome, row.value) == ("COMPLETE", "completed", 82.0)
    assert (row.tok_s_low, row.tok_s_high) == (81.0, 83.0)
    assert row.settings == {"mem_fraction_static": 0.88}
    assert row.result is not None
    assert row.result["boot"]["kv_tokens"] == 300_000


def test_a_crash_keeps_its_reason_beside_optunas_state(night: Night) -> None:
    night.play(settings_failed())
    with open_reader(night.path) as reader, reader.connect() as connection:
        (row,) = queries.trials(connection)
    assert (row.state, row.outcome, row.value) == ("PRUNED", "settings_failed", None)
    assert (row.failure_kind, row.failure_stage) == ("oom_graph_capture", "graph_capture")
    assert row.result is None


def test_between_our_write_and_the_tell_the_outcome_can_be_told_after_all(night: Night) -> None:
    trial = night.begin()
    outcome = completed(89.5)
    night.journal.finish_trial(trial.number, outcome, main_level=1)
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert queries.untold_outcomes(connection) == {trial.number: outcome}
    night.study.tell(trial, 89.5)
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert queries.untold_outcomes(connection) == {}


def test_trials_that_only_optuna_knows_are_listed_but_not_those_that_wait(night: Night) -> None:
    asked = night.study.ask()
    night.study.enqueue_trial({"mem_fraction_static": 0.9})
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert [(row.number, row.state) for row in queries.trials(connection)] == [(asked.number, "RUNNING")]


def test_describing_a_study_again_keeps_its_identity(night: Night) -> None:
    night.journal.describe_study(CARD.__class__(**{**vars(CARD), "uuid": "another", "simulated": False}))
    with open_reader(night.path) as reader, reader.connect() as connection:
        card = queries.study(connection)
    assert card is not None
    assert (card.uuid, card.simulated) == (CARD.uuid, False)


def test_a_new_runner_closes_the_run_of_a_dead_one(night: Night) -> None:
    night.journal.begin_run(pid=4712, boot_id="b", process_started=2.0)
    night.journal.plan_run(boots_planned=25, ends_by=None)
    night.journal.end_run("all 25 trials are done")
    with open_reader(night.path) as reader, reader.connect() as connection:
        first, second = queries.runs(connection)
    assert first.ended_at is not None
    assert first.how == "died without a word"
    assert (second.pid, second.boots_planned, second.how) == (4712, 25, "all 25 trials are done")


def test_suspects_are_read_from_the_study_attribute(night: Night) -> None:
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert queries.suspects(connection) == []
        night.study.set_user_attr("suspects", [3, 5])
        assert queries.suspects(connection) == [3, 5]


def test_the_newest_verdict_counts(night: Night) -> None:
    night.journal.verdict({"winner": 1})
    night.journal.verdict({"winner": 2})
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert queries.verdict(connection) == {"winner": 2}


def test_requests_wait_for_a_runner_and_are_answered_once(night: Night) -> None:
    inbox.try_settings(night.path, {"mem_fraction_static": 0.9})
    inbox.stop_after_trial(night.path)
    first, second = inbox.waiting(night.journal.engine)
    assert (first.kind, first.payload) == ("try_settings", {"settings": {"mem_fraction_static": 0.9}})
    inbox.answer(night.journal.engine, first, "queued as trial 7")
    assert [request.id for request in inbox.waiting(night.journal.engine)] == [second.id]
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert queries.requests(connection)[0].answer == "queued as trial 7"


def test_pins_and_notes_take_effect_at_once(night: Night) -> None:
    number = night.play(completed(82.0))
    inbox.pin_baseline(night.path, number)
    inbox.add_note(night.path, "fans were loud", number)
    with open_reader(night.path) as reader, reader.connect() as connection:
        assert queries.pinned_baseline(connection) == number
        assert [(note.trial, note.text) for note in queries.notes(connection)] == [(number, "fans were loud")]
    assert inbox.waiting(night.journal.engine) == []


def test_optuna_alone_can_still_read_the_study(night: Night) -> None:
    night.play(completed(82.0))
    night.play(settings_failed())
    loaded = optuna.load_study(study_name=CARD.name, storage=f"sqlite:///{night.path}")
    assert loaded.best_value == 82.0
    assert [trial.state.name for trial in loaded.trials] == ["COMPLETE", "PRUNED"]
