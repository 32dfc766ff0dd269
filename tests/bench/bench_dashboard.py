"""The dashboard on a large study: pages, JSON routes, memory, live changes, and what watching costs a night.

``make bench-dashboard``. Prints one line for each figure with its target, at 1,000 trials, and the same at
10,000 without a target. Exits 1 if a target is missed. The browser's figures need Chromium and are left out
without it. On a busy machine believe the processor's seconds rather than the clock's.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from db.journal import Journal
from tests.bench.big_study import write_big_study
from tests.e2e.box_study import BoxStudy

CLIENTS = 20
ASKED_EACH = 30
CHANGES = 8
WATCHED_TRIALS = 8
CHROMIUM = "/usr/bin/chromium"
ROUTES = (
    "",
    "/trials",
    "/trials?sort=tok_s&descending=true&limit=50",
    "/trials?text=memory",
    "/trials/500",
    "/trials/500/gpus",
    "/trials/500/figures/gpus",
    "/trials/0/log",
    "/trials/0/log?line=100000",
    "/best",
    "/best?level=48",
    "/export",
    "/requests",
    "/figures",
    "/figures/history",
    "/figures/crash-map",
    "/figures/importance",
    "/figures/slice",
    "/figures/parallel",
    "/figures/tradeoff",
    "/figures/levels",
    "/figures/timeline",
    "/figures/boot-times",
)


@dataclass(frozen=True)
class Figure:
    """One measured number; ``target``: at most this, None for none."""

    name: str
    value: float
    unit: str
    target: float | None

    @property
    def missed(self) -> bool:
        return self.target is not None and self.value > self.target

    def __str__(self) -> str:
        target = "" if self.target is None else f"  (at most {self.target:g} {self.unit})"
        return f"{self.name:<58} {self.value:>9.2f} {self.unit}{target}{'  MISSED' if self.missed else ''}"


@contextmanager
def dashboard(target: Path) -> Iterator[tuple[psutil.Process, str]]:
    command = [sys.executable, "-m", "autotune.dashboard", str(target), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield psutil.Process(process.pid), process.stdout.readline().strip()
        finally:
            process.terminate()


def measure_size(trials: int, folder: Path, *, targets: bool) -> list[Figure]:
    """All figures at one number of trials."""

    def limit(value: float) -> float | None:
        return value if targets else None

    path = folder / f"big-{trials}" / "study.db"
    begun = time.monotonic()
    with write_big_study(path, trials) as journal, dashboard(path) as (process, home):
        print(f"{trials:,} trials written in {time.monotonic() - begun:.0f} s", flush=True)
        base = f"{home}studies/{path.parent.name}"
        first = _seconds(base)
        found = [Figure("first page from a cold server", first, "s", limit(1.0))]
        found += [Figure("page, warm, p95", _p95(base) * 1000, "ms", None)]
        found += [
            Figure(
                f"GET /api/studies/NAME{route}, p95",
                _p95(f"{home}api/studies/{path.parent.name}{route}") * 1000,
                "ms",
                limit(100),
            )
            for route in ROUTES
        ]
        found += [_after_a_change(journal, f"{home}api/studies/{path.parent.name}/trials")]
        found += _in_a_browser(journal, base, limit)
        found += [Figure("memory of the server", process.memory_info().rss / 2**20, "MB", limit(300))]
    return found


def _seconds(url: str) -> float:
    begun = time.monotonic()
    httpx.get(url, timeout=60).raise_for_status()
    return time.monotonic() - begun


def _p95(url: str) -> float:
    with httpx.Client(timeout=60) as client:
        times = []
        for _ in range(ASKED_EACH + 1):
            begun = time.monotonic()
            client.get(url).raise_for_status()
            times.append(time.monotonic() - begun)
    return statistics.quantiles(times[1:], n=20)[-1]


def _after_a_change(journal: Journal, url: str) -> Figure:
    """What the first reader after a change pays."""
    times = []
    for number in range(CHANGES):
        journal.notice(f"change {number}")
        time.sleep(0.3)
        times.append(_seconds(url))
    return Figure("trials, first request after a change, median", statistics.median(times) * 1000, "ms", None)


def _in_a_browser(journal: Journal, url: str, limit: Any) -> list[Figure]:
    if not Path(CHROMIUM).exists():
        print("the browser's figures are left out: there is no Chromium", flush=True)
        return []
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        begun = time.monotonic()
        page.goto(url, wait_until="commit")
        page.wait_for_selector("#best .big")
        page.wait_for_selector("#connection:not([hidden])")
        usable = time.monotonic() - begun
        shown = [_until_shown(page, journal, number) for number in range(CHANGES)]
        browser.close()
    return [
        Figure("page usable and live in a browser", usable, "s", limit(1.0)),
        Figure("a change on screen, slowest", max(shown), "s", limit(1.0)),
    ]


def _until_shown(page: Any, journal: Journal, number: int) -> float:
    text = f"seen as number {number}"
    begun = time.monotonic()
    journal.notice(text)
    page.wait_for_function("text => document.getElementById('events').textContent.includes(text)", arg=text)
    return time.monotonic() - begun


@dataclass(frozen=True)
class Watched:
    """A box study that was watched: its time, s; the dashboard's processor time, s; changes per client."""

    seconds: float
    dashboard_s: float
    changes: float


