"""Builds the real SGLang 0.5.23 on CPU torch, with tiny models, into a cache folder outside the repository.

Needs nothing but Python and pip. A finished build is reused as long as the recipe stays the same.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

RECIPE = Path(__file__).resolve().parent / "recipe"
ROOT_VARIABLE = "AUTOTUNE_SGLANG_CPU"
TORCH_VARIABLE = "AUTOTUNE_SGLANG_CPU_TORCH"
"""Another requirement for torch, where ``torch==2.13.0`` gives a CUDA build of several GB."""

STUB_FOLDERS = ("stubs_triton", "stubs", "stubs_bench")
MODEL_SCRIPTS = ("mkmodel.py", "mkdraft.py", "mkcopy.py")

WITHOUT_REQUIREMENTS = RECIPE / "packages-without-requirements.txt"
"""SGLang's own requirements are for CUDA; what a CPU server imports is in the other list."""
IMPORTED = RECIPE / "packages.txt"


def root_folder() -> Path:
    """Where the build lives."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(ROOT_VARIABLE) or cache / "sglang-autotune" / "sglang-cpu")


def recipe_stamp() -> str:
    """A hash of everything that the build is made from."""
    digest = hashlib.sha256(os.environ.get(TORCH_VARIABLE, "").encode())
    for path in sorted(RECIPE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_complete(root: Path) -> bool:
    try:
        return (root / "stamp").read_text() == recipe_stamp()
    except OSError:
        return False


def server_environment() -> dict[str, str]:
    """Variables with which the server runs on CPU and finds the stand-ins."""
    return {
        "SGLANG_USE_CPU_ENGINE": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(str(RECIPE / folder) for folder in STUB_FOLDERS),
    }


def main() -> None:
    root = root_folder()
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second builder waits, and then finds it done
        if is_complete(root):
            print(f"SGLang for CPU is in {root}")
            return
        begun = time.monotonic()
        _build(root)
        (root / "stamp").write_text(recipe_stamp())
        print(f"SGLang for CPU built in {root}: {time.monotonic() - begun:.0f} s")


def _build(root: Path) -> None:
    (root / "stamp").unlink(missing_ok=True)
    for folder in ("venv", "models"):
        shutil.rmtree(root / folder, ignore_errors=True)
    _step("making a virtual environment")
    _run([sys.executable, "-m", "venv", root / "venv"])
    python = root / "venv" / "bin" / "python"
    _step("installing torch")
    _install(python, [os.environ.get(TORCH_VARIABLE, "torch==2.13.0")])
    _step("installing SGLang")
    _install(python, ["--no-deps", "-r", WITHOUT_REQUIREMENTS])
    _install(python, ["-r", IMPORTED])
    _run([python, RECIPE / "patch_torchvision.py"])
    _step("making tiny models")
    for script in MODEL_SCRIPTS:
        _run([python, RECIPE / script, root / "models"], {**os.environ, **server_environment()})
    _step("importing it once")
    _run([python, "-c", "import sglang.launch_server"], {**os.environ, **server_environment()})


def _install(python: Path, requirements: Sequence[str | Path]) -> None:
    quiet = ["--quiet", "--no-cache-dir", "--disable-pip-version-check", "--no-warn-conflicts"]
    _run([python, "-m", "pip", "install", *quiet, "-c", RECIPE / "constraints.txt", *requirements])


def _run(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        sys.exit(
            f"{done.stdout[-4000:]}\nfailed (exit code {done.returncode}): {' '.join(map(str, command))}"
        )


def _step(what: str) -> None:
    print(f"[sglang-cpu] {what} ...", flush=True)


if __name__ == "__main__":
    main()
