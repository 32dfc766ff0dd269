"""The real SGLang on CPU, for tests: where it is, and how it is started."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sglang_cpu.build import is_complete, root_folder, server_environment

SMALL = (
    *("--device", "cpu", "--max-total-tokens", "8192", "--max-running-requests", "8"),
    *("--context-length", "2048", "--decode-log-interval", "8"),
)
"""Flags of every server here.

Without ``--max-total-tokens`` it would take all memory. On a loaded machine the usual interval of 40 decode
steps is longer than a measurement, which then knows no accept length.
"""
PLAIN_ATTENTION = ("--attention-backend", "torch_native")
SPECULATIVE_ATTENTION = (
    *("--prefill-attention-backend", "intel_amx", "--decode-attention-backend", "intel_amx"),
)
"""torch_native cannot verify drafts."""
SMALL_FRACTION = 0.3
"""A ``mem_fraction_static`` that leaves the machine room."""


@dataclass(frozen=True)
class SglangCpu:
    """A finished build.

    Attributes:
        python: Its interpreter.
        env: Variables that the server needs.
        models: Folder of tiny models: tiny-llama, tiny-qwen3, tiny-qwen3moe, tiny-llama8 with tiny-eagle3 and
            tiny-eagle, and tiny-copy with tiny-copy-eagle3 (which predicts every token).
    """

    python: Path
    env: dict[str, str]
    models: Path

    @property
    def command(self) -> tuple[str, ...]:
        return (str(self.python), "-m", "sglang.launch_server")

    def model(self, name: str) -> str:
        return str(self.models / name)


def flags(*words: str, **changes: str | None) -> tuple[str, ...]:
    """``words`` (flag, value, flag, value, ...) with some values changed, added, or left out where None."""
    table: dict[str, str | None] = dict(zip(words[::2], words[1::2], strict=True))
    table |= {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
    return tuple(word for name, value in table.items() if value is not None for word in (name, value))


def find_sglang_cpu() -> SglangCpu | None:
    """The build, or None when there is none of the present recipe."""
    root = root_folder()
    if not is_complete(root):
        return None
    return SglangCpu(root / "venv" / "bin" / "python", server_environment(), root / "models")


def require_sglang_cpu() -> SglangCpu:
    """The build; without one the test is skipped, and fails under CI, which has made one."""
    found = find_sglang_cpu()
    if found is None:
        missing = f"no build of the real SGLang in {root_folder()}: run `make sglang-cpu`"
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found
