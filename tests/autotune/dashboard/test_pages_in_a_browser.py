"""Every page as people see it: at a desk and on a phone, light and dark, by keyboard, by axe-core."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from autotune import dashboard
from autotune.dashboard.access import TOKEN_VARIABLE
from autotune.report import as_html, read_report
from autotune.study_view import read_study
from db.engine import open_reader
from tests.autotune.dashboard.sample_study import make_sample
from tests.browser import (
    SCHEMES,
    SIZES,
    Scheme,
    assert_accessible,
    assert_fits,
    chromium,
    reader,
    screenshot,
    see_all,
)
from tests.db.nights import Night

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

TOKEN = "the-token-of-this-test"
PAGES = {
    "studies": "/",
    "study": "/studies/sample",
    "study-that-has-only-begun": "/studies/young",
    "study-level-8": "/studies/sample?level=8&outcome=settings_failed",
    "worked": "/studies/sample/trials/12",
    "crashed": "/studies/sample/trials/2",
    "running": "/studies/sample/trials/13",
    "side-by-side": "/studies/sample/compare?trial=0&trial=12&trial=2",
    "studies-side-by-side": "/compare?study=sample&study=young",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def live_sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """A study that runs, beside one that has only begun."""
    studies = tmp_path_factory.mktemp("studies")
    young = Night(studies / "young" / "study.db")
    night = make_sample(studies / "sample")
    yield night
    night.close()
    young.close()


@pytest.fixture(scope="module")
def home(live_sample: Night) -> Iterator[str]:
    command = [sys.executable, "-m", "autotune.dashboard", str(live_sample.path.parent.parent), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environment()) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip().rstrip("/")
        httpx.get(f"{address}/healthz", timeout=60)
        yield address
        process.terminate()


def _environment() -> dict[str, str]:

    return {**os.environ, TOKEN_VARIABLE: TOKEN}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_is_drawn_and_can_be_used_by_everyone(
    browser: Browser, home: str, name: str, size: str, scheme: Scheme
) -> None:
    with reader(browser, size, scheme) as page:
        _enter(page, home, PAGES[name])
        see_all(page)
        assert_fits(page)
        screenshot(page, f"{name}-{size}-{scheme}")
        assert_accessible(page)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("path", ["/studies/nosuch", "/nowhere", "/studies/sample?page=x"])
def test_an_error_is_a_page_for_everyone(browser: Browser, home: str, path: str, size: str) -> None:
    with reader(browser, size, expected="Failed to load resource") as page:
        page.goto(home + path)
        expect(page.get_by_role("link", name="All studies")).to_be_visible()
        assert_fits(page)
        assert_accessible(page)


@pytest.mark.parametrize("size", SIZES)
def test_the_report_can_be_read_by_everyone(
    browser: Browser, live_sample: Night, tmp_path: Path, size: str
) -> None:
    with open_reader(live_sample.path) as study, study.connect() as connection:
        report = read_report(connection, read_study(connection), pictures=True)
    file = tmp_path / "report.html"
    file.write_text(as_html(report), encoding="utf-8")
    with reader(browser, size) as page:
        page.goto(file.as_uri())
        page.locator("svg.main-svg").first.wait_for()
        assert_fits(page)
        screenshot(page, f"report-{size}-light")
        assert_accessible(page)


@pytest.mark.parametrize("size", SIZES)
def test_trials_are_chosen_for_a_comparison(browser: Browser, home: str, size: str) -> None:
    with reader(browser, size) as page:
        _enter(page, home, "/studies/sample")
        for number in (0, 12):
            page.get_by_label(f"compare trial {number}", exact=True).click()
        page.get_by_role("button", name="Compare the chosen ones").click()
        page.wait_for_url("**/compare?trial=*&trial=*")


def test_paper_gets_pictures_that_fit_it(browser: Browser, home: str) -> None:
    widest = "Math.max(...[...document.querySelectorAll('svg.main-svg')].map(one => one.clientWidth))"
    with reader(browser, "desk", "dark") as page:
        _enter(page, home, "/studies/sample")
        see_all(page)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.wait_for_function(f"{widest} <= 660")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.wait_for_function(f"{widest} > 1000")


@pytest.mark.parametrize("width", [390, 1024, 2560])
def test_nothing_sticks_out_at_any_width(browser: Browser, home: str, width: int) -> None:
    with reader(browser) as page:
        page.set_viewport_size({"width": width, "height": 900})
        for path in PAGES.values():
            _enter(page, home, path)
            assert_fits(page)


def test_a_change_appears_without_moving_the_page(browser: Browser, home: str, live_sample: Night) -> None:
    with reader(browser) as page:
        _enter(page, home, "/studies/sample")
        page.locator("#connection", has_text="live").wait_for()
        see_all(page)
        page.evaluate("document.getElementById('trials').scrollIntoView()")
        before = page.locator("#trials").bounding_box()
        live_sample.journal.notice("a sentence that came later")
        page.get_by_text("a sentence that came later").wait_for(state="attached")
        assert page.locator("#trials").bounding_box() == before


def test_what_a_reader_does_survives_a_change(browser: Browser, home: str, live_sample: Night) -> None:
    with reader(browser) as page:
        _enter(page, home, "/studies/sample")
        page.locator("#connection", has_text="live").wait_for()
        page.locator("summary", has_text="Export").click()
        page.get_by_label("compare trial 12").check()
        page.get_by_label("A note on the study").fill("half a thou")
        live_sample.journal.notice("meanwhile")
        page.get_by_text("meanwhile").wait_for(state="attached")
        expect(page.locator("details.menu")).to_have_attribute("open", "")
        expect(page.get_by_label("compare trial 12")).to_be_checked()
        expect(page.get_by_label("A note on the study")).to_be_focused()
        expect(page.get_by_label("A note on the study")).to_have_value("half a thou")


def test_a_question_stays_while_the_running_trial_goes_on(
    browser: Browser, home: str, live_sample: Night
) -> None:
    with reader(browser) as page:
        _enter(page, home, "/studies/sample")
        page.locator("#connection", has_text="live").wait_for()
        page.get_by_role("button", name="Stop now").click()
        question = page.get_by_role("button", name="Stop now?")
        expect(question).to_be_visible()
        with live_sample.journal.recorder(13) as recorder:
            recorder.progress(1, 90.4)
        page.locator("#now", has_text="90.4 tok/s").wait_for()
        expect(question).to_be_visible()


def test_the_page_can_be_walked_by_keyboard(browser: Browser, home: str) -> None:
    with reader(browser) as page:
        _enter(page, home, "/studies/sample")
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Pictures")).to_be_focused()
        page.get_by_role("link", name="tok/s, 1 stream (simulated)").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**sort=tok_s**")
        expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")
        expect(page.locator("tbody tr").first).to_have_id("row-12")


def test_evidence_leads_to_its_line_and_a_search_finds_it(browser: Browser, home: str) -> None:
    with reader(browser) as page:
        _enter(page, home, "/studies/sample/trials/13?line=5000#L5000")
        expect(page.locator("#L5000")).to_be_in_viewport()
        expect(page.locator("#L5000")).to_have_text("line 4999 of the log")
        page.get_by_placeholder("search the log").fill("LINE 777 of")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="line 778").click()
        expect(page.locator("#L778")).to_be_in_viewport()


def test_a_growing_log_is_followed(browser: Browser, home: str, live_sample: Night) -> None:
    with reader(browser) as page:
        _enter(page, home, "/studies/sample/trials/13")
        page.locator("#connection", has_text="live").wait_for()
        log = live_sample.path.parent / "trials" / "0013" / "server.log"
        with log.open("a") as file:
            file.write("<b>not bold</b>\n")
        expect(page.locator("ol.log li").last).to_have_text("<b>not bold</b>")


def test_pictures_have_their_numbers_beside_them(browser: Browser, home: str) -> None:
    with reader(browser) as page:
        _enter(page, home, "/studies/sample")
        card = page.get_by_role("region", name="Crash map", exact=True)
        card.scroll_into_view_if_needed()
        card.locator("svg.main-svg").first.wait_for()
        card.get_by_text("As a table").click()
        expect(card.locator("table tr")).to_have_count(14)
        card.get_by_label("across").select_option("all_reduce")
        expect(card.locator("thead, tr").nth(0)).to_contain_text("all_reduce")


def test_a_search_counts_its_lines_as_people_do(browser: Browser, home: str) -> None:
    with reader(browser) as page:
        _enter(page, home, "/studies/sample/trials/13")
        for wanted, said in (("line 4242 of", "1 line holds"), ("line 424", "11 lines hold")):
            page.get_by_placeholder("search the log").fill(wanted)
            page.keyboard.press("Enter")
            expect(page.locator(".hits li").first).to_have_text(f"{said} “{wanted}”")


def test_what_does_not_arrive_is_said_and_stays_in_the_form(browser: Browser, home: str) -> None:
    with reader(browser, expected="Failed to load resource") as page:
        _enter(page, home, "/studies/sample")
        note = page.get_by_label("A note on the study")
        said = page.locator("[data-note] .said")
        note.fill("a thought")
        page.route("**/requests", lambda route: route.abort())
        page.get_by_role("button", name="Keep the note").click()
        expect(said).to_have_text("This page's server cannot be reached; your text is still here.")
        page.unroute("**/requests")
        page.context.clear_cookies()
        page.get_by_role("button", name="Keep the note").click()
        expect(said).to_have_text(
            "This page's link is no longer valid: open the new link that autotune printed; "
            "your text is still here."
        )
        expect(note).to_have_value("a thought")


@pytest.mark.parametrize("path", ["/studies/sample", "/studies/sample/trials/13"])
def test_nothing_is_offered_that_needs_a_script_where_none_runs(
    browser: Browser, home: str, path: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    _enter(page, home, path)
    expect(page.get_by_text("Drawn when it comes into view.").first).to_be_hidden()
    for name in ("Keep the note", "Queue these settings", "Copy", "Stop now", "Search"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    for sentence in page.locator("main noscript p").all():
        expect(sentence).to_be_visible()
    assert_fits(page)
    screenshot(page, f"no-script-{path.rpartition('/')[2]}-desk-light")
    context.close()


def test_times_are_the_readers(browser: Browser, home: str) -> None:
    context = browser.new_context(timezone_id="Pacific/Auckland", locale="en-GB")
    page = context.new_page()
    page.goto(home + "/studies/sample")
    time = page.locator("#events time").first
    expect(time).to_have_attribute("title", f"{time.get_attribute('datetime')} (UTC)")
    shown = page.evaluate(
        "moment => new Date(moment).toLocaleTimeString([], {hour: '2-digit', minute: '2-digit'})",
        time.get_attribute("datetime"),
    )
    expect(time).to_contain_text(shown)
    context.close()


def test_our_own_scripts_are_small() -> None:
    static = Path(dashboard.__file__).parent / "static"
    assert sum(script.stat().st_size for script in static.glob("*.js")) < 60_000


def _enter(page: Page, home: str, path: str) -> None:
    """With the token, as somebody who followed the printed link."""
    separator = "&" if "?" in path else "?"
    bare, hash_sign, anchor = path.partition("#")
    page.goto(f"{home}{bare}{separator}token={TOKEN}")
    page.wait_for_url(f"{home}{bare}")
    if anchor:
        page.goto(f"{home}{bare}{hash_sign}{anchor}")
    page.wait_for_load_state("load")
