from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from autotune.dashboard import logs
from autotune.dashboard.logs import find_log, read_log_page

TEXT = "".join(f"line {number}\n" for number in range(2000))


@pytest.fixture(params=["server.log", "server.log.gz"])
def log(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(logs, "PAGE_BYTES", 1000)
    path = tmp_path / request.param
    raw = TEXT.encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def test_pages_backwards_hold_every_line_once(log: Path) -> None:
    lines: list[str] = []
    page = read_log_page(log)
    while True:
        lines = [*page.lines, *lines]
        if not page.start:
            break
        page = read_log_page(log, page.start)
    assert lines == TEXT.splitlines()


def test_the_last_page_comes_first(log: Path) -> None:
    page = read_log_page(log)
    assert page.lines[-1] == "line 1999"
    assert (page.end, page.size) == (len(TEXT), len(TEXT))
    assert page.end - page.start <= 1000


@pytest.mark.parametrize("end", [-5, 10**9])
def test_an_end_outside_the_log_is_moved_inside(log: Path, end: int) -> None:
    assert read_log_page(log, end).end in (0, len(TEXT))


def test_colours_control_characters_and_broken_text_are_harmless(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"\x1b[31mred\x1b[0m\x00\x07 50%\r100%\n\xff\xfe end\ttab")
    assert read_log_page(path).lines == ("red 50%", "100%", "�� end\ttab")


def test_a_line_longer_than_a_page_is_shown_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "PAGE_BYTES", 10)
    path = tmp_path / "server.log"
    path.write_bytes(b"x" * 100)
    assert read_log_page(path).lines == ("x" * 10,)


def test_a_compressed_log_is_found_too(tmp_path: Path) -> None:
    assert find_log(tmp_path) is None
    (tmp_path / "server.log.gz").write_bytes(gzip.compress(b""))
    assert find_log(tmp_path) == tmp_path / "server.log.gz"
    (tmp_path / "server.log").write_bytes(b"")
    assert find_log(tmp_path) == tmp_path / "server.log"
