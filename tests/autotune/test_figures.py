from __future__ import annotations

from typing import Any

from autotune.figures import FAILURE_MARKS, Figure, HistoryPoint, Trace, gpu_memory, history, streams
from trials.outcome import FailureKind


def _point(number: int, tok_s: float | None = None, failure: str | None = None, **more: Any) -> HistoryPoint:
    outcome = "settings_failed" if failure else "completed"
    values: dict[str, Any] = {"role": "search", "outcome": outcome, "ci95": None, "text": "", **more}
    return HistoryPoint(number=number, tok_s=tok_s, failure=failure, **values)


def _trace(figure: Figure, name: str) -> Trace:
    return next(trace for trace in figure["data"] if trace["name"] == name)


def test_the_best_so_far_never_falls_and_lasts_until_the_newest_trial() -> None:
    figure = history(
        [_point(0, 82.0), _point(1, 80.0), _point(2, 90.0), _point(3, failure="hang")], 1, simulated=False
    )
    best = _trace(figure, "best so far")
    assert list(zip(best["x"], best["y"], strict=True)) == [(0, 82.0), (1, 82.0), (2, 90.0), (3, 90.0)]


def test_crashes_have_a_lane_and_a_mark_for_each_kind() -> None:
    points = [_point(0, failure="hang"), _point(1, failure="oom_runtime"), _point(2, failure="hang")]
    figure = history(points, 1, simulated=False)
    assert _trace(figure, "hang")["x"] == [0, 2]
    assert {trace["yaxis"] for trace in figure["data"]} == {"y2"}
    assert (
        _trace(figure, "hang")["marker"]["symbol"][0] != _trace(figure, "oom_runtime")["marker"]["symbol"][0]
    )


def test_every_kind_of_failure_has_a_mark_of_its_own() -> None:
    assert set(FAILURE_MARKS) == set(FailureKind)
    assert len(set(FAILURE_MARKS.values())) == len(FAILURE_MARKS)


def test_intervals_are_drawn_around_their_values() -> None:
    worked = _trace(history([_point(0, 82.0, ci95=(81.0, 84.0))], 1, simulated=False), "worked")
    assert (worked["error_y"]["array"], worked["error_y"]["arrayminus"]) == ([2.0], [1.0])


def test_a_trial_stopped_early_is_not_among_those_that_worked() -> None:
    figure = history([_point(0, 40.0, outcome="stopped")], 1, simulated=False)
    assert [trace["name"] for trace in figure["data"]] == ["stopped early"]


def test_axes_say_unit_level_and_whether_it_is_simulated() -> None:
    title = history([_point(0, 1.0)], 8, simulated=True)["layout"]["yaxis"]["title"]["text"]
    assert title == "tok/s, 8 streams (simulated)"
    assert streams(1) == "1 stream"


def test_pictures_need_no_webgl() -> None:
    figures = [history([_point(0, 1.0)], 1, simulated=False), gpu_memory([0.0], {0: [1.0]}, simulated=True)]
    assert {trace["type"] for figure in figures for trace in figure["data"]} == {"scatter"}


def test_hover_texts_are_escaped() -> None:
    worked = _trace(history([_point(0, 82.0, text="<b>bold</b>")], 1, simulated=False), "worked")
    assert worked["text"] == ["&lt;b&gt;bold&lt;/b&gt;"]
