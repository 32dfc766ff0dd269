from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from autotune.dashboard.app import create_app
from db.inbox import add_note
from tests.autotune.dashboard.conftest import HERE
from tests.autotune.dashboard.sample_study import HOSTILE
from tests.db.nights import Night, completed, settings_failed

PAGES = [
    "/studies/sample",
    "/studies/sample/trials/2",
    "/studies/sample/trials/12",
    "/studies/sample/trials/13",
]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_of_a_simulated_study_says_so(page: TestClient, path: str) -> None:
    text = page.get(path).text
    assert "Simulated: this study ran on an imagined box." in text
    assert "(simulated)" in re.findall("<title>(.*)</title>", text)[0]


@pytest.mark.parametrize(
    "path", [*PAGES, "/studies/sample/trials/5", "/studies/%3Cscript%3Ealert(1)%3C%2Fscript%3E"]
)
def test_text_from_logs_and_addresses_is_never_markup(page: TestClient, path: str) -> None:
    text = page.get(path).text
    assert "<script>alert" not in text
    assert not re.findall(r"<script(?! src=\"/static/)", text)


def test_a_hostile_log_is_shown_as_text(page: TestClient) -> None:
    text = page.get("/studies/sample/trials/2").text
    escaped = HOSTILE.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;")
    assert text.count(escaped) == 3  # summary, evidence, log
    assert "\x1b" not in text


def test_hover_texts_of_pictures_are_escaped(page: TestClient) -> None:
    assert "<script>" not in page.get("/api/studies/sample/figures/history").text


def test_a_browser_may_run_our_own_scripts_only(page: TestClient) -> None:
    for path in [*PAGES, "/api/studies", "/static/page.js", "/studies/nosuch"]:
        headers = page.get(path).headers
        assert "script-src 'self';" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_everything_a_page_loads_is_served_here(page: TestClient) -> None:
    text = page.get("/studies/sample").text
    loaded = re.findall(r'(?:src|href|data-figure|data-live-from|data-table)="([^"#]+)"', text)
    assert not [address for address in loaded if not address.startswith(("/", "?", "data:,"))]
    for address in loaded:
        if address.startswith("/static/"):
            assert page.get(address).status_code == 200


def test_links_of_the_study_page_lead_somewhere(page: TestClient) -> None:
    text = page.get("/studies/sample").text
    for address in set(re.findall(r'href="(/(?:studies|api)/[^"]+)"', text)):
        assert page.get(address.replace("&amp;", "&")).status_code == 200


def test_the_command_on_the_page_is_the_exported_one(page: TestClient) -> None:
    exported = page.get("/api/studies/sample/export").text
    shown = re.findall(r'<pre id="command"[^>]*>(.*?)</pre>', page.get("/studies/sample").text, re.DOTALL)[0]
    unescaped = shown.replace("&#39;", "'").replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
    assert unescaped == exported


def test_a_single_study_is_the_home_page(page: TestClient) -> None:
    assert page.get("/", follow_redirects=False).headers["location"] == "/studies/sample"


def test_the_list_shows_also_what_cannot_be_read(night: Night, own_page: TestClient) -> None:
    broken = night.path.parent.parent / "broken" / "study.db"
    broken.parent.mkdir()
    broken.write_bytes(b"not a database")
    text = own_page.get("/").text
    assert "no SQLite database" in text
    assert "/studies/night" in text
    assert own_page.get("/studies/broken").status_code == 503
    assert own_page.get("/api/studies/broken").json()["detail"].endswith("(it is no SQLite database)")


def test_an_empty_folder_says_how_to_begin(tmp_path: Path) -> None:
    with TestClient(create_app(tmp_path), base_url=HERE) as client:
        assert "There is no study here yet" in client.get("/").text


def test_states_before_anything_has_worked(night: Night, own_page: TestClient) -> None:
    assert "The first trial has not begun yet" in own_page.get("/studies/night").text
    night.play(settings_failed())
    assert "No trial has worked yet: 1 failed" in own_page.get("/studies/night").text


def test_a_dead_runners_trial_is_not_called_running(night: Night, own_page: TestClient) -> None:
    number = night.begin().number
    text = own_page.get("/studies/night").text
    assert "runner died" in text
    assert "Nothing is running" in text
    assert '<span class="outcome died">died with the runner</span>' in text
    assert 'aria-label="1 died with the runner"' in text
    trial = own_page.get(f"/studies/night/trials/{number}").text
    for shown in (text, trial):
        assert ">running<" not in shown
        assert "data-since" not in shown
        assert 'aria-current="step"' not in shown


