"""Processes that are none of ours: one that holds memory on a card, one that took the port first.

Run as ``python -m trials.box.foreigners``; each ends by itself soon after the server that it annoys.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from trials.box.device_files import DeviceFiles, process_started

if TYPE_CHECKING:
    from trials.box.faults import Fault
    from trials.box.setting_up import Setup

_MARK_VARIABLE = "AUTOTUNE_MARK"


def meet_foreigners(setup: Setup) -> None:
    """Start the foreign processes that this boot's faults ask for, and wait until they are in place."""
    for fault in setup.faults:
        if fault.kind == "foreign_process":
            _start(setup, fault, [f"--card={fault.card}", f"--mib={fault.mib}"])
        elif fault.kind == "port_taken":
            wanted = ["--answer"] if fault.by_sglang else []
            _start(setup, fault, [f"--port={setup.args.port}", f"--host={setup.args.host}", *wanted])


def _start(setup: Setup, fault: Fault, options: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name != _MARK_VARIABLE}
    life = ["--linger", str(fault.seconds or 0.0), "--until-pid", str(os.getpid())]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "trials.box.foreigners",
            "--state",
            str(setup.devices.folder),
            *life,
            *options,
        ],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()


def main() -> None:
    """Hold a card's memory or a port until the given process is gone, and a little longer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--until-pid", type=int, required=True)
    parser.add_argument("--linger", type=float, default=0.0)
    parser.add_argument("--card", type=int)
    parser.add_argument("--mib", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int)
    parser.add_argument("--answer", action="store_true")
    options = parser.parse_args()
    with contextlib.ExitStack() as held:
        if options.card is not None:
            DeviceFiles(options.state).hold({options.card: options.mib}, "python train_something_else.py")
        if options.port is not None:
            from trials.box.other_server import take_port  # http.server is slow to import

            held.enter_context(take_port(options.host, options.port, options.answer))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while process_started(options.until_pid) is not None:
            time.sleep(0.05)
        time.sleep(options.linger)


if __name__ == "__main__":
    main()
