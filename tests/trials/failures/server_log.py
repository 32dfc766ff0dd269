"""Composes whole server logs, with their noise, in the wording of a release. Written from the formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from trials.outcome import Stage

RELEASES = ("0.4.6", "0.5.9", "0.5.23")
SITE = "/usr/local/lib/python3.12/dist-packages"

_ARGS: dict[str, Any] = {
    "model_path": "/models/target",
    "trust_remote_code": True,
    "context_length": 131072,
    "mem_fraction_static": 0.88,
    "max_running_requests": 48,
    "max_total_tokens": None,
    "chunked_prefill_size": 8192,
    "tp_size": 8,
    "device": "cuda",
    "nccl_port": None,
    "dist_timeout": None,
    "watchdog_timeout": 300,
    "host": "127.0.0.1",
    "port": 31000,
    "cuda_graph_max_bs": 128,
    "speculative_algorithm": "EAGLE3",
    "speculative_draft_model_path": "/models/draft",
    "speculative_num_draft_tokens": 4,
    "enable_memory_saver": False,
}
_WEIGHTS_GIB, _CARD_GIB = 71.2, 93.6


@dataclass
class ServerLog:
    """A server's output so far. Every method adds to it; ``text`` is what the file holds."""

    release: str = "0.5.23"
    ranks: int = 8
    args: Mapping[str, Any] = field(default_factory=dict)
    free_gib: float = _CARD_GIB
    lines: list[str] = field(default_factory=list)
    _clock: datetime = datetime(2026, 11, 29, 1, 2, 3)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    @property
    def new(self) -> bool:
        return self.release == "0.5.23"

    def boot(self, until: Stage) -> ServerLog:
        """The story of a boot up to the beginning of a stage (its first lines included)."""
        chapters = (
            (Stage.START, self._start),
            (Stage.INIT_DISTRIBUTED, self._init),
            (Stage.LOAD_WEIGHTS, self._load_begin),
            (Stage.KV_POOL, self._load_end),
            (Stage.GRAPH_CAPTURE, self._capture_begin),
            (Stage.WARM_UP, self._capture_end),
            (Stage.READY, self._ready),
        )
        self._imports()
        for stage, chapter in chapters:
            if stage.order <= until.order:
                chapter()
        return self

    def scheduler_dies(self, message: str, frames: tuple[str, ...] = (), first: int | None = None) -> None:
        """One rank raises, another a moment later; the launcher takes everything down."""
        first = self.ranks // 2 if first is None else first
        self.exception(message, frames, rank=first)
        if self.ranks > 1:
            self.wait(1)
            self.exception(message, frames, rank=(first + 1) % self.ranks)
        self.launcher_gives_up()

    def exception(self, message: str, frames: tuple[str, ...] = (), rank: int = 0) -> None:
        self.say("Scheduler hit an exception: Traceback (most recent call last):", rank=rank)
        self.raw(*self._frames(("scheduler.py:run_scheduler_process", "scheduler.py:__init__", *frames)))
        self.raw(*message.splitlines(), "")

    def uncaught(self, message: str, frames: tuple[str, ...] = ("launch_server.py:<module>",)) -> None:
        """The launcher itself raises."""
        self.raw("Traceback (most recent call last):", *self._frames(frames), *message.splitlines())

    def launcher_gives_up(self) -> None:
        word = "process" if self.release != "0.4.6" else "proces"
        self.say(f"Received sigquit from a child {word}. It usually means the child failed.")
        if self.new:
            self.say("kill_process_tree called: parent_pid=4711, include_parent=True, pid=4711")
        self.raw(
            "[rank1]:[W1129 01:03:00.123456789 ProcessGroupNCCL.cpp:1476] Warning: WARNING: "
            "destroy_process_group() was not called before program exit, which can leak resources.",
            "/usr/lib/python3.12/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: "
            "There appear to be 1 leaked semaphore objects to clean up at shutdown",
            "  warnings.warn('resource_tracker: There appear to be %d '",
            "Killed",
        )

    def decode(self, steps: int = 3) -> ServerLog:
        """Some requests are served."""
        dot = "," if self.new else "."
        for step in range(steps):
            self.say(
                f"Decode batch{dot} #running-req: 8, #token: {4000 + 40 * step}, token usage: 0.02, "
                "accept len: 2.31, accept rate: 0.44, cuda graph: True, "
                "gen throughput (token/s): 611.20, #queue-req: 0",
                rank=0,
            )
            self.say('INFO:     127.0.0.1:40122 - "POST /v1/chat/completions HTTP/1.1" 200 OK')
        return self

    def say(self, text: str, rank: int | None = None) -> None:
        """A line of SGLang's logger; rank None is the launcher."""
        tag = "" if rank is None or self.ranks == 1 else f" TP{rank}"
        self.raw(f"[{self._clock:%Y-%m-%d %H:%M:%S}{tag}] {text}")

    def raw(self, *lines: str) -> None:
        self.lines += lines

    def wait(self, seconds: float) -> None:
        self._clock += timedelta(seconds=seconds)

    def _each(self, text: str, seconds: float = 1) -> None:
        for rank in range(self.ranks):
            self.say(text, rank=rank)
        self.wait(seconds)

    def _imports(self) -> None:
        self.raw(
            f"{SITE}/torch/cuda/__init__.py:61: FutureWarning: The pynvml package is deprecated. Please "
            "install nvidia-ml-py instead.",
            "  import pynvml  # type: ignore[import]",
        )
        self.say(
            "Ignore import error when loading sglang.srt.models.midashenglm: No module named 'torchaudio'"
        )
        self.wait(8)

    def _start(self) -> None:
        args = {**_ARGS, "tp_size": self.ranks, **self.args}
        if self.new:
            del args["cuda_graph_max_bs"]
            self.say(f"server_args={args | {'cuda_graph_max_bs_decode': 128}!r}")
        else:
            self.say("server_args=ServerArgs(" + ", ".join(f"{k}={v!r}" for k, v in args.items()) + ")")
        self.wait(12)

    def _init(self) -> None:
        self._each("Init parallel begin." if self.new else "Init torch distributed begin.", 4)
        self._each(
            "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To "
            "silence this warning, specify disable_custom_all_reduce=True explicitly."
        )

    def _load_begin(self) -> None:
        self._each(f"Load weight begin. avail mem={self.free_gib:.2f} GB", 2)
        self.raw(
            "\rLoading safetensors checkpoint shards:   0% Completed | 0/64 [00:00<?, ?it/s]"
            "\rLoading safetensors checkpoint shards: 100% Completed | 64/64 [00:41<00:00,  1.55it/s]"
        )
        self.wait(41)

    def _load_end(self) -> None:
        left = self.free_gib - _WEIGHTS_GIB
        tail = f"avail mem={left:.2f} GB, mem usage={_WEIGHTS_GIB:.2f} GB."
        if self.release == "0.4.6":
            self._each(f"Load weight end. type=KimiK2ForCausalLM, dtype=torch.bfloat16, {tail}")
        else:
            self._each(f"Load weight end. elapsed=43.11 s, type=KimiK2ForCausalLM, {tail}")

    def _capture_begin(self) -> None:
        self._each(self._pool_line())
        self._each("Memory pool end. avail mem=9.81 GB")
        if self.new:
            self._each(
                "Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=4, "
                "avail mem=9.10 GB"
            )
        else:
            self._each("Capture cuda graph begin. This can take up to several minutes. avail mem=9.10 GB")
        self.raw("\rCapturing batches (bs=128 avail_mem=9.04 GB):   0%|          | 0/20 [00:00<?, ?it/s]")
        self.wait(20)

    def _pool_line(self) -> str:
        if self.release == "0.4.6":
            return "KV Cache is allocated. #tokens: 204800, KV size: 10.06 GB"
        return (
            "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 204800, K size: 5.03 GB, V size: 5.03 GB"
        )

    def _capture_end(self) -> None:
        if self.new:
            self._each(
                "Capture target verify CUDA graph end. bs=[1, 2, 4, 8, 128], elapsed=21.40 s, "
                "mem usage=1.93 GB, avail mem=7.17 GB."
            )
        else:
            self._each("Capture cuda graph end. Time elapsed: 21.40 s. mem usage=1.93 GB. avail mem=7.17 GB.")
        tail = "" if self.release == "0.4.6" else ", available_gpu_mem=7.17 GB"
        self._each(
            "max_total_num_tokens=204800, chunked_prefill_size=8192, max_prefill_tokens=16384, "
            f"max_running_requests=48, context_len=131072{tail}"
        )
        self.say("INFO:     Started server process [4711]")
        self.say("INFO:     Application startup complete.")
        self.say("INFO:     Uvicorn running on http://127.0.0.1:31000 (Press CTRL+C to quit)")
        self.wait(1)

    def _ready(self) -> None:
        self.say('INFO:     127.0.0.1:40000 - "POST /generate HTTP/1.1" 200 OK')
        self.say("The server is fired up and ready to roll!")
        self.wait(30)

    def _frames(self, frames: tuple[str, ...]) -> Iterator[str]:
        for number, frame in enumerate(frames, start=100):
            file, _, function = frame.partition(":")
            yield f'  File "{SITE}/sglang/srt/{file}", line {number}, in {function}'
            yield f"    self.{function.strip('<>')}()"
            if self.release != "0.4.6":
                yield "    ^^^^^^^^^^^^^^^^"
