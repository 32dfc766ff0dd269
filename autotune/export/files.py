"""Exports of several load levels, a file for each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from autotune.export._base import ExportInput, Format


def write_files(winners: Iterable[ExportInput], form: Format, folder: Path) -> list[Path]:
    """Write each winner into ``folder``, with its level in the file's name.

    Raises:
        FileExistsError: If one of the files is there already: nothing is overwritten.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(exported, form, folder) for exported in winners]


def file_name(form: Format, level: int) -> str:
    """``launch-48-streams.sh``."""
    name = Path(form.FILE_NAME)
    return f"{name.stem}-{level}-streams{name.suffix}"


def _write(exported: ExportInput, form: Format, folder: Path) -> Path:
    path = folder / file_name(form, exported.level)
    with path.open("x", encoding="utf-8") as file:
        file.write(form.write(exported))
    return path
