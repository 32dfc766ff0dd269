from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from autotune.study_pictures import STUDY_PICTURES, PictureError, PictureRequest, choices_json, draw
from autotune.study_view import StudyView, read_study
from db.engine import open_reader
from tests.autotune.dashboard.sample_study import make_sample
from tests.db.nights import Night

SVG_TYPES = {"scatter", "bar", "box", "contour"}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StudyView, Connection]]:
    night = make_sample(tmp_path_factory.mktemp("pictured") / "sample")
    with open_reader(night.path) as reader, reader.connect() as connection:
        yield read_study(connection), connection
    night.close()


@pytest.mark.parametrize("name", STUDY_PICTURES)
def test_every_picture_prints_says_what_it_shows_and_has_a_table(
    opened: tuple[StudyView, Connection], name: str
) -> None:
    figure = draw(name, *opened, PictureRequest())
    assert figure["data"]
    assert {trace["type"] for trace in figure["data"]} <= SVG_TYPES
    assert figure["says"].endswith(".")
    table = figure["table"]
    assert table["rows"]
    assert {len(row) for row in table["rows"]} == {len(table["columns"])}


@pytest.mark.parametrize("name", STUDY_PICTURES)
def test_a_study_without_a_trial_has_empty_pictures(tmp_path: Path, name: str) -> None:
    night = Night(tmp_path / "study.db")
    with open_reader(night.path) as reader, reader.connect() as connection:
        figure = draw(name, read_study(connection), connection, PictureRequest())
    night.close()
    assert not any(trace.get("x") for trace in figure["data"] if figure["title"] != "Winner per level")


def test_the_map_is_split_by_speculation_and_shaded(opened: tuple[StudyView, Connection]) -> None:
    figure = draw("crash-map", *opened, PictureRequest())
    assert [note["text"] for note in figure["layout"]["annotations"]] == [
        "without speculation",
        "with speculation",
    ]
    grounds = [trace for trace in figure["data"] if trace["type"] == "contour"]
    assert len(grounds) == 2
    assert all(0 <= chance <= 1 for ground in grounds for row in ground["z"] for chance in row)


def test_too_low_a_fraction_is_believed_to_fail(opened: tuple[StudyView, Connection]) -> None:
    """The sample's trials at 0.76 found no room for the KV pool; those at 0.88 worked."""
    figure = draw("crash-map", *opened, PictureRequest())
    ground = next(trace for trace in figure["data"] if trace["type"] == "contour")
    ticks = dict(
        zip(figure["layout"]["xaxis"]["ticktext"], figure["layout"]["xaxis"]["tickvals"], strict=True)
    )
    row = ground["z"][0]
    lowest, worked = row[1], min(row)
    assert ticks
    assert lowest > 0.5 > worked


def test_any_two_settings_can_be_the_axes(opened: tuple[StudyView, Connection]) -> None:
    wanted = PictureRequest(across="all_reduce", up="mem_fraction_static")
    layout = draw("crash-map", *opened, wanted)["layout"]
    assert layout["xaxis"]["title"]["text"] == "all_reduce"
    one_is_chosen = PictureRequest(up="mem_fraction_static")
    assert (
        draw("crash-map", *opened, one_is_chosen)["layout"]["xaxis"]["title"]["text"] == "cuda_graph_max_bs"
    )


@pytest.mark.parametrize(
    "name, request_",
    [
        ("nosuch", PictureRequest()),
        ("crash-map", PictureRequest(across="nosuch")),
        ("crash-map", PictureRequest(across="all_reduce", up="all_reduce")),
        ("slice", PictureRequest(setting="nosuch")),
        ("tradeoff", PictureRequest(latency="nosuch")),
    ],
)
def test_what_cannot_be_drawn_is_said(
    opened: tuple[StudyView, Connection], name: str, request_: PictureRequest
) -> None:
    with pytest.raises(PictureError):
        draw(name, *opened, request_)


def test_choices_name_only_what_was_varied(opened: tuple[StudyView, Connection]) -> None:
    choices = choices_json(opened[0])
    assert choices["slice"]["choices"]["setting"]["usual"] == "mem_fraction_static"
    assert "levels" in choices
    assert sum(not one["wide"] for one in choices.values()) % 2 == 0
