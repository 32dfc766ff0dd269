"""What a setting is worth: measured where boots say it, believed where the model must do."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

from autotune.explain import Explanation, Worth, explain, most_doubtful
from autotune.export.from_study import NothingToExportError
from autotune.left_out import LeftOut, keep_left_out, read_left_out
from autotune.search import SearchSpace
from autotune.study_view import StudyView
from autotune.trial_view import TrialView
from db.rows import StudyRow
from trials.outcome import Completed, Failure, FailureKind, Measurement, SettingsFailed, Stage
from trials.settings import Settings

SPACE = {
    "cuda_graph_max_bs": [128, 512],
    "max_running_requests": [48, 64, 128],
    "speculative_algorithm": ["off", "EAGLE3"],
    "speculative_num_steps": {"low": 1, "high": 6},
    "speculative_eagle_topk": [1, 2],
    "speculative_num_draft_tokens": {"low": 2, "high": 8},
}
BASE: Settings = {"cuda_graph_max_bs": 512, "max_running_requests": 48, "speculative_algorithm": "off"}
BEST: Settings = {
    "cuda_graph_max_bs": 128,
    "max_running_requests": 128,
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
}
SPEC: dict[str, Any] = {
    "space_table": SPACE,
    "server": {"model_path": "m", "draft_model_path": "d", "command": ["sglang", "serve"]},
    "bench": {"levels": [1], "main_level": 1},
    "limits": {},
}
KEY = SearchSpace.from_dict(SPACE).canonical


def measured(tok_s: float) -> Measurement:
    return Measurement(
        level=1,
        running=1,
        decode_tok_s=tok_s,
        requests=3,
        output_tokens=384,
        seconds=3.0,
        stopped_by="time",
    )


def trial(number: int, settings: Settings, tok_s: float | None, role: str = "search") -> TrialView:
    failure = Failure(
        kind=FailureKind.OOM_GRAPH_CAPTURE, stage=Stage.READY, summary="no", at_fault="settings"
    )
    return TrialView(
        number=number,
        state=TrialState.COMPLETE if tok_s else TrialState.PRUNED,
        settings=settings,
        key=KEY(settings),
        asked=KEY(settings),
        role=role,
        value=tok_s,
        measurements=(measured(tok_s),) if tok_s else (),
        failure=None if tok_s else failure,
    )


def study(*trials: TrialView) -> StudyView:
    card = StudyRow("uuid", "night", False, "", SPEC, {}, [], "2026-11-29T21:00:00.000Z")
    return StudyView(card, [], [*trials], None)


def two_trials() -> StudyView:
    return study(trial(0, BASE, 80.0, "baseline"), trial(1, BEST, 160.0))


def named(explanation: Explanation) -> dict[str, Worth]:
    return {worth.setting: worth for worth in explanation.worths}


def test_each_changed_setting_is_taken_back_alone() -> None:
    worths = named(explain(two_trials(), None, []))
    assert set(worths) == {"cuda_graph_max_bs", "max_running_requests", "speculative_algorithm"}
    assert worths["cuda_graph_max_bs"].without == {**BEST, "cuda_graph_max_bs": 512}
    assert worths["speculative_algorithm"].without == {
        "cuda_graph_max_bs": 128,
        "max_running_requests": 128,
        "speculative_algorithm": "off",
    }


def test_two_boots_are_too_few_to_believe_anything() -> None:
    worth = named(explain(two_trials(), None, []))["cuda_graph_max_bs"]
    assert (worth.believed, worth.measured) == (None, None)
    assert worth.sentence == "cuda_graph_max_bs: 512 -> 128: not known; boot it with --boots"


def test_a_trial_that_was_without_it_is_the_better_witness() -> None:
    neighbour = trial(2, {**BEST, "cuda_graph_max_bs": 512}, 128.0)
    worth = named(explain(study(*two_trials().trials, neighbour), None, []))["cuda_graph_max_bs"]
    assert worth.measured is not None
    assert worth.measured.ratio == pytest.approx(1.25)
    assert worth.source == "trial 2"
    assert worth.is_settled


def test_what_does_not_run_without_a_setting_comes_first() -> None:
    neighbour = trial(2, {**BEST, "max_running_requests": 48}, None)
    found = explain(study(*two_trials().trials, neighbour), None, [])
    assert found.worths[0].setting == "max_running_requests"
    assert "without it the server does not run (trial 2, oom_graph_capture: no)" in found.worths[0].sentence


def test_the_model_is_asked_where_no_boot_says_it() -> None:
    effects = {("cuda_graph_max_bs", 128): 1.3, ("speculative_algorithm", "EAGLE3"): 1.6}
    grid = itertools.product([128, 512], [48, 64, 128], ["off", "EAGLE3"])
    trials = []
    for number, (graphs, requests, algorithm) in enumerate(grid):
        settings: Settings = {**BEST, "cuda_graph_max_bs": graphs, "max_running_requests": requests}
        if algorithm == "off":
            settings = {**BASE, "cuda_graph_max_bs": graphs, "max_running_requests": requests}
        if (graphs, requests, algorithm) == (512, 48, "EAGLE3"):  # the winner's neighbour stays unknown
            continue
        tok_s = 80.0 * math.prod(worth for (key, value), worth in effects.items() if settings[key] == value)
        trials.append(trial(number, settings, tok_s, "baseline" if settings == BASE else "search"))
    found = explain(study(*trials), None, [])
    worth = named(found)["cuda_graph_max_bs"]
    assert worth.measured is None
    assert worth.believed is not None
    assert worth.believed.ratio == pytest.approx(1.3, abs=0.1)
    assert worth.believed.ci95[0] > 1
    assert "believed" in worth.sentence


def test_boots_go_to_what_is_most_doubtful() -> None:
    found = explain(two_trials(), None, [])
    assert [worth.doubt for worth in found.worths] == [0.5, 0.5, 0.5]
    chosen = most_doubtful(found, 2)
    assert len(chosen) == 2
    boot = LeftOut(chosen[0].without, {1: 150.0}, "")
    again = explain(two_trials(), None, [boot])
    assert chosen[0].setting not in [worth.setting for worth in most_doubtful(again, 5)]
    assert named(again)[chosen[0].setting].source == "booted to explain"


def test_boots_are_kept_and_read_back(tmp_path: Path) -> None:
    assert read_left_out(tmp_path) == []
    failure = Failure(kind=FailureKind.HANG, stage=Stage.READY, summary="stuck", at_fault="settings")
    boots = [
        LeftOut.of(BASE, Completed(measurements=(measured(80.0),))),
        LeftOut.of(BEST, SettingsFailed(failure=failure)),
    ]
    keep_left_out(tmp_path, boots)
    assert read_left_out(tmp_path) == boots
    assert boots[0].tok_s == {1: 80.0}
    assert boots[1].failure == "hang: stuck"


@pytest.mark.parametrize(
    ("trials", "sentence"),
    [
        ([], "Nothing has worked yet"),
        ([trial(0, BASE, 80.0, "baseline")], "your own settings have won"),
        ([trial(0, BEST, 80.0)], "have not been tried"),
    ],
)
def test_nothing_to_explain(trials: list[TrialView], sentence: str) -> None:
    with pytest.raises(NothingToExportError, match=sentence):
        explain(study(*trials), None, [])
