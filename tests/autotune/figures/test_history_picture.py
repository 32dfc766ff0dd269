from __future__ import annotations

from autotune.figures import FAILURE_MARKS, history
from tests.autotune.figures.pictured import point, trace
from trials.counted import counted
from trials.outcome import FailureKind


def test_the_best_so_far_never_falls_and_lasts_until_the_newest_trial() -> None:
    figure = history(
        [point(0, 82.0), point(1, 80.0), point(2, 90.0), point(3, failure="hang")], 1, simulated=False
    )
    best = trace(figure, "best so far")
    assert list(zip(best["x"], best["y"], strict=True)) == [(0, 82.0), (1, 82.0), (2, 90.0), (3, 90.0)]


def test_crashes_have_a_lane_and_a_mark_for_each_kind() -> None:
    points = [point(0, failure="hang"), point(1, failure="oom_runtime"), point(2, failure="hang")]
    figure = history(points, 1, simulated=False)
    assert trace(figure, "hang")["x"] == [0, 2]
    assert {one["yaxis"] for one in figure["data"]} == {"y2"}
    hang, memory = trace(figure, "hang"), trace(figure, "oom_runtime")
    assert hang["marker"]["symbol"][0] != memory["marker"]["symbol"][0]


def test_every_kind_of_failure_has_a_mark_of_its_own() -> None:
    assert set(FAILURE_MARKS) == set(FailureKind)
    assert len(set(FAILURE_MARKS.values())) == len(FAILURE_MARKS)


def test_intervals_are_drawn_around_their_values() -> None:
    worked = trace(history([point(0, 82.0, ci95=(81.0, 84.0))], 1, simulated=False), "worked")
    assert (worked["error_y"]["array"], worked["error_y"]["arrayminus"]) == ([2.0], [1.0])


def test_a_trial_stopped_early_is_not_among_those_that_worked() -> None:
    figure = history([point(0, 40.0, outcome="stopped")], 1, simulated=False)
    assert [one["name"] for one in figure["data"]] == ["stopped early"]


def test_baseline_and_finals_can_be_told_from_the_search() -> None:
    points = [point(0, 80.0, role="baseline"), point(1, 90.0), point(2, 91.0, role="final")]
    figure = history(points, 1, simulated=False)
    assert [trace(figure, name)["x"] for name in ("baseline", "worked", "final")] == [[0], [1], [2]]


def test_axes_say_unit_level_and_whether_it_is_simulated() -> None:
    title = history([point(0, 1.0)], 8, simulated=True)["layout"]["yaxis"]["title"]["text"]
    assert title == "tok/s, 8 streams (simulated)"
    assert counted(1, "stream") == "1 stream"


def test_hover_texts_are_escaped() -> None:
    worked = trace(history([point(0, 82.0, text="<b>bold</b>")], 1, simulated=False), "worked")
    assert worked["text"] == ["&lt;b&gt;bold&lt;/b&gt;"]
