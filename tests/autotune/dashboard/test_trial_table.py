from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from autotune.dashboard import trial_table
from autotune.dashboard.trial_table import TrialTable
from autotune.study_view import StudyReading
from db.engine import open_reader
from tests.autotune.dashboard.sample_study import HOSTILE
from tests.db.nights import Night, completed, settings_failed


def _numbers(page: TestClient, **query: object) -> list[int]:
    answer = page.get("/api/studies/sample/trials", params=query)  # type: ignore[arg-type]
    assert answer.status_code == 200
    return [trial["number"] for trial in answer.json()]


@pytest.mark.parametrize(
    "query, numbers",
    [
        ({"outcome": "settings_failed"}, [2, 5, 8, 11]),
        ({"kind": "unsupported_kernel"}, [5]),
        ({"role": "baseline"}, [0]),
        ({"setting": "speculative_algorithm=EAGLE3"}, [7, 9, 10, 12]),
        ({"setting": "mem_fraction_static=0.760"}, [2, 5, 8, 11]),
        ({"setting": "all_reduce=custom"}, [4]),
        ({"setting": "nosuch"}, []),
        ({"text": "too little KERNEL"}, [5]),
        ({"outcome": "settings_failed", "kind": "hang"}, []),
        ({"sort": "tok_s", "descending": "true", "limit": 3}, [12, 10, 9]),
        ({"sort": "number", "descending": "true", "limit": 2, "offset": 1}, [12, 11]),
    ],
)
def test_the_table_is_filtered_sorted_and_cut(
    page: TestClient, query: dict[str, object], numbers: list[int]
) -> None:
    assert _numbers(page, **query) == numbers


def test_trials_without_a_number_come_last_either_way(page: TestClient) -> None:
    for descending in ("true", "false"):
        assert _numbers(page, sort="tok_s", descending=descending)[-5:] == [2, 5, 8, 11, 13]


def test_the_count_before_the_cut_is_said(page: TestClient) -> None:
    answer = page.get("/api/studies/sample/trials", params={"outcome": "completed", "limit": 1})
    assert (len(answer.json()), answer.headers["x-total-count"]) == (1, "9")


def test_a_sort_that_is_none_is_refused(page: TestClient) -> None:
    assert page.get("/api/studies/sample/trials?sort=colour").status_code == 422


def test_another_level_has_its_own_numbers(page: TestClient) -> None:
    at_8 = page.get("/api/studies/sample/trials?level=8").json()
    assert at_8[12]["tok_s"] == pytest.approx(91 * 5.5)
    assert page.get("/api/studies/sample/trials?level=3").status_code == 404


def test_the_page_shows_a_page_of_it(page: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.dashboard.routes.pages.PAGE_LINES", 5)

    def shown(query: str) -> list[str]:
        return re.findall(r'id="row-(\d+)"', page.get(f"/studies/sample/table{query}").text)

    assert shown("") == ["13", "12", "11", "10", "9"]
    assert shown("?page=3") == ["3", "2", "1", "0"]
    assert shown("?page=99") == ["3", "2", "1", "0"]
    assert shown("?outcome=settings_failed&kind=&setting=&text=") == ["11", "8", "5", "2"]


def test_filters_stay_when_the_order_changes(page: TestClient) -> None:
    text = page.get("/studies/sample?outcome=completed&sort=tok_s").text
    assert 'aria-sort="descending"' in text
    assert "?outcome=completed&amp;sort=seconds" in text
    assert '<option value="completed" selected>' in text


def test_what_was_searched_for_is_shown_as_text(page: TestClient) -> None:
    text = page.get("/studies/sample", params={"text": HOSTILE, "setting": HOSTILE}).text
    assert HOSTILE not in text
    assert "None of the 14 trials is like that." in text


def test_only_lines_of_trials_that_changed_are_made_anew(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    make = trial_table.trial_json
    monkeypatch.setattr(trial_table, "trial_json", lambda *a: made.append(a[1].number) or make(*a))
    reading, table = StudyReading(), TrialTable(1)
    with open_reader(night.path) as reader, reader.connect() as connection:
        night.play(completed(80.0))
        night.play(settings_failed())
        table.lines(reading.read(connection))
        night.play(completed(90.0))
        assert len(table.lines(reading.read(connection))) == 3
    assert made == [0, 1, 2]
