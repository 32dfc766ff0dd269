from __future__ import annotations

import pytest

from autotune.figures import Panel, SettingAxis, crash_map, importance, parallel, setting_slice
from tests.autotune.figures.pictured import point, trace

FRACTION = SettingAxis.of("mem_fraction_static", [0.8, 0.9], [0.85])
GRAPHS = SettingAxis.of("cuda_graph_max_bs", [512, 64], [])
LAYOUT = SettingAxis.of("layout", ["tp8", "tp4"], [])


def test_numbers_stand_in_order_and_names_in_the_order_of_the_space() -> None:
    assert FRACTION.values == (0.8, 0.85, 0.9)
    assert GRAPHS.values == (64, 512)
    assert LAYOUT.values == ("tp8", "tp4")


def test_the_map_groups_crashes_by_what_they_say_about_the_two_settings() -> None:
    kinds = ["kv_pool_too_small", "oom_graph_capture", "unsupported_kernel", "hang", None]
    settings = {"mem_fraction_static": 0.9, "cuda_graph_max_bs": 64}
    points = [
        point(number, 80.0 if kind is None else None, kind, settings=settings)
        for number, kind in enumerate(kinds)
    ]
    rows = crash_map(FRACTION, GRAPHS, [Panel("", points, None)])["table"]["rows"]
    assert [row[3].split(":")[0] for row in rows] == [
        "too low",
        "too high",
        "kernel or communication",
        "another failure",
        "worked",
    ]


def test_trials_of_the_same_cell_do_not_hide_each_other_and_stay_in_it() -> None:
    settings = {"mem_fraction_static": 0.9, "cuda_graph_max_bs": 64}
    points = [point(number, 80.0, settings=settings) for number in range(20)]
    worked = trace(crash_map(FRACTION, GRAPHS, [Panel("", points, None)]), "worked")
    places = set(zip(worked["x"], worked["y"], strict=True))
    assert len(places) == 20
    assert all(abs(x - 2) < 0.5 and abs(y) < 0.5 for x, y in places)


def test_the_ground_is_the_darker_the_less_likely_a_boot() -> None:
    chances = [[0.1, 0.5, 0.9], [0.2, 0.6, 1.0]]
    ground = trace(crash_map(FRACTION, GRAPHS, [Panel("", [], chances)]), "believed to fail")
    assert ground["z"][1] == [0.9, 0.9, 0.5, 0.1, 0.1]
    assert (ground["x"][0], ground["x"][-1]) == (-0.5, 2.5)


def test_a_setting_that_decides_everything_gets_all_the_credit_and_a_bystander_none() -> None:
    points = [
        point(
            number,
            100.0 + number % 3 if number % 2 else 50.0 + number % 3,
            settings={
                "layout": "tp8" if number % 2 else "tp4",
                "cuda_graph_max_bs": (64, 512)[number // 2 % 2],
            },
        )
        for number in range(24)
    ]
    shares = {row[0]: row[1] for row in importance(points, [LAYOUT, GRAPHS])["table"]["rows"]}
    assert int(shares["layout"].rstrip("%")) > 95
    assert int(shares["cuda_graph_max_bs"].rstrip("%")) < 5


def test_what_makes_boots_fail_is_told_apart_from_what_makes_them_fast() -> None:
    points = [
        point(
            number, None if number % 2 else 80.0, "hang" if number % 2 else None, settings={"layout": layout}
        )
        for number, layout in enumerate(["tp8", "tp4"] * 6)
    ]
    ((_, speed, boots),) = importance(points, [LAYOUT])["table"]["rows"]
    assert (speed, boots) == ("0%", "100%")


def test_a_line_skips_settings_that_do_not_count() -> None:
    figure = parallel([point(0, 80.0, settings={"layout": "tp8"})], [FRACTION, LAYOUT], 1, simulated=False)
    assert figure["data"][0]["x"] == [1, None]


def test_the_fastest_fifth_is_drawn_last_and_thickest() -> None:
    points = [point(number, 80.0 + number, settings={"layout": "tp8"}) for number in range(10)]
    data = parallel(points, [LAYOUT], 1, simulated=False)["data"]
    assert data[-1]["name"] == "88 to 89"
    assert data[-1]["line"]["width"] == max(one["line"]["width"] for one in data)


def test_a_slice_counts_crashes_at_each_value() -> None:
    points = [
        point(0, 80.0, settings={"layout": "tp8"}),
        point(1, 90.0, settings={"layout": "tp8"}),
        point(2, None, "hang", settings={"layout": "tp4"}),
        point(3, 99.0, settings={}),
    ]
    figure = setting_slice(points, LAYOUT, 1, simulated=False)
    assert figure["table"]["rows"] == [["tp8", 2, 90.0, 0], ["tp4", 0, None, 1]]
    assert trace(figure, "hang")["yaxis"] == "y2"


@pytest.mark.parametrize("narrow", [True, False])
def test_panels_never_overlap(narrow: bool) -> None:
    layout = crash_map(FRACTION, GRAPHS, [Panel("a", [], None), Panel("b", [], None)], narrow=narrow)[
        "layout"
    ]
    axes = ("yaxis", "yaxis2") if narrow else ("xaxis2", "xaxis")
    upper, lower = layout[axes[0]]["domain"], layout[axes[1]]["domain"]
    assert lower[1] < upper[0]


def test_a_trial_that_still_runs_is_not_called_worked() -> None:
    settings = {"mem_fraction_static": 0.9, "cuda_graph_max_bs": 64}
    running = point(0, outcome="running", settings=settings)
    assert crash_map(FRACTION, GRAPHS, [Panel("", [running], None)])["table"]["rows"] == []
