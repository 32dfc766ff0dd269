from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from autotune.dashboard import logs
from autotune.dashboard.logs import (
    find_log,
    last_lines,
    read_log_after,
    read_log_around,
    read_log_page,
    search_log,
)

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


def test_a_page_says_which_line_it_begins_with(log: Path) -> None:
    page = read_log_page(log)
    assert page.lines[0] == f"line {page.first_line - 1}"


@pytest.mark.parametrize("line", [1, 2, 700, 2000])
def test_a_log_opens_at_a_line(log: Path, line: int) -> None:
    page = read_log_around(log, line)
    assert page.lines[line - page.first_line] == f"line {line - 1}"
    assert read_log_page(log, page.start).lines[-1:] == (
        (f"line {page.first_line - 2}",) if page.start else ()
    )


def test_past_its_end_a_log_opens_at_its_end(log: Path) -> None:
    assert read_log_around(log, 5000).lines[-1] == "line 1999"


def test_a_bar_that_is_redrawn_ends_lines_as_failures_count_them(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"first\r\n 10%\r 50%\r100%\nlast\n")
    page = read_log_around(path, 5)
    assert page.lines[5 - page.first_line] == "last"
    assert [(hit.line, hit.text) for hit in search_log(path, "100%")] == [(4, "100%")]


def test_a_follower_gets_whole_lines_and_each_of_them_once(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"one\ntwo\nthr")
    first = read_log_after(path, 0)
    assert (first.lines, first.end) == (("one", "two"), 8)
    assert read_log_after(path, first.end).lines == ()
    with path.open("ab") as file:
        file.write(b"ee\nfour\n")
    assert read_log_after(path, first.end).lines == ("three", "four")
    assert read_log_after(path, 10**9).lines == ()


def test_a_search_finds_lines_whatever_their_case(log: Path) -> None:
    assert [(hit.line, hit.text) for hit in search_log(log, "LINE 1999")] == [(2000, "line 1999")]
    assert len(search_log(log, "line")) == logs.MOST_HITS
    assert search_log(log, "nothing like it") == []


def test_a_search_finds_letters_of_any_alphabet(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("GRÖSSE\nother\n", encoding="utf-8")
    assert [hit.line for hit in search_log(path, "größe".replace("ß", "ss"))] == [1]


def test_the_newest_lines_of_a_growing_log(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(TEXT)
    assert last_lines(path, 2) == ("line 1998", "line 1999")
