"""What tells one copy of a model from another, without reading its weights."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from trials.model_facts import model_folder

WEIGHT_FILES = ("*.safetensors", "*.bin", "*.gguf", "*.pt")
_GIB = 1 << 30
_DIGITS = 12


def fingerprint(model_path: str) -> str | None:
    """Hash of config.json, then number, size and hash of names and sizes of the weight files.

    Returns:
        ``config 1f3a9c2b7d04, 64 weight files of 554.3 GiB 9e0cab51d6f2``, or None when the model is neither
        a folder nor in the Hugging Face cache.
    """
    folder = model_folder(model_path)
    if folder is None:
        return None
    try:
        config = _digest((folder / "config.json").read_bytes())
        sizes = weight_sizes(folder)
    except OSError:
        return None
    total = sum(sizes.values()) / _GIB
    weights = _digest(json.dumps(sorted(sizes.items())).encode())
    return f"config {config}, {len(sizes)} weight files of {total:.1f} GiB {weights}"


def weight_sizes(folder: Path) -> dict[str, int]:
    """Bytes of each weight file by its name; links into a cache are followed."""
    return {file.name: file.stat().st_size for pattern in WEIGHT_FILES for file in folder.glob(pattern)}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]
