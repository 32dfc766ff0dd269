"""The imagined GPUs' state on disk: who holds how much memory, which card is lost, how warm the cards are.

A folder of small JSON files, written whole (a temporary file, then a rename):

- ``proc-PID.json``: ``{"pid", "started", "command", "cards": {"0": MiB}, "linger_s"}``. It counts while that
  very process (pid and start time) lives, so a killed process frees its memory without help; with
  ``linger_s`` the memory stays so long after its death.
- ``lost-CARD.json``: the card is gone, until ``until`` (monotonic s) where given.
- ``heat.json``: how warm the cards were at a moment, and how busy their processes have been since.
- ``boots``: one byte for each boot.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STATE_VARIABLE = "AUTOTUNE_BOX_STATE"


def default_state(box: str) -> Path:
    """The state folder of a box when the environment names none."""
    return Path(tempfile.gettempdir()) / f"autotune-box-{Path(box).stem}-{os.getuid()}"


def process_started(pid: int) -> int | None:
    """Start time of a live process in clock ticks since boot; None for the dead and for zombies."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


@dataclass(frozen=True)
class Holding:
    """A process's memory on one card."""

    card: int
    pid: int
    mib: int
    command: str


class DeviceFiles:
    """One state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def count_boot(self) -> int:
        """Note one more boot; its number, from 1."""
        with (self.folder / "boots").open("ab") as file:
            file.write(b".")
            file.flush()
            return file.tell()

    def hold(
        self, cards: dict[int, int], command: str, linger_s: float = 0.0, pid: int | None = None
    ) -> None:
        """Declare what a process holds now, MiB per card; replaces what it held before."""
        pid = os.getpid() if pid is None else pid
        self._write(
            f"proc-{pid}.json",
            {
                "pid": pid,
                "started": process_started(pid),
                "command": command,
                "cards": {str(card): mib for card, mib in cards.items()},
                "linger_s": linger_s,
            },
        )

    def holdings(self) -> list[Holding]:
        """Who holds what now. Files of processes that are gone for good are removed."""
        found: list[Holding] = []
        for file in sorted(self.folder.glob("proc-*.json")):
            entry = self._read(file)
            if entry is None:
                continue
            if self._still_holds(file, entry):
                for card, mib in entry["cards"].items():
                    found.append(Holding(int(card), entry["pid"], mib, entry["command"]))
            else:
                file.unlink(missing_ok=True)
        return found

    def used_mib(self, card: int) -> int:
        return sum(holding.mib for holding in self.holdings() if holding.card == card)

    def lose(self, card: int, seconds: float | None) -> None:
        """Make a card disappear, for good or for so many seconds."""
        until = None if seconds is None else time.monotonic() + seconds
        self._write(f"lost-{card}.json", {"card": card, "until": until})

    def lost_cards(self) -> set[int]:
        lost = set()
        for file in self.folder.glob("lost-*.json"):
            entry = self._read(file)
            if entry and (entry["until"] is None or time.monotonic() < entry["until"]):
                lost.add(entry["card"])
        return lost

    def set_busy(self, busy: float, heat_tau_s: float) -> None:
        """Note how busy this process keeps the cards from now on, 0 to 1."""
        self._write(
            "heat.json",
            {
                "at": time.monotonic(),
                "heat": self.heat(heat_tau_s),
                "busy": busy,
                "pid": os.getpid(),
                "started": process_started(os.getpid()),
            },
        )

    def busy(self) -> float:
        """How busy the cards are, 0 to 1."""
        entry = self._read(self.folder / "heat.json")
        if entry is None or process_started(entry["pid"]) != entry["started"]:
            return 0.0
        return float(entry["busy"])

    def heat(self, heat_tau_s: float) -> float:
        """How warm the cards are, 0 (idle) to 1 (long under full load)."""
        entry = self._read(self.folder / "heat.json")
        if entry is None:
            return 0.0
        towards = self.busy()
        share = math.exp(-max(time.monotonic() - entry["at"], 0.0) / heat_tau_s)
        return float(towards + (entry["heat"] - towards) * share)

    def _still_holds(self, file: Path, entry: dict[str, Any]) -> bool:
        started = process_started(entry["pid"])
        if started is not None and started == entry["started"]:
            return True
        if not entry["linger_s"]:
            return False
        if "died_at" not in entry:
            self._write(file.name, {**entry, "died_at": time.monotonic()})
            return True
        return bool(time.monotonic() < entry["died_at"] + entry["linger_s"])

    def _write(self, name: str, entry: dict[str, Any]) -> None:
        temporary = self.folder / f".{name}.{os.getpid()}"
        temporary.write_text(json.dumps(entry))
        temporary.replace(self.folder / name)

    @staticmethod
    def _read(file: Path) -> dict[str, Any] | None:
        with contextlib.suppress(OSError, ValueError):
            entry: dict[str, Any] = json.loads(file.read_text())
            return entry
        return None


def state_from_environment(box: str) -> Path:
    return Path(os.environ.get(STATE_VARIABLE) or default_state(box))
