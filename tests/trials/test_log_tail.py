"""LogTail: a growing file as lines, whatever is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trials import log_tail
from trials.log_tail import LogTail


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_file_that_does_not_exist_yet_has_no_lines(log: Path) -> None:
    tail = LogTail(log)
    assert list(tail.lines()) == []
    append(log, b"first\n")
    assert list(tail.lines()) == ["first"]


def test_line_is_given_once_and_only_when_complete(log: Path) -> None:
    tail = LogTail(log)
    append(log, b"Load weight be")
    assert list(tail.lines()) == []
    append(log, b"gin.\nKV Cache")
    assert list(tail.lines()) == ["Load weight begin."]
    assert list(tail.rest()) == ["KV Cache"]
    assert list(tail.rest()) == []


def test_progress_bar_is_split_at_carriage_returns(log: Path) -> None:
    append(log, b"  0%|\r 50%|\r100%|\ndone\r\n")
    assert list(LogTail(log).lines()) == ["  0%|", " 50%|", "100%|", "done"]


def test_offset_grows_with_every_byte_even_within_a_line(log: Path) -> None:
    tail = LogTail(log)
    append(log, b"....")
    list(tail.lines())
    assert tail.offset == 4


@pytest.mark.parametrize("pieces", [1, 7])
def test_long_line_is_cut_and_the_next_one_is_whole(log: Path, pieces: int) -> None:
    tail = LogTail(log, max_line=100)
    lines = []
    for _ in range(pieces):
        append(log, b"x" * 90)
        lines += list(tail.lines())
    append(log, b"x" * 90 + b"\nnext\n")
    lines += list(tail.lines())
    assert lines == ["x" * 100 + " …", "next"]


def test_line_of_exactly_the_limit_is_not_cut(log: Path) -> None:
    append(log, b"x" * 100 + b"\n")
    assert list(LogTail(log, max_line=100).lines()) == ["x" * 100]


def test_endless_line_does_not_fill_the_memory(log: Path) -> None:
    tail = LogTail(log, max_line=100)
    append(log, b"x" * 3_000_000)
    assert list(tail.lines()) == []
    assert list(tail.rest()) == ["x" * 100 + " …"]


def test_binary_junk_and_split_characters_do_not_raise(log: Path) -> None:
    tail = LogTail(log)
    append(log, b"\x00\xff\xfe ok\n\xe2\x82")
    first = list(tail.lines())
    append(log, b"\xac\n")
    assert first == ["\x00\ufffd\ufffd ok"]
    assert list(tail.lines()) == ["€"]


def test_truncated_file_is_read_from_its_beginning(log: Path) -> None:
    tail = LogTail(log)
    append(log, b"old line\nhalf a li")
    list(tail.lines())
    log.write_bytes(b"new\n")
    assert list(tail.lines()) == ["new"]


def test_many_chunks_lose_no_line(log: Path) -> None:
    append(log, b"".join(b"line %d\n" % number for number in range(100_000)))
    lines = list(LogTail(log).lines())
    assert len(lines) == 100_000
    assert lines[::33_333] == ["line 0", "line 33333", "line 66666", "line 99999"]


def test_a_flood_is_read_in_parts(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_tail, "_MOST_AT_ONCE", 10)
    tail = LogTail(log)
    append(log, b"abcd\n" * 5)
    assert [len(list(tail.lines())) for _ in range(4)] == [2, 2, 1, 0]


def test_what_is_written_while_it_is_read_comes_next(log: Path) -> None:
    tail = LogTail(log)
    append(log, b"first\n")
    lines = tail.lines()
    assert next(lines) == "first"
    append(log, b"second\n")
    assert list(lines) == []
    assert list(tail.lines()) == ["second"]
