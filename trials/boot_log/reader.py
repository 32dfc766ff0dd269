"""Follows a boot line by line: which stage, how much memory, what was said that matters."""

from __future__ import annotations

import math

from trials.boot_log import wording
from trials.boot_log.events import Event, Fatal, Notice, StageChanged
from trials.boot_log.facts import BootFacts
from trials.boot_log.handlers import HANDLERS
from trials.boot_log.lines import LogLine, split_lines
from trials.outcome import BootReport, Stage

MAX_NOTICES = 60
"""A server that warns at every request must not fill the study."""


class BootLog(BootFacts):
    """A server log as a stream of events. Feed it every line, in order; its attributes say what it saw."""

    def __init__(self) -> None:
        super().__init__()
        self._activity: dict[str, Stage] = {}

    def feed(self, line: str | bytes) -> list[Event]:
        """Take one line of output.

        Args:
            line: As read, with or without its end; colours and progress bars may be in it.

        Returns:
            What it said, in order; often nothing.
        """
        return [event for piece in split_lines(line) for event in self.feed_line(piece)]

    def feed_line(self, line: LogLine) -> list[Event]:
        """Take one line that is already clean."""
        if self.first_stamp is None:
            self.first_stamp = line.stamp
        known = wording.recognise(line.text)
        if known is not None:
            name, said = known
            changed = self._enter(wording.STAGE_OF.get(name), line)
            return [*changed, *HANDLERS[name](self, said, line)]
        if wording.FATAL.match(line.text):
            return [Fatal(line.text)]
        return self._notice(line) if line.stamped else []

    def activity(self, rank: str) -> Stage:
        """What one rank is doing now. It may go back: a draft model is loaded after the target's graphs.

        Beside tagged ranks a line without tags is the launcher's: it is where the furthest rank is.
        """
        if self.ready:
            return Stage.READY
        if not rank and any(self._activity):
            return self.stage
        return self._activity.get(rank, self.stage)

    @property
    def slowest(self) -> Stage:
        """Where the rank is that is furthest behind: where a boot that does not get on is stuck."""
        ranks = [stage for rank, stage in self._activity.items() if rank]
        served_by_all = self._activity.get("", Stage.ARGUMENTS).order >= Stage.WARM_UP.order
        if self.ready or served_by_all or not ranks:
            return self.stage
        if len(ranks) < self._ranks_of_a_replica():
            return Stage.START
        return min(ranks, key=lambda stage: stage.order)

    def report(self) -> BootReport:
        """What the boot showed of memory (GiB per GPU, the fullest one) and time; None where unknown."""
        return BootReport(
            weights_gib=self.memory.highest("weights"),
            draft_gib=self.memory.highest("draft"),
            kv_gib=self.memory.highest("kv"),
            kv_tokens=self.kv_tokens,
            graphs_gib=self.memory.highest("graphs"),
            left_gib=self.memory.lowest("left"),
            boot_s=self._boot_seconds(),
        )

    def _ranks_of_a_replica(self) -> int:
        args = self.server_args or {}
        sizes = [size for name in ("tp_size", "pp_size") if isinstance(size := args.get(name), int)]
        return math.prod(sizes)

    def _boot_seconds(self) -> float | None:
        """By the log's own clock, whole seconds: from its first stamped line to the ready line."""
        if self.ready_stamp is None or self.first_stamp is None:
            return None
        return max(0.0, self.ready_stamp - self.first_stamp)

    def _enter(self, stage: Stage | None, line: LogLine) -> list[Event]:
        if stage is None:
            return []
        self._activity[line.rank] = stage
        if stage.order <= self.stage.order:
            return []
        self.stage = stage
        return [StageChanged(stage, line.stamp)]

    def _notice(self, line: LogLine) -> list[Event]:
        text = line.text
        if text.startswith(("INFO: ", "Prefill batch")) or len(self.notices) >= MAX_NOTICES:
            return []
        if not wording.NOTICE.search(text) or wording.NOT_NOTICE.search(text) or text in self.notices:
            return []
        self.notices.append(text)
        return [Notice(text)]
