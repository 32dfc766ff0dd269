"""Tests here need the real SGLang; without a build they are skipped, and fail where CI promised one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sglang_cpu.environment import SglangCpu, require_sglang_cpu
from tests.sglang_cpu.running_server import RunningServer, speculative_server


@pytest.fixture(scope="session")
def sglang_cpu() -> SglangCpu:
    return require_sglang_cpu()


@pytest.fixture(scope="session")
def running_server(
    sglang_cpu: SglangCpu, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """One server for all tests that only ask it something, or need its port taken."""
    with speculative_server(sglang_cpu, tmp_path_factory.mktemp("running")) as server:
        yield server
