"""Our load generator against SGLang's own ``bench_serving``: 256 streams, one fast server, interleaved.

``make bench-load``. Needs the environment of ``make sglang-cpu``. The server sends as fast as it can, so that
the client is the slower side; both ask for the same number of tokens by chat. Prints of each pair throughput
and CPU time per token, and the median ratios (above 1: ours is better). Exits 1 if the median of the
throughputs is below 1. On a busy machine the CPU time is the number to believe: bench_serving's is that of
its process less that of a run with a single short answer.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event

from sglang_bench_serving import run_bench_serving

from trials.load import Dialect, Endpoint, Patience, Request, run_wave
from trials.prompts import Deck, load_prompts

LONGEST_S = 300.0


@contextmanager
def fast_server() -> Iterator[str]:
    command = [sys.executable, "-m", "trials.testing.paced_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


@dataclass(frozen=True)
class Cost:
    """Throughput in tok/s and CPU time in microseconds a token."""

    tok_s: float
    cpu_us: float

    def __str__(self) -> str:
        return f"{self.tok_s:,.0f} tok/s, {self.cpu_us:.1f} us CPU a token"


def ours(url: str, streams: int, tokens: int) -> Cost:
    endpoint = Endpoint.parse(url)
    prompts = Deck(load_prompts(), 0).deal(streams)
    bodies = [endpoint.request_bytes(Dialect.CHAT, Dialect.CHAT.payload(p, tokens)) for p in prompts]
    requests = [Request(body, tokens) for body in bodies]
    begun, cpu = time.monotonic(), time.process_time()
    deadline = begun + LONGEST_S
    wave = asyncio.run(run_wave(endpoint, requests, stop=Event(), deadline=deadline, patience=Patience()))
    seconds, cpu = time.monotonic() - begun, time.process_time() - cpu
    counted = sum(stream.tokens for stream in wave.streams)
    assert counted == streams * tokens, f"{counted} of {streams * tokens} tokens"
    return Cost(counted / seconds, cpu / counted * 1e6)


def theirs(url: str, streams: int, tokens: int, start_up_cpu_s: float) -> Cost:
    """By its own account of the time, which leaves its start-up out."""
    shape = ("--random-input-len", "32", "--random-output-len", str(tokens), "--random-range-ratio", "1")
    report, cpu_s = run_bench_serving(url, streams, ("--dataset-name", "random-ids", *shape))
    cpu_us = (cpu_s - start_up_cpu_s) / (streams * tokens) * 1e6
    return Cost(float(report["output_throughput"]), cpu_us)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--streams", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=512)
    options = parser.parse_args()
    faster, cheaper = [], []
    with fast_server() as url:
        _, start_up_cpu_s = run_bench_serving(url, 1, ("--dataset-name", "random-ids"))
        for pair in range(1, options.pairs + 1):
            mine = ours(url, options.streams, options.tokens)
            other = theirs(url, options.streams, options.tokens, start_up_cpu_s)
            faster.append(mine.tok_s / other.tok_s)
            cheaper.append(other.cpu_us / mine.cpu_us)
            print(f"pair {pair}: ours {mine}; bench_serving {other}", flush=True)
    print(f"at {options.streams} streams: throughput {spread(faster)}, CPU time {spread(cheaper)}")
    return 0 if statistics.median(faster) >= 1 else 1


def spread(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.2f} times as good ({min(ratios):.2f} to {max(ratios):.2f})"


if __name__ == "__main__":
    sys.exit(main())