def watching_costs(folder: Path, pairs: int) -> list[Figure]:
    """A box study alone and with ``CLIENTS`` watching, in turn: what they add to its time.

    Single studies differ by one percent either way, so the means are compared, and the spread is printed. The
    dashboard's own processor time is the steadier figure: what it takes cannot be the runner's.
    """
    alone, watched = [], []
    for pair in range(pairs):
        watches = [lambda at: alone.append(_box_study(at)), lambda at: watched.append(_watched_box_study(at))]
        for number, run in enumerate(watches if pair % 2 else watches[::-1]):
            run(folder / f"pair-{pair}-{number}")
        print(f"alone {alone[-1]:.1f} s, watched {watched[-1].seconds:.1f} s", flush=True)
    seconds = sum(one.seconds for one in watched)
    slower = seconds / sum(alone) - 1
    busy = sum(one.dashboard_s for one in watched) / seconds
    return [
        Figure(f"box study, {CLIENTS} clients watching: slower by", 100 * slower, "%", 2.0),
        Figure("dashboard's processor time meanwhile", 100 * busy, "% of a core", None),
        Figure("changes that each client saw", statistics.mean(one.changes for one in watched), "", None),
    ]


def _box_study(folder: Path) -> float:
    folder.mkdir(exist_ok=True)
    begun = time.monotonic()
    BoxStudy.write(folder, trials=WATCHED_TRIALS).run()
    return time.monotonic() - begun


def _watched_box_study(folder: Path) -> Watched:
    (folder / "studies").mkdir(parents=True)
    with dashboard(folder / "studies") as (process, home), _watchers(f"{home}studies/small") as watchers:
        before = sum(process.cpu_times()[:2])
        seconds = _box_study(folder)
        used = sum(process.cpu_times()[:2]) - before
        watchers.terminate()
        seen = watchers.communicate(timeout=60)[0]
    return Watched(seconds, used, int(seen.split()[0]) / CLIENTS)


def _watchers(page: str) -> subprocess.Popen[str]:
    """The clients, once they are there: their start is not what they cost."""
    watchers = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.watchers", page, "--clients", str(CLIENTS)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watchers.stdout is not None
    watchers.stdout.readline()
    return watchers


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="bench-dashboard-"))
    found: list[Figure] = []
    try:
        for trials in options.trials:
            print(f"\n{trials:,} trials")
            sized = measure_size(trials, folder, targets=trials <= 1000)
            print(*sized, sep="\n", flush=True)
            found += sized
        if options.pairs:
            print("\nwatching")
            watching = watching_costs(folder, options.pairs)
            print(*watching, sep="\n", flush=True)
            found += watching
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return int(any(figure.missed for figure in found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, nargs="*", default=[1000, 10_000])
    parser.add_argument("--pairs", type=int, default=4, help="box studies alone and watched; 0: none")
    return parser


if __name__ == "__main__":
    sys.exit(main())
