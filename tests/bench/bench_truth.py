"""``make bench-truth``: are the claims true? A thousand simulated nights per analytic box and kind of gain.

``python -m tests.bench.bench_truth [--nights 1000] [--jobs 2]``
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autotune.verdict import Verdict
from tests.bench.boxes_dev import DEV_BOXES
from tests.bench.simulated_night import GAINS, Gain, Ground, Played, play

OUT = Path(__file__).parent / "out"
_TWO_PERCENT = 0.02
_PARTS = 10
"""A box's nights are dealt to the processes in so many parts."""

Task = tuple[int, range]


@dataclass(frozen=True)
class Row:
    """One box with one kind of gain.

    Attributes:
        covered: Share of the claimed speed-ups' 95 % intervals that hold the truth.
        true: Share of nights whose word is true: an interval that holds, or rightly "nothing was faster".
        half: Median half-width of these, as a share.
        significant: Share of nights that called their gain significant.
        near_best: Share of winners within 1 % of the best that the night booted.
        ceiling: The same of the truly best finalist: what the search had left for the finals to find.
        shortfall: How far the winner is below that best on average, as a share.
        sure: Mean probability that the winner is the best finalist, as claimed; and how often it was.
        early: Of the verdicts before the finals: covered, and claimed more than the interval allows.
        bias: Mean overstatement of the claimed speed-up, after and before the finals.
        boots: Mean number of finals.
    """

    box: str
    noise: float
    gain: Gain
    covered: float
    true: float
    half: float
    significant: float
    near_best: float
    ceiling: float
    shortfall: float
    sure: tuple[float, float]
    early: tuple[float, float]
    bias: tuple[float, float]
    boots: float


@dataclass(frozen=True)
class _Claims:
    covered: float
    too_high: float
    half: float
    bias: float


def _claims(nights: Sequence[Played], pick: Callable[[Played], Verdict]) -> _Claims:
    logs = np.log(
        [
            [verdict.speed_up_ci95[0], verdict.speed_up or 1.0, verdict.speed_up_ci95[1]]
            for night in nights
            if (verdict := pick(night)).speed_up_ci95 is not None
        ]
    ).reshape(-1, 3)
    truths = [n.true_gain(pick(n)) for n in nights if pick(n).speed_up_ci95 is not None]
    low, middle, high = logs.T
    return _Claims(
        covered=float(np.mean((low <= truths) & (truths <= high))),
        too_high=float(np.mean(low > truths)),
        half=float(np.median((high - low) / 2)),
        bias=float(np.mean(middle - truths)),
    )


def summed_up(box: str, noise: float, gain: Gain, nights: Sequence[Played]) -> Row:
    after = _claims(nights, lambda night: night.verdict)
    before = _claims(nights, lambda night: night.early)
    return Row(
        box=box,
        noise=noise,
        gain=gain,
        covered=after.covered,
        true=float(np.mean([night.is_true for night in nights])),
        half=after.half,
        significant=float(np.mean([bool(night.verdict.significant) for night in nights])),
        near_best=float(np.mean([night.shortfall <= 0.01 for night in nights])),
        ceiling=float(np.mean([night.best_shortfall <= 0.01 for night in nights])),
        shortfall=float(np.mean([night.shortfall for night in nights])),
        sure=(
            float(np.mean([night.verdict.probability_best for night in nights])),
            float(np.mean([night.is_best_finalist for night in nights])),
        ),
        early=(before.covered, before.too_high),
        bias=(after.bias, before.bias),
        boots=float(np.mean([night.finals for night in nights])),
    )


def _play(task: Task) -> list[dict[Gain, Played]]:
    place, seeds = task
    ground = Ground(DEV_BOXES[place])
    return [play(ground, seed) for seed in seeds]


def table(rows: Sequence[Row]) -> str:
    lines = [
        "| box | noise | true gain | claims covered (nights whose word is true) | half-width | significant "
        "| winner (best finalist) within 1 % of best; below it on average | best finalist: claimed, true "
        "| bias | finals "
        "| before finals: covered, too high, bias |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [
            row.box.removeprefix("dev-"),
            f"{row.noise:.1%}",
            row.gain,
            f"{row.covered:.1%} ({row.true:.1%})",
            f"{row.half:.1%}",
            f"{row.significant:.1%}",
            f"{row.near_best:.1%} ({row.ceiling:.1%}); {row.shortfall:.2%}",
            f"{row.sure[0]:.0%}, {row.sure[1]:.0%}",
            f"{row.bias[0]:+.2%}",
            f"{row.boots:.1f}",
            f"{row.early[0]:.1%}, {row.early[1]:.1%}, {row.bias[1]:+.2%}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def verdicts(rows: Sequence[Row]) -> str:
    """What was demanded, and whether it was reached."""
    flat = [row for row in rows if row.gain == "none"]
    gained = [row for row in rows if row.gain != "none"]
    two = [row for row in rows if row.noise == _TWO_PERCENT]
    return "\n".join(
        _line(what, seen, low, high)
        for what, seen, low, high in (
            ("the interval covers the truth", [row.covered for row in rows], 0.93, 0.97),
            ("what a night says is true", [row.true for row in rows], 0.93, 0.97),
            ("half-width at 2 % noise", [row.half for row in two], 0.0, 0.04),
            ("a gain of 6 % or more is called significant", [row.significant for row in gained], 0.8, 1.0),
            ("no gain is called significant", [row.significant for row in flat], 0.0, 0.05),
            ("the winner is within 1 % of the best", [row.near_best for row in rows], 0.95, 1.0),
        )
    )


def _line(what: str, seen: Sequence[float], low: float, high: float) -> str:
    held = sum(low <= value <= high for value in seen)
    return (
        f"- {what}: {min(seen):.1%} to {max(seen):.1%}, all rows {np.mean(seen):.1%}; demanded {low:.0%} to "
        f"{high:.0%}, held in {held} of {len(seen)} rows"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    started = time.monotonic()
    rows = []
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for place, box in enumerate(DEV_BOXES):
            tasks = [(place, range(first, options.nights, _PARTS)) for first in range(_PARTS)]
            nights = [night for part in pool.imap(_play, tasks) for night in part]
            for gain in GAINS:
                rows.append(summed_up(box.name, box.noise, gain, [night[gain] for night in nights]))
                print(table(rows[-1:]).splitlines()[-1], flush=True)
    text = f"{options.nights} nights a row\n\n{table(rows)}\n\n{verdicts(rows)}\n"
    (OUT / "truth.md").write_text(text)
    print(f"\n{text}\n{time.monotonic() - started:.0f} s; saved in {OUT / 'truth.md'}")


if __name__ == "__main__":
    main()
