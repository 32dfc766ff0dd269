"""Chromium for tests that look at pages as people do."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

SCREENSHOTS = Path(__file__).parent / "e2e" / "screenshots"
SIZES = {"desk": (1440, 900), "phone": (390, 844)}
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
_DRAWN_OR_EMPTY = re.compile("js-plotly-plot|failed")
_SERIOUS = ("serious", "critical")


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium; without one the test is skipped by name, under CI it fails."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        missing = "there is no Chromium here (Debian: apt-get install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def reader(
    browser: Browser, size: str = "desk", scheme: Scheme = "light", *, expected: str | None = None
) -> Iterator[Page]:
    """A page of one reader; errors that its console shows, other than ``expected``, fail the test."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )
    page = context.new_page()
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and (expected is None or expected not in message.text):
            errors.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_default_timeout(30_000)
    yield page
    context.close()
    assert not errors, errors


def see_all(page: Page) -> None:
    """Scroll through, so that every picture is drawn, and wait for the last one."""
    for picture in page.locator("[data-figure]").all():
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_class(_DRAWN_OR_EMPTY)
    page.evaluate("scrollTo(0, 0)")


def screenshot(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def assert_accessible(page: Page) -> None:
    """No finding of axe-core that is serious or worse."""
    found = Axe().run(page).response["violations"]
    told = [
        f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in _SERIOUS
    ]
    assert not told, "\n".join(told)


def assert_fits(page: Page) -> None:
    """Nothing reaches beyond the screen's edge."""
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.evaluate("innerWidth"), f"the page is {width} px wide"
