"""The page that a night puts up: its link carries a token that nobody else can read."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import psutil
import pytest

from autotune.night.lasting_page import RECORD, LastingPage, end_lasting_page, open_lasting_page
from autotune.spec import DashboardSection
from tests.db.nights import Night

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[Path, LastingPage]]:
    folder = tmp_path / "studies" / "night"
    Night(folder / "study.db").end()
    yield folder, open_lasting_page(folder, DashboardSection(port=18_760))
    end_lasting_page(folder)


def test_the_link_lets_in_and_its_token_stays_with_its_owner(opened: tuple[Path, LastingPage]) -> None:
    folder, page = opened
    (token,) = parse_qs(urlsplit(page.url).query)["token"]
    with httpx.Client(trust_env=False) as browser:
        assert "Go on" in browser.get(page.url).text
        requests = f"{page.url.partition('?')[0].replace('/studies/', '/api/studies/')}/requests"
        assert browser.post(requests, json={"kind": "note", "text": "seen"}).status_code == 202
    assert httpx.post(requests, json={"kind": "note", "text": "seen"}, trust_env=False).status_code == 401
    assert stat.S_IMODE((folder / RECORD).stat().st_mode) == 0o600
    assert token not in " ".join(psutil.Process(page.pid).cmdline())
    assert token not in (folder / "dashboard.log").read_text()


def test_a_second_opening_keeps_page_and_token(opened: tuple[Path, LastingPage]) -> None:
    folder, page = opened
    assert open_lasting_page(folder, DashboardSection(port=18_760)).url == page.url
