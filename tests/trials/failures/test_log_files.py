"""Logs as they lie around: compressed, torn, coloured, with junk, inside containers' prefixes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trials.failures.server_log import ServerLog
from trials.failures import diagnose, diagnose_file
from trials.failures.files import LogError
from trials.outcome import FailureKind, Stage

_REFUSAL = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."


def _failed_log() -> str:
    log = ServerLog("0.5.9").boot(Stage.KV_POOL)
    log.scheduler_dies(_REFUSAL)
    return log.text


def _kind(path: Path) -> FailureKind | None:
    failure = diagnose_file(path).failure
    return None if failure is None else failure.kind


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_compressed_logs_are_recognised_whatever_their_name(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(pack(_failed_log().encode()))
    assert _kind(path) == FailureKind.KV_POOL_TOO_SMALL


def test_a_compressed_log_that_was_cut_off_is_read_to_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "server.log.gz"
    whole = gzip.compress((_failed_log() + os.urandom(4096).hex() * 50).encode())
    path.write_bytes(whole[:-2000])
    assert _kind(path) == FailureKind.KV_POOL_TOO_SMALL


def test_colours_and_junk_do_not_hide_the_failure(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    coloured = "\n".join(f"\x1b[31m{line}\x1b[0m" for line in _failed_log().splitlines())
    path.write_bytes(b"\x00\xff\xfe junk \x80\n" + os.urandom(3000) + b"\n" + coloured.encode())
    assert _kind(path) == FailureKind.KV_POOL_TOO_SMALL


@pytest.mark.parametrize(
    "prefix", ["sglang-1  | ", "2026-11-29T01:02:03.123456789Z ", "Nov 29 01:02:03 host sglang[812]: "]
)
def test_prefixes_of_containers_and_journals_are_taken_off(tmp_path: Path, prefix: str) -> None:
    path = tmp_path / "server.log"
    path.write_text("".join(f"{prefix}{line}\n" for line in _failed_log().splitlines()))
    assert _kind(path) == FailureKind.KV_POOL_TOO_SMALL


def test_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(_failed_log().replace("\n", "\r\n").encode())
    assert _kind(path) == FailureKind.KV_POOL_TOO_SMALL


def test_line_numbers_of_a_long_log_are_right(tmp_path: Path) -> None:
    log = ServerLog().boot(Stage.READY)
    block = ServerLog().decode(20_000).lines
    log.raw(*block)
    log.scheduler_dies("torch.AcceleratorError: CUDA error: misaligned address")
    path = tmp_path / "server.log"
    path.write_text(log.text)
    number = 1 + next(index for index, line in enumerate(log.lines) if "misaligned" in line)
    found = diagnose_file(path)
    assert found.failure is not None
    assert any(line.startswith(f"line {number}:") for line in found.failure.evidence)
    assert found == diagnose(log.lines)


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(_failed_log().encode() + b"x" * 5_000_000)
    assert _kind(path) == FailureKind.KV_POOL_TOO_SMALL


def test_dying_ranks_that_never_stop_printing_do_not_fill_the_memory(tmp_path: Path) -> None:
    log = ServerLog().boot(Stage.GRAPH_CAPTURE)
    log.exception("RuntimeError: Triton Error [CUDA]: device kernel image is invalid", rank=3)
    for _ in range(600):
        log.exception("RuntimeError: [pair.cc:534] Connection closed by peer", rank=1)
    path = tmp_path / "server.log"
    path.write_text(log.text)
    assert _kind(path) == FailureKind.UNSUPPORTED_KERNEL


@pytest.mark.parametrize("name", ["missing.log", "."])
def test_a_log_that_cannot_be_read_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(LogError, match="cannot be read"):
        diagnose_file(tmp_path / name)


def test_an_empty_log_is_a_failure_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.touch()
    assert _kind(path) == FailureKind.UNKNOWN
