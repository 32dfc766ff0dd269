"""A log of 200 MiB is read in little memory, and its end is found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trials.failures.server_log import ServerLog
from trials.outcome import Stage

# ru_maxrss would begin at the size of the process that forked the reader.
_READER = r"""
import json, re, sys
from pathlib import Path
from trials.failures import diagnose_file
failure = diagnose_file(Path(sys.argv[1])).failure
peak_kib = int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])
print(json.dumps({"kind": failure.kind, "evidence": failure.evidence[-1], "peak_mib": peak_kib / 1024}))
"""


@pytest.mark.slow
def test_200_mib_of_served_requests_and_their_errors(tmp_path: Path) -> None:
    log = ServerLog().boot(Stage.READY)
    served = ServerLog().decode(400)
    served.say("[http_server] Error: The input (3000 tokens) is longer than the context (2048 tokens).")
    end = ServerLog()
    end.scheduler_dies("torch.AcceleratorError: CUDA error: misaligned address")
    path = tmp_path / "server.log"
    repeats = (200 << 20) // len(served.text)
    with path.open("w") as file:
        file.write(log.text)
        for _ in range(repeats):
            file.write(served.text)
        file.write(end.text)
    told = subprocess.run(
        [sys.executable, "-c", _READER, str(path)], capture_output=True, text=True, check=True, timeout=100
    )
    found = json.loads(told.stdout)
    number = len(log.lines) + repeats * len(served.lines)
    number += 1 + next(index for index, line in enumerate(end.lines) if "misaligned" in line)
    assert found["kind"] == "kernel_fault"
    assert found["evidence"].startswith(f"line {number}:")
    assert found["peak_mib"] < 200
