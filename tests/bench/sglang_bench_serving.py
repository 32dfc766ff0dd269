"""Runs SGLang's own ``bench_serving`` from the environment of ``make sglang-cpu``."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "sglang_cpu"))

from build import root_folder, server_environment

LONGEST_S = 600.0


def sglang_python() -> Path:
    return root_folder() / "venv/bin/python"


def model_folder(name: str) -> Path:
    return root_folder() / "models" / name


def environment() -> dict[str, str]:
    return {**os.environ, **server_environment()}


def run_bench_serving(
    url: str, streams: int, arguments: Sequence[str | Path]
) -> tuple[dict[str, Any], float]:
    """All ``streams`` requests at once by streaming chat.

    Returns:
        Its report, and the CPU time of its process in s.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.jsonl"
        command = [
            *(sglang_python(), "-m", "sglang.bench_serving", "--backend", "sglang-oai-chat"),
            *("--base-url", url, "--model", model_folder("tiny-llama"), "--warmup-requests", "0"),
            *("--num-prompts", str(streams), "--max-concurrency", str(streams), "--output-file", result),
            *arguments,
        ]
        before = _children_cpu_s()
        done = subprocess.run(
            [str(part) for part in command],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
        )
        if done.returncode:
            sys.exit(f"bench_serving failed; is `make sglang-cpu` done?\n{done.stderr[-2000:]}")
        report = json.loads(result.read_text())
    assert report["completed"] == streams, report
    return report, _children_cpu_s() - before


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
