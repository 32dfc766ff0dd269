"""Ready study files."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def preset_names() -> tuple[str, ...]:
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.toml")))


def preset(name: str) -> Path:
    """The study file of a preset.

    Raises:
        KeyError: If there is no such preset.
    """
    if name not in preset_names():
        raise KeyError(name)
    return _FOLDER / f"{name}.toml"
