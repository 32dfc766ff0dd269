"""A seeded storm over one study: strike, look, start again, and in the end let it finish in peace."""

from __future__ import annotations

import math
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from db.rows import TrialRow
from tests.chaos.chaos_study import ChaosStudy
from tests.chaos.mishaps import KILLS, OTHERS, Mishap
from trials.outcome import Stage

_MOMENTS = ("", *(str(stage) for stage in Stage), "over")
"""When the storm strikes, in order; the empty one is before a trial's first stage."""
_MORE_CALM = 4
"""So much likelier is a strike just after a trial was told: else hardly any trial would be."""
_PATIENCE_S = 15.0
_END_S = 900.0
_PEACEFUL_RUNS = 4

Told = tuple[str, float | None, str | None, str]


@dataclass
class Storm:
    """What happened so far.

    Attributes:
        lock_s: How long the database is locked by another process, s.
        told: Every trial that was ever seen told, as it was seen first.
        struck: Strikes that hit something, by kind.
        missed: Strikes that found nothing to hit.
        changed: Told trials that were different later: what must never happen.
        exits: How runners ended.
    """

    study: ChaosStudy
    rng: random.Random
    lock_s: float
    told: dict[int, Told] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    struck: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    exits: Counter[int] = field(default_factory=Counter)
    starts: int = 0
    trials_before: int = 0
    runner: subprocess.Popen[bytes] = field(init=False)

    def rage(self, schedule: Sequence[Mishap], within_s: float = math.inf) -> None:
        """Strike as scheduled, each time at a random moment of whatever trial then runs.

        Args:
            within_s: Strikes that have not come by then do not come any more.
        """
        end = time.monotonic() + within_s
        self.start()
        for mishap in schedule:
            if time.monotonic() > end:
                break
            if self.runner.poll() is not None:
                self.start()
            self.wait_for_moment(self.rng.choice(_MOMENTS + _MOMENTS[-1:] * _MORE_CALM))
            if mishap.strike(self):
                self.struck[mishap.name] += 1
            else:
                self.missed[mishap.name] += 1
            self.look()

    def calm_down(self, trials: int) -> None:
        """End the storm's last runner and let the study reach so many good trials undisturbed."""
        if self.runner.poll() is None:
            self.runner.kill()
            self.runner.wait()
        for _ in range(_PEACEFUL_RUNS):
            rows = self.look()
            missing = trials - sum(row.outcome == "completed" for row in rows)
            done = sum(row.outcome not in (None, "interrupted") for row in rows)
            self.study.write(done + max(1, missing))
            self.start()
            self.wait_for_end(_END_S)
            if missing <= 1:
                return

    def start(self, env: Mapping[str, str] | None = None) -> None:
        self.starts += 1
        self.trials_before = len(self.study.rows())
        self.runner = self.study.start(env)

    def wait_for_end(self, within_s: float) -> None:
        """Until the runner has ended by itself; it is killed if it takes longer."""
        try:
            self.exits[self.runner.wait(within_s)] += 1
        except subprocess.TimeoutExpired:
            self.runner.kill()
            self.runner.wait()

    def wait_for_moment(self, moment: str) -> None:
        """Until a trial of this runner has come so far; the empty moment is somewhere in its start."""
        if not moment:
            time.sleep(self.rng.uniform(0.0, 2.0))
            return
        self.wait_until(lambda: self._has_come_to(moment))
        time.sleep(self.rng.uniform(0.0, 0.1))

    def _has_come_to(self, moment: str) -> bool:
        number, now = self.study.moment()
        return number >= self.trials_before and _MOMENTS.index(now) >= _MOMENTS.index(moment)

    def wait_until(self, true: Callable[[], object]) -> bool:
        """True when it came true before the runner's end and before patience had one."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline and self.runner.poll() is None:
            if true():
                return True
            time.sleep(0.02)
        return False

    def wait_for_next_trial(self) -> None:
        """Until one more trial is told."""
        before = len(self.study.rows())
        self.wait_until(lambda: sum(row.is_told for row in self.study.rows()) > before)

    def look(self) -> list[TrialRow]:
        """Hold what is told now against what was told before."""
        rows = self.study.rows()
        now = {row.number: _told(row) for row in rows if row.is_told}
        for number, before in self.told.items():
            if now.get(number) != before:
                self.changed.append(f"trial {number} was {before} and is {now.get(number)}")
        self.told = {**now, **self.told}
        return rows


def schedule(rng: random.Random, kills: int, others: int) -> list[Mishap]:
    """So many strikes of each group, in random order, every kind at least once where they suffice."""
    drawn = [*_drawn(rng, KILLS, kills), *_drawn(rng, OTHERS, others)]
    rng.shuffle(drawn)
    return drawn


def _drawn(rng: random.Random, kinds: Sequence[Mishap], count: int) -> list[Mishap]:
    once = list(kinds[:count])
    more = rng.choices(kinds, [kind.share for kind in kinds], k=count - len(once))
    return [*once, *more]


def _told(row: TrialRow) -> Told:
    return row.state, row.value, row.outcome, str(sorted((row.settings or {}).items()))