def test_a_table_that_is_shown_learns_that_the_runner_died(
    night: Night, own_page: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    night.begin()
    with monkeypatch.context() as alive:
        alive.setattr("autotune.liveness._lives", lambda _: True)
        before = own_page.get("/studies/night").text
        assert '<span class="outcome running">running</span>' in own_page.get("/studies/night/table").text
    after = own_page.get("/studies/night").text
    assert "died with the runner" in own_page.get("/studies/night/table").text
    versions = [re.findall(r'data-version="(\d+)"', text) for text in (before, after)]
    assert versions[0] != versions[1]


@pytest.mark.parametrize(
    ("planned", "is_over", "said"),
    [(3, False, "2 of about 3"), (2, False, "2 of about 2"), (1, False, "2"), (3, True, "2")],
)
def test_server_starts_are_told_of_a_plan_while_there_is_one(
    night: Night, own_page: TestClient, planned: int, is_over: bool, said: str
) -> None:
    night.journal.plan_run(boots_planned=planned, ends_by=None)
    for _ in range(2):
        trial = night.begin()
        with night.journal.recorder(trial.number) as recorder:
            recorder.boot_started(1, ["server"], {}, 99)
        night.finish(trial, settings_failed())
    if is_over:
        night.end()
    assert f"<dt>server starts</dt><dd>{said}</dd>" in own_page.get("/studies/night").text


def test_filtering_keeps_the_order(page: TestClient) -> None:
    sorted_up = page.get("/studies/sample?level=8&sort=tok_s&descending=false").text
    kept = re.findall('<input type="hidden" name="(.*?)" value="(.*?)">', sorted_up)
    assert kept == [("level", "8"), ("sort", "tok_s"), ("descending", "false")]
    assert not re.findall('<input type="hidden"', page.get("/studies/sample").text)


def test_long_notes_scroll_in_a_place_of_their_own(night: Night, own_page: TestClient) -> None:
    assert "study-notes" not in own_page.get("/studies/night").text
    add_note(night.path, "long " * 500)
    text = own_page.get("/studies/night").text
    assert re.findall(r'<div class="study-notes" tabindex="0"[^>]*>\s*<p class="notice note">', text)


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/studies/NoSuch", 404, "There is no study &#39;NoSuch&#39; here."),
        ("/studies/sample/trials/999", 404, "The study has no trial 999."),
        ("/nowhere", 404, "There is nothing at /nowhere."),
        ("/studies/sample?page=x", 400, "In the address page is &#39;x&#39;; it should be a valid integer."),
        ("/studies/sample/compare?trial=abc", 400, "In the address trial is &#39;abc&#39;"),
        (
            "/studies/sample?sort=evil",
            400,
            "it should be &#39;number&#39;, &#39;tok_s&#39;, &#39;outcome&#39;",
        ),
        ("/studies/sample/compare?" + "&".join(f"trial={n}" for n in range(9)), 400, "8 trials at most"),
    ],
)
def test_what_cannot_be_shown_is_a_page_with_a_sentence(
    page: TestClient, path: str, status: int, said: str
) -> None:
    answer = page.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert said in answer.text


def test_the_log_is_paged(page: TestClient) -> None:
    newest = page.get("/studies/sample/trials/13").text
    assert "line 9999 of the log" in newest
    assert "line 100 of the log" not in newest
    (end,) = re.findall(r"\?end=(\d+)#log\">earlier", newest)
    before = page.get(f"/studies/sample/trials/13?end={end}").text
    assert "line 9999 of the log" not in before
    assert ">newest</a>" in before


def test_a_rebound_host_name_is_refused(page: TestClient) -> None:
    assert page.get("/api/studies", headers={"host": "evil.example"}).status_code == 400


def test_a_copied_file_says_what_may_be_missing(night: Night, tmp_path: Path) -> None:
    night.play(completed(82.0))
    night.begin()
    copied = tmp_path / "elsewhere.db"
    copied.write_bytes(night.path.read_bytes())
    with TestClient(create_app(copied), base_url=HERE) as client:
        assert "was copied without its elsewhere.db-wal" in client.get("/studies/elsewhere").text
