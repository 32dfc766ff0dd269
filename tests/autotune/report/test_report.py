"""The morning report of a played night: the same facts as text and as one HTML file that loads nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from autotune.cli.main import app
from autotune.drift import Drift
from autotune.report import Report, as_html, as_text, read_report
from autotune.study_view import read_study
from db import inbox
from db.engine import open_reader
from tests.autotune.cli.told_studies import ToldStudy, completed, settings_failed
from tests.autotune.dashboard.sample_study import HOSTILE, make_sample
from tests.db.nights import Night


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    night = make_sample(tmp_path_factory.mktemp("studies") / "sample")
    inbox.add_note(night.path, "ask the vendor about GPU 3", trial=2)
    night.journal.notice("the webhook is deaf", "warning")
    yield night
    night.close()


@pytest.fixture(scope="module")
def report(sample: Night) -> Report:
    with open_reader(sample.path) as reader, reader.connect() as connection:
        return read_report(connection, read_study(connection), pictures=True)


@pytest.fixture(scope="module")
def html(report: Report) -> str:
    return as_html(report)


class _Elements(HTMLParser):
    """Every start tag with its attributes, and the text of JSON scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.figures: list[str] = []
        self._in_json = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_json = tag == "script" and dict(attrs).get("type") == "application/json"

    def handle_data(self, data: str) -> None:
        if self._in_json:
            self.figures.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_json = False


def test_text_says_simulated_the_answer_the_changes_and_the_failures(report: Report) -> None:
    text = as_text(report)
    assert text.startswith("sample (simulated)\nSIMULATED")
    assert f"\n\n{report.verdicts[0].sentence}\n" in text
    assert "speculative_algorithm: off -> EAGLE3" in text
    assert re.search(r"\d x kv_pool_too_small \(trial \d", text)
    assert "the webhook is deaf" in text
    assert "trial 2: ask the vendor about GPU 3" in text
    assert "simulated tok/s" in text


def test_the_drift_and_where_the_winner_changes_are_said(report: Report) -> None:
    main, other = report.verdicts
    drifted = replace(main, drift=Drift(-1.5, (-2.0, -1.0), 7, 6.0))
    told = replace(report, verdicts=[drifted, replace(other, best=(main.best or 0) + 1)])
    for form in (as_text(told), as_html(told)):
        assert "Throughput drifted: -1.50 % an hour (95 % -2.00 to -1.00) over 6.0 h" in form
        assert f"From 8 streams on trial {(main.best or 0) + 1} is better than trial {main.best}." in form


def test_boots_saved_and_boots_known_from_elsewhere_are_told(report: Report) -> None:
    for form in (as_text(report), as_html(report)):
        assert "Saved 1 boot by the memory pre-flight" in form
        assert "last week/study.db: 1 boot (1 worked, 0 failed), taken as data." in form
        assert "other-machine.log: 2 boots (1 worked, 1 failed), taken as a weaker prior." in form


def test_every_level_has_a_verdict_the_main_one_first(report: Report) -> None:
    assert [verdict.level for verdict in report.verdicts] == [1, 8]
    assert "8 streams: Trial " in as_text(report)


def test_html_loads_nothing_from_anywhere(html: str) -> None:
    tags = _Elements(html).tags
    assert not [attrs for _, attrs in tags if {"src", "href", "srcset"} & set(attrs)]
    policy = next(attrs["content"] for tag, attrs in tags if attrs.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_html_has_every_picture_with_its_table(html: str, report: Report) -> None:
    elements = _Elements(html)
    with_data = [figure for figure in report.pictures.values() if figure["data"]]
    assert len(with_data) >= 5
    assert [json.loads(text)["data"] for text in elements.figures] == [figure["data"] for figure in with_data]
    assert sum(tag == "details" for tag, _ in elements.tags) == len(report.pictures)


def test_what_a_log_says_stays_text(html: str) -> None:
    assert HOSTILE not in html
    assert "&lt;script&gt;alert" in html


def test_html_says_the_same_as_the_text(html: str, report: Report) -> None:
    assert report.verdicts[0].sentence in html
    assert "Simulated: measured on an imagined box" in html
    assert html.count("(simulated)") >= len(report.pictures)


def autotune(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_prints_text_and_writes_html(tmp_path: Path) -> None:
    study = ToldStudy(tmp_path)
    study.tell(512, completed(80.0, 300.0), role="baseline")
    study.tell(128, completed(100.0, 290.0))
    study.close()
    printed = autotune("report", "--studies", tmp_path)
    assert printed.exit_code == 0, printed.output
    assert "--cuda-graph-max-bs 128" in printed.stdout
    assert "cuda_graph_max_bs: 512 -> 128" in printed.stdout
    file = tmp_path / "morning.html"
    assert autotune("report", "--studies", tmp_path, "--html", file).exit_code == 0
    assert "--cuda-graph-max-bs 128" in file.read_text()


def test_a_night_in_which_nothing_worked_has_a_report_too(tmp_path: Path) -> None:
    study = ToldStudy(tmp_path)
    study.tell(128, settings_failed(), role="baseline")
    study.close()
    printed = autotune("report", "--studies", tmp_path)
    assert printed.exit_code == 0, printed.output
    assert "Nothing has worked yet" in printed.stdout
    assert "1 x oom_graph_capture (trial 0): no room" in printed.stdout
    file = tmp_path / "morning.html"
    assert autotune("report", "--studies", tmp_path, "--html", file).exit_code == 0
    assert "<pre>" not in file.read_text()
