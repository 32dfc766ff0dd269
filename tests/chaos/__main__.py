"""``python -m tests.chaos``: the long storm over a study of 60 trials, with a table of its numbers."""

from __future__ import annotations

import argparse
import math
import random
import shutil
import tempfile
import time
from pathlib import Path

from tests.chaos.aftermath import numbers, wrongs
from tests.chaos.chaos_study import ChaosStudy
from tests.chaos.storm import Storm, schedule


def main() -> int:
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="autotune-chaos-"))
    storm = Storm(ChaosStudy(folder, options.seed, options.port), random.Random(options.seed), options.lock_s)
    begun = time.monotonic()
    storm.study.write(options.kills + options.others + options.trials)
    storm.rage(schedule(storm.rng, options.kills, options.others), options.minutes * 60)
    storm.calm_down(options.trials)
    found = wrongs(storm)
    for name, number in numbers(storm, time.monotonic() - begun):
        print(f"| {name} | {number} |")
    print(f"| wrong afterwards | {len(found)} |")
    for sentence in found:
        print(sentence)
    if found:
        print(f"kept for looking: {folder}")
    else:
        shutil.rmtree(folder)
    return min(1, len(found))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--others", type=int, default=36, help="strikes that kill nothing")
    parser.add_argument("--trials", type=int, default=60, help="good trials in the end")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--lock-s", type=float, default=20.0, help="how long the database is locked")
    parser.add_argument("--minutes", type=float, default=math.inf, help="strike no longer than this")
    parser.add_argument("--port", type=int, default=18760, help="of the dashboard")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
