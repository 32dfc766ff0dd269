"""Tests here need the real SGLang; without a build they are skipped, and say so."""

from __future__ import annotations

import pytest

from tests.sglang_cpu.build import root_folder
from tests.sglang_cpu.environment import SglangCpu, find_sglang_cpu


@pytest.fixture(scope="session")
def sglang_cpu() -> SglangCpu:
    found = find_sglang_cpu()
    if found is None:
        pytest.skip(f"no build of the real SGLang in {root_folder()}: run `make sglang-cpu`")
    return found
