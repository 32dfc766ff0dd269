"""What the real SGLang says about itself: the same in its log and when asked."""

from __future__ import annotations

import pytest

from tests.sglang_cpu.running_server import SLOTS, RunningServer
from trials.boot_log import BootLog
from trials.server_info import ServerInfo, read_server_info

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(600)]

ROUNDED_GIB = 0.02
"""The log rounds to hundredths."""
FREE_GIB = 2.0
"""What the machine has left moves with what else runs on it."""


@pytest.fixture(scope="module")
def log(running_server: RunningServer) -> BootLog:
    log = BootLog()
    for line in running_server.log.read_bytes().splitlines():
        log.feed(line)
    return log


@pytest.fixture(scope="module")
def info(running_server: RunningServer) -> ServerInfo:
    return read_server_info(running_server.url)


def test_memory_figures_are_those_of_the_log(log: BootLog, info: ServerInfo) -> None:
    report = log.report()
    assert info.memory["kv_tokens"] == report.kv_tokens == 8192
    assert info.memory["weights_gib"] == pytest.approx(report.weights_gib, abs=ROUNDED_GIB)
    assert info.memory["kv_gib"] == pytest.approx(report.kv_gib, abs=ROUNDED_GIB)
    assert info.memory["left_gib"] == pytest.approx(report.left_gib, abs=FREE_GIB)


def test_release_and_slots(info: ServerInfo) -> None:
    assert (info.version, info.max_running_requests) == ("0.5.23", SLOTS)


def test_resolved_arguments_are_those_of_the_log(log: BootLog, info: ServerInfo) -> None:
    """Either may be read where the other is missing."""
    assert log.server_args is not None
    plain = {k: v for k, v in log.server_args.items() if isinstance(v, bool | int | float | str)}
    assert len(plain) > 200
    assert {name: info.args[name] for name in plain} == plain
