"""Logs of ended trials are compressed, and nothing of them is lost."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from autotune.night import archive


def test_every_boots_log_is_compressed_whole(tmp_path: Path) -> None:
    text = b"[2026-11-29 22:00:00 TP0] Load weight begin.\n" * 5000
    for name in ("server.log", "server-2.log"):
        (tmp_path / name).write_bytes(text)
    archive.compress_logs(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["server-2.log.gz", "server.log.gz"]
    assert gzip.decompress((tmp_path / "server.log.gz").read_bytes()) == text


def test_full_disk_leaves_the_log_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "server.log").write_bytes(b"a line\n")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.shutil, "copyfileobj", refuse)
    archive.compress_logs(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["server.log"]


def test_a_log_that_is_a_device_has_no_end_and_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "server.log").symlink_to("/dev/zero")
    archive.compress_logs(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["server.log"]
