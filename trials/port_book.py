"""The ports that a study has used: a killed server's port is never given to another one, restart or not."""

from __future__ import annotations

from pathlib import Path

from trials.ports import fresh_port

_NAME = "ports.used"


class PortBook:
    """Hands out ports and remembers them in the study's folder."""

    def __init__(self, workspace: Path) -> None:
        self._path = workspace / _NAME

    def take(self) -> int:
        """A port that no server of this study has had.

        Raises:
            trials.ports.NoFreePortError: If none is left.
            OSError: If the study's folder cannot be read or written.
        """
        port = fresh_port(self._used())
        with self._path.open("a", encoding="ascii") as book:
            book.write(f"{port}\n")
        return port

    def _used(self) -> set[int]:
        if not self._path.exists():
            return set()
        return {int(line) for line in self._path.read_text("ascii").split() if line.isdecimal()}
