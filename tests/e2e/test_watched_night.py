"""A night as its owner lives it: started, watched in a browser, steered, stopped, its command taken away."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import SCHEMES, SIZES, chromium, reader, screenshot, see_all
from tests.e2e.box_study import BoxStudy

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

_SOON_MS = 120_000
_CRASHING = """
[[known_good]]
mem_fraction_static = 0.86
cuda_graph_max_bs = 256
layout = "tp8"
all_reduce = "torch_symm_mem"
"""


@pytest.fixture
def study(tmp_path: Path) -> Iterator[BoxStudy]:
    study = BoxStudy.write(tmp_path, trials=60)
    file = tmp_path / "study.toml"
    text = file.read_text().replace('["nccl", "pcie_ipc"]', '["nccl", "pcie_ipc", "torch_symm_mem"]')
    file.write_text(f"{text}{_CRASHING}\n[dashboard]\nport = {_free_port()}\n")
    yield study
    _autotune(study, "stop", "--now")
    _autotune(study, "stop", "--page")


def test_a_night_is_watched_from_its_first_trial_to_its_winner(study: BoxStudy) -> None:
    started = _autotune(study, "start", "study.toml")
    link = next(word for word in started.split() if word.startswith("http://"))
    with chromium() as browser:
        for size in SIZES:
            for scheme in SCHEMES:
                with reader(browser, size, scheme) as page:
                    page.goto(link)
                    page.locator("#now .stages").wait_for(timeout=_SOON_MS)
                    screenshot(page, f"night-{size}-{scheme}")
        with reader(browser, expected="422 (Unprocessable") as page:
            page.goto(link)
            _watch_until_something_works(page)
            _open_the_crash(page)
            _filter(page)
            _queue_settings(page)
            _stop(page)
            _take_the_command(page, study)
            see_all(page)
            screenshot(page, "night-over")


def _watch_until_something_works(page: Page) -> None:
    page.locator("#connection", has_text="live").wait_for()
    expect(page.locator("#now-title")).to_contain_text("Running: trial")
    page.locator("#best .big").wait_for(timeout=_SOON_MS)
    expect(page.locator("#notes")).to_contain_text("imagined box")
    page.locator("#table .outcome.settings_failed").first.wait_for(timeout=_SOON_MS)


def _open_the_crash(page: Page) -> None:
    page.locator("#table tr", has=page.locator(".settings_failed")).get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="Why it failed")).to_be_visible()
    page.locator(".evidence a").first.click()
    expect(page.locator("li.wanted")).to_be_in_viewport()
    page.go_back()
    page.go_back()


def _filter(page: Page) -> None:
    page.get_by_label("Outcome").select_option("settings_failed")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**outcome=settings_failed**")
    shown = page.locator("#table tbody .outcome")
    assert set(shown.all_inner_texts()) == {"failed"}
    page.get_by_role("link", name="show all").click()
    page.locator("#table .outcome.completed").first.wait_for()


def _queue_settings(page: Page) -> None:
    page.locator("form[data-try] [name=mem_fraction_static]").fill("0.99")
    page.locator("form[data-try]").evaluate("form => { form.noValidate = true; }")
    page.get_by_role("button", name="Queue these settings").click()
    expect(page.locator("form[data-try] .said")).to_contain_text("Refused: ")
    page.locator("form[data-try] [name=mem_fraction_static]").fill("0.82")
    page.locator("form[data-try] [name=cuda_graph_max_bs]").select_option(label="512")
    page.get_by_role("button", name="Queue these settings").click()
    said = page.locator("form[data-try] .said")
    expect(said).to_contain_text(re.compile("queued|has run them already"))
    if "queued" in said.inner_text():
        runs = re.compile(r"trial \d+ (runs them|has run them already)")
        expect(page.locator("#requests")).to_contain_text(runs, timeout=_SOON_MS)


def _stop(page: Page) -> None:
    page.get_by_role("button", name="Stop now").click()
    page.get_by_role("button", name="Stop now?").click()
    expect(page.locator("#title .state")).to_have_text("ended", timeout=_SOON_MS)
    expect(page.locator("#now-title")).to_have_text("Nothing is running")


def _take_the_command(page: Page, study: BoxStudy) -> None:
    page.get_by_role("button", name="Copy the launch command").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == _autotune(study, "export", "small").strip()


def _autotune(study: BoxStudy, *words: str) -> str:
    command = [sys.executable, "-m", "autotune", *words]
    done = subprocess.run(command, cwd=study.folder, capture_output=True, text=True, timeout=200, check=False)
    return done.stdout


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
