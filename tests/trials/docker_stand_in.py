"""A `docker` for tests: records how it was called, and runs the simulated box where the image would start."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path

VALUED = {
    *("--name", "--label", "--gpus", "--device", "--ipc", "--ulimit", "--network", "--volume", "--env"),
    "--entrypoint",
}


def install(folder: Path, *, box: str, name: str = "docker") -> Path:
    """Put an executable ``docker`` into ``folder``; returns the file that its calls are recorded in."""
    calls = folder / "calls.jsonl"
    program = folder / name
    program.write_text(
        f"#!{sys.executable}\n"
        "import runpy, sys\n"
        f"sys.argv[1:1] = [{str(folder)!r}, {box!r}]\n"
        f"runpy.run_path({str(Path(__file__).resolve())!r}, run_name='__main__')\n"
    )
    program.chmod(0o755)
    return calls


def recorded(calls: Path) -> list[list[str]]:
    return [json.loads(line) for line in calls.read_text().splitlines()]


def _main(folder: Path, box: str, argv: list[str]) -> None:
    with (folder / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps(argv) + "\n")
    if argv[0] == "run":
        _run(folder, box, argv[1:])
    elif argv[0] == "exec":
        os.execv(sys.executable, [sys.executable, *argv[3:]])
    elif argv[0] == "rm":
        _remove(folder / argv[-1])
    elif argv[0] == "ps":
        for container in folder.glob("autotune-*"):
            told = json.loads(container.read_text())
            print(container.name, told["mark"], told.get("owner", ""))
    elif argv[:2] == ["image", "inspect"]:
        print(f"sha256:{argv[-1]}")


def _run(folder: Path, box: str, words: list[str]) -> None:
    options: dict[str, str] = {}
    labels: dict[str, str] = {}
    while words[0].startswith("--"):
        option = words.pop(0)
        options[option] = words.pop(0) if option in VALUED else ""
        if option == "--label":
            name, _, value = options[option].partition("=")
            labels[name.removeprefix("autotune.")] = value
    arguments = words[1:]
    if "--name" in options:
        (folder / options["--name"]).write_text(json.dumps({"pid": os.getpid(), **labels}))
    if arguments[:2] == ["-m", "sglang.launch_server"]:
        arguments[:2] = ["-m", "trials.box", box]
    os.execv(sys.executable, [sys.executable, *arguments])


def _remove(container: Path) -> None:
    if not container.exists():
        sys.exit(1)
    with contextlib.suppress(ProcessLookupError):
        os.kill(json.loads(container.read_text())["pid"], signal.SIGKILL)
    container.unlink()


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
