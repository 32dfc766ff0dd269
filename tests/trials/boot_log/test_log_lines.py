"""Raw output taken apart into clean lines."""

from __future__ import annotations

import pytest

from trials.boot_log import split_lines


@pytest.mark.parametrize(
    ("raw", "rank"),
    [
        ("[2026-11-29 15:13:41] hello", ""),
        ("[2026-11-29 15:13:41 TP0] hello", "TP0"),
        ("[2026-11-29 15:13:41 DP1 TP3 EP3] hello", "DP1 TP3 EP3"),
        ("[2026-11-29 15:13:41 PP1 TP0] hello\n", "PP1 TP0"),
        ("[2026-11-29 15:13:41,123 TP0] hello", "TP0"),
        ("[2026-11-29 15:13:41.123] hello", ""),
        ("[2026-02-22 12:08:05] INFO engine.py:156: hello", ""),
        ("[2026-02-22 12:08:05 TP2] [ERROR] hello", "TP2"),
        ("[2026-02-22 12:08:05 TP2] WARNING managers/scheduler.py:99: hello", "TP2"),
    ],
)
def test_the_prefix_gives_time_and_rank(raw: str, rank: str) -> None:
    (line,) = split_lines(raw)
    assert line.rank == rank
    assert (line.text, line.stamped) == ("hello", True)


def test_time_stamps_count_in_seconds() -> None:
    (first,), (second,) = split_lines("[2026-11-29 15:00:00] a"), split_lines("[2026-11-29 15:01:30 TP0] b")
    assert first.stamp is not None
    assert second.stamp is not None
    assert second.stamp - first.stamp == 90


def test_an_impossible_time_stamp_is_no_crash() -> None:
    assert split_lines("[2026-13-45 99:00:00] a")[0].stamp is None


def test_a_line_glued_to_a_progress_bar_is_found() -> None:
    raw = (
        "\rLoading shards:  50% | 1/2 [00:01<00:01]\rLoading shards: 100% | 2/2 [00:02<00:00]"
        "[2026-11-29 15:13:41 TP1] Load weight end.\n"
    )
    lines = split_lines(raw)
    assert [line.rank for line in lines if line.stamped] == ["TP1"]
    assert lines[-1].text == "Load weight end."


def test_colours_and_null_bytes_are_taken_out() -> None:
    (line,) = split_lines(b"\x1b[1;33m[2026-11-29 15:13:41]\x1b[0m he\x00llo\x1b]0;title\x07\r\n")
    assert (line.text, line.stamped) == ("hello", True)


@pytest.mark.parametrize(
    "prefix",
    [
        "sglang-1  | ",
        "2026-11-29T15:13:41.123456789Z ",
        "2026-11-29T15:13:41.123456789Z stderr F ",
        "Nov 29 15:13:41 host-7 python[812]: ",
        "(SchedulerActor pid=4711, ip=10.0.0.7) ",
    ],
)
def test_prefixes_of_whoever_kept_the_log_are_taken_off(prefix: str) -> None:
    (line,) = split_lines(f"{prefix}[2026-11-29 15:13:41 TP0] hello")
    assert (line.text, line.rank) == ("hello", "TP0")


def test_dockers_json_lines_are_unpacked() -> None:
    raw = r'{"log":"[2026-11-29 15:13:41 TP0] say \"hello\"\n","stream":"stderr","time":"x"}'
    (line,) = split_lines(raw)
    assert (line.text, line.rank) == ('say "hello"', "TP0")


def test_frames_of_a_traceback_keep_their_indentation() -> None:
    assert split_lines('  File "x.py", line 3, in run')[0].text.startswith("  File")


def test_an_endless_line_is_cut() -> None:
    assert len(split_lines("x" * 1_000_000)[0].text) == 1 << 16
