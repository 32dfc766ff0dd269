"""The same number as SGLang's own ``bench_serving``? On the real server on CPU, interleaved.

``python tests/bench/bench_tpot.py``. Needs the environment of ``make sglang-cpu``; boots tiny-llama. Same
requests, same concurrency, same definition: mean time per output token after the first. Prints each pair, the
median ratio (ours to theirs) and its spread; exits 1 if the median is outside 0.97 to 1.03.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from sglang_bench_serving import environment, model_folder, run_bench_serving, sglang_python

from trials.load import Dialect, Endpoint, Patience, Request, run_wave
from trials.measure_errors import MeasureError
from trials.ports import fresh_port
from trials.prompts import Deck, Prompt, load_prompts
from trials.readiness import ready_generation
from trials.throughput.approach import flush_cache
from trials.throughput.latency import per_token_s

BOOT_PATIENCE_S = 300.0
LONGEST_S = 300.0
NEAR = (0.97, 1.03)
LONGEST_PROMPT = 900
"""Characters; the tiny tokenizer makes about one token of each."""

FLAGS = (
    *("--device", "cpu", "--attention-backend", "torch_native", "--max-total-tokens", "16384"),
    *("--max-running-requests", "8", "--context-length", "2048", "--mem-fraction-static", "0.3"),
)


@contextmanager
def real_server() -> Iterator[str]:
    port = fresh_port(())
    command = [
        *(sglang_python(), "-m", "sglang.launch_server", "--model-path", model_folder("tiny-llama")),
        *("--port", str(port), *FLAGS),
    ]
    words = [str(part) for part in command]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, env=environment(), stdout=quiet, stderr=quiet) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_ready(url, server)
            yield url
        finally:
            server.terminate()


def wait_until_ready(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + BOOT_PATIENCE_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            ready_generation(url, 30.0)
        except MeasureError:
            time.sleep(1.0)
        else:
            return
    sys.exit("the server did not boot; is `make sglang-cpu` done?")


def flush(url: str) -> None:
    for sentence in asyncio.run(flush_cache(Endpoint.parse(url), Event())):
        sys.exit(sentence)


def our_tpot_ms(url: str, prompts: Sequence[Prompt], tokens: int) -> float:
    endpoint = Endpoint.parse(url)
    bodies = [endpoint.request_bytes(Dialect.CHAT, Dialect.CHAT.payload(p, tokens)) for p in prompts]
    requests = [Request(body, tokens) for body in bodies]
    deadline = time.monotonic() + LONGEST_S
    wave = asyncio.run(run_wave(endpoint, requests, stop=Event(), deadline=deadline, patience=Patience()))
    values = [per_token_s(stream) for stream in wave.streams]
    return 1000 * statistics.fmean(value for value in values if value is not None)


def their_tpot_ms(url: str, prompts: Sequence[Prompt], tokens: int) -> float:
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for prompt in prompts:
            turns = [{"content": prompt.messages[0].content}, {"content": "An answer."}]
            file.write(json.dumps({"conversations": turns}) + "\n")
        file.flush()
        length = ("--sharegpt-output-len", str(tokens))
        arguments = ("--dataset-name", "custom", "--dataset-path", Path(file.name), *length)
        report, _ = run_bench_serving(url, len(prompts), arguments)
    return float(report["mean_tpot_ms"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=1024)
    options = parser.parse_args()
    short = [
        p for p in load_prompts() if len(p.messages) == 1 and len(p.messages[0].content) < LONGEST_PROMPT
    ]
    prompts = Deck([p for p in short if p.messages[0].content.isascii()], 0).deal(options.streams)
    ratios = []
    with real_server() as url:
        our_tpot_ms(url, prompts, options.tokens)  # the first wave on a fresh server is slow
        for pair in range(1, options.pairs + 1):
            flush(url)
            mine = our_tpot_ms(url, prompts, options.tokens)
            flush(url)
            theirs = their_tpot_ms(url, prompts, options.tokens)
            ratios.append(mine / theirs)
            print(f"pair {pair}: ours {mine:.2f} ms, bench_serving {theirs:.2f} ms, ratio {ratios[-1]:.3f}")
    median = statistics.median(ratios)
    print(f"median ratio {median:.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    return 0 if NEAR[0] <= median <= NEAR[1] else 1


if __name__ == "__main__":
    sys.exit(main())
