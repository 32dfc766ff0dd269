from __future__ import annotations

from autotune.figures import CardCurve, LevelResult, Stay, boot_times, gpus, levels, timeline, tradeoff
from autotune.figures.tradeoff import pareto_front
from tests.autotune.figures.pictured import point, trace

STAYS = [
    Stay(0, "load_weights", "completed", 0.0, 30.0),
    Stay(0, "measure", "completed", 30.0, 60.0),
    Stay(1, "load_weights", "failed", 100.0, 10.0),
]


def test_the_timeline_says_where_the_hours_went() -> None:
    figure = timeline(STAYS, ["load_weights", "kv_pool", "measure"])
    assert figure["table"]["rows"] == [["load_weights", 0.7, "40%", 2], ["measure", 1.0, "60%", 1]]
    assert figure["layout"]["yaxis"]["ticktext"] == ["load weights 40%", "measure 60%"]


def test_a_stroke_is_as_long_as_the_stay_and_coloured_by_the_trials_end() -> None:
    failed = trace(timeline(STAYS, ["load_weights", "measure"]), "failed")
    start, end, gap = failed["x"]
    assert ((end - start) * 60, gap) == (10.0 + 0.0, None) or abs((end - start) * 60 - 10) < 0.02


def test_long_nights_are_drawn_in_hours() -> None:
    long = [Stay(0, "measure", "completed", 0.0, 9000.0)]
    assert timeline(long, ["measure"])["layout"]["xaxis"]["title"]["text"].startswith("hours")


def test_stages_that_no_boot_got_past_are_not_in_the_boot_times() -> None:
    figure = boot_times({"start": [1.0, 3.0], "kv_pool": []})
    assert figure["table"]["rows"] == [["start", 2, 2.0, 3.0]]
    assert [one["name"] for one in figure["data"]] == ["start"]


def test_the_front_holds_what_nobody_beats_in_both() -> None:
    seen = [(0, 100.0, 50.0), (1, 90.0, 40.0), (2, 80.0, 45.0), (3, 110.0, 70.0), (4, 110.0, 90.0)]
    points = [point(number, tok_s, latency_ms={"ttft p95": wait}) for number, tok_s, wait in seen]
    assert [one.number for one in pareto_front(points, "ttft p95")] == [1, 0, 3]


def test_a_trial_without_that_latency_is_left_out() -> None:
    points = [point(0, 80.0, latency_ms={"ttft p95": None}), point(1, 70.0, latency_ms={"ttft p95": 9.0})]
    figure = tradeoff(points, "ttft p95", 1, simulated=True)
    assert [row[0] for row in figure["table"]["rows"]] == [1]
    assert figure["layout"]["xaxis"]["title"]["text"] == "ttft p95, ms (simulated)"


def test_a_short_stay_in_a_long_night_is_still_a_stroke() -> None:
    day = 86_400.0
    figure = timeline(
        [Stay(0, "measure", "completed", 0.0, day), Stay(1, "kv_pool", "failed", 0.0, 1.0)],
        ["kv_pool", "measure"],
    )
    start, end, _ = trace(figure, "failed")["x"]
    assert end - start >= 24 / 1000


def test_levels_stand_beside_baseline_and_main_winner() -> None:
    results = [
        LevelResult(1, 4, 90.0, (89.0, 91.0), 80.0, (79.0, 81.0), None),
        LevelResult(8, 7, 400.0, None, None, None, 380.0),
    ]
    figure = levels(results, 1, simulated=False)
    assert [one["name"] for one in figure["data"]] == [
        "baseline",
        "winner at 1 stream",
        "winner of the level",
    ]
    assert trace(figure, "winner of the level")["error_y"]["array"] == [1.0, None]


def test_a_driver_that_tells_no_power_leaves_memory_alone() -> None:
    figure = gpus([0.0, 1.0], {0: CardCurve([1.0, 2.0], [None, None])}, simulated=False)
    assert len(figure["data"]) == 1
    assert figure["layout"]["yaxis"]["domain"] == [0, 1]


def test_a_card_has_one_colour_for_memory_and_power() -> None:
    cards = {index: CardCurve([1.0], [300.0]) for index in range(8)}
    data = gpus([0.0], cards, simulated=False)["data"]
    colours = {
        name: {one["line"]["color"] for one in data if one["name"] == name} for name in ("GPU 0", "GPU 7")
    }
    assert len(data) == 16
    assert all(len(seen) == 1 for seen in colours.values())
    assert len({one["line"]["color"] for one in data}) == 8
