"""``make bench-search``: CrashAwareSampler against stock samplers on analytic boxes, at equal boot costs.

``python -m tests.bench.bench_search [--boxes dev|exam] [--seeds 5] [--jobs 2] [--only NAME ...]``
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tests.bench.analytic import AnalyticBox
from tests.bench.boxes_dev import DEV_BOXES
from tests.bench.boxes_exam import counts, draw_box
from tests.bench.contestants import contestants
from tests.bench.race import Trace, quiet
from tests.bench.table import box_table, plot, table

EXAM_SEED = 2026113001
"""First used on 2026-11-30, for the table in docs/bench-search.md; earlier samplers had others."""

EXAM_BOXES = 12
OUT = Path(__file__).parent / "out"

Task = tuple[str, AnalyticBox, int]
Done = tuple[str, str, int, Trace]


def _run(task: Task) -> Done:
    quiet()
    name, box, seed = task
    return name, box.name, seed, contestants()[name].run(box, seed)


class Recorder:
    """Keeps every race on disk, so that an interrupted benchmark goes on where it stopped."""

    def __init__(self, path: Path, jobs: int) -> None:
        self._path, self._jobs = path, jobs
        self.results: dict[str, dict[tuple[str, int], Trace]] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            entry = json.loads(line)
            self._keep(entry["sampler"], entry["box"], entry["seed"], Trace(**entry["trace"]))

    def run(self, tasks: Iterable[Task]) -> None:
        """Run what is not known yet."""
        missing = [task for task in tasks if (task[1].name, task[2]) not in self.results.get(task[0], {})]
        if not missing:
            return
        with multiprocessing.get_context("spawn").Pool(self._jobs) as pool, self._path.open("a") as file:
            for name, box, seed, trace in pool.imap_unordered(_run, missing):
                entry = {"sampler": name, "box": box, "seed": seed, "trace": asdict(trace)}
                file.write(json.dumps(entry) + "\n")
                file.flush()
                self._keep(name, box, seed, trace)
                print(f"{name:20s} {box:26s} seed {seed}: {trace.regret_at(60):6.1%} at 60", flush=True)

    def at_60(self, name: str, box: AnalyticBox) -> list[float]:
        return [trace.regret_at(60) for (where, _), trace in self.results[name].items() if where == box.name]

    def _keep(self, name: str, box: str, seed: int, trace: Trace) -> None:
        self.results.setdefault(name, {})[box, seed] = trace


def exam_boxes(recorder: Recorder, seeds: int, seed: int = EXAM_SEED) -> list[AnalyticBox]:
    """Draw boxes until enough count: one nearly crash-free, the others by ``counts``."""
    accepted = [draw_box(seed, 0, nearly_crash_free=True)]
    recorder.run(("random", accepted[0], at) for at in range(seeds))
    index = 1
    while len(accepted) < EXAM_BOXES:
        box = draw_box(seed, index)
        recorder.run((name, box, at) for name in ("random", "tpe") for at in range(seeds))
        if counts(box, recorder.at_60("random", box), recorder.at_60("tpe", box)):
            accepted.append(box)
        index += 1
    return accepted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boxes", choices=("dev", "exam"), default="exam")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=list(contestants()))
    options = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    started = time.monotonic()
    recorder = Recorder(OUT / f"{options.boxes}.jsonl", options.jobs)
    boxes = list(DEV_BOXES) if options.boxes == "dev" else exam_boxes(recorder, options.seeds)
    recorder.run((name, box, seed) for name in options.only for seed in range(options.seeds) for box in boxes)
    names = {box.name for box in boxes}
    results = {
        name: {
            key: trace
            for key, trace in recorder.results[name].items()
            if key[0] in names and key[1] < options.seeds
        }
        for name in options.only
    }
    text = f"{table(results)}\n\n{box_table(results)}\n"
    (OUT / f"{options.boxes}.md").write_text(text)
    plot(
        results,
        OUT / f"{options.boxes}.html",
        f"{len(boxes)} {options.boxes} boxes, {options.seeds} seeds each",
    )
    print(f"{text}\n{time.monotonic() - started:.0f} s; saved in {OUT}")


if __name__ == "__main__":
    main()
