# ruff: noqa: E501 (sentences and frames stay whole, so that they can be compared with real logs)
"""What a dying SGLang says: tracebacks and sentences, with the numbers of this box.

Wording of the 0.5.23 wheel and of torch 2.9, file positions included; kept here as data so that no other file
of the box holds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from trials.box.memory import CardMemory

SITE = "/usr/local/lib/python3.12/dist-packages/sglang/srt"

DRAFTS_COUNTED_SINCE = (0, 5, 14)
"""From here on the refusal of a fraction that is too low prints its numbers."""

CAPTURE_FAILED = (
    "Possible solutions:\n"
    "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    "2. set --cuda-graph-max-bs-decode to a smaller value (e.g., 16)\n"
    "3. disable decode CUDA graph by --cuda-graph-backend-decode=disabled. "
    "(Not recommended. Huge performance loss)\n"
    "Open an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose \n"
)

OOM_KILLER_SENTENCE = "If exit code is -9 (SIGKILL), a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check."

CUSTOM_DISABLED = (
    "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. "
    "To silence this warning, specify disable_custom_all_reduce=True explicitly."
)

BOOT_FRAMES = (
    "managers/scheduler.py:6362:run_scheduler_process:scheduler = Scheduler(server_args, port_args)",
    "managers/scheduler.py:568:__init__:self.init_model_worker()",
)

SERVING_FRAMES = (
    "managers/scheduler.py:6368:run_scheduler_process:scheduler.run_event_loop()",
    "managers/scheduler.py:6231:_dispatch_event_loop_once:scheduler.event_loop_overlap()",
    "managers/scheduler.py:4704:run_batch:batch_result = self.model_worker.forward_batch_generation(",
    "managers/tp_worker.py:675:forward_batch_generation:out = self.model_runner.forward(",
)

STAGE_FRAMES = {
    "init_distributed": (
        "model_executor/model_runner.py:512:__init__:self.init_torch_distributed()",
        "distributed/parallel_state.py:1921:initialize_model_parallel:_TP = init_model_parallel_group(",
    ),
    "load_weights": (
        "model_executor/model_runner.py:768:initialize:self.load_model()",
        "model_loader/loader.py:702:load_model:model = _initialize_model(model_config, self.load_config)",
    ),
    "kv_pool": (
        "managers/scheduler.py:1137:init_model_worker:self.init_memory_pools()",
        "managers/tp_worker.py:409:alloc_memory_pool:self.model_runner.alloc_memory_pool(",
        "mem_cache/kv_cache_configurator.py:476:configure:config = self._resolve_memory_pool_config(pre_model_load_memory)",
    ),
    "graph_capture": (
        "managers/scheduler.py:1128:init_cuda_graphs:self.tp_worker.init_cuda_graphs()",
        "model_executor/model_runner_components/cuda_graph_setup.py:766:capture_decode_graph:runner = GraphRunnerCls(model_runner)",
    ),
    "warm_up": SERVING_FRAMES[2:],
    "serving": SERVING_FRAMES[2:],
}


def traceback_text(frames: Iterable[str], error: str) -> str:
    """A Python traceback from ``file:line:function:source`` entries."""
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        file, line, function, source = frame.split(":", 3)
        lines += [f'  File "{SITE}/{file}", line {line}, in {function}', f"    {source}"]
    return "\n".join([*lines, error])


def scheduler_exception(stage: str, error: str, frames: Iterable[str] = ()) -> str:
    """The line and traceback with which a scheduler dies."""
    outer = SERVING_FRAMES[:2] if stage in ("warm_up", "serving") else BOOT_FRAMES
    body = traceback_text([*outer, *STAGE_FRAMES.get(stage, ()), *frames], error)
    return f"Scheduler hit an exception: {body}\n"


def no_room_for_kv(fraction: float, memory: CardMemory) -> str:
    minimum = memory.smallest_fraction
    suggested = math.ceil(minimum * 1000) / 1000
    return (
        f"ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={fraction}. "
        f"Raise --mem-fraction-static above {suggested:.3f} (minimum viable = 1 - available/pre = {minimum:.4f}). "
        "If using speculative decoding, draft weights are now counted."
    )


def old_no_room_for_kv(fraction: float) -> str:
    return (
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. "
        f"Current value: self.server_args.mem_fraction_static={fraction}"
    )


NO_TOKENS = "ValueError: Not enough memory. Please try to increase --mem-fraction-static."


def out_of_memory(card: int, total_gib: float, free_gib: float, wanted_gib: float) -> str:
    """torch's sentence, without its exception name."""
    used = max(total_gib - free_gib, 0.0)
    return (
        f"CUDA out of memory. Tried to allocate {_size(wanted_gib)}. GPU {card} has a total capacity of "
        f"{total_gib:.2f} GiB of which {_size(max(free_gib, 0.0))} is free. Including non-PyTorch memory, this "
        f"process has {used:.2f} GiB memory in use. Of the allocated memory {max(used - 1.6, 0.0):.2f} GiB is "
        "allocated by PyTorch, and 212.41 MiB is reserved by PyTorch but unallocated. If reserved but "
        "unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid "
        "fragmentation.  See documentation for Memory Management  "
        "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )


def _size(gib: float) -> str:
    return f"{gib:.2f} GiB" if gib >= 1 else f"{gib * 1024:.2f} MiB"


KERNEL_FAULT = (
    "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
    "Search for `cudaErrorIllegalAddress' in "
    "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might "
    "be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)

GPU_LOST = (
    "torch.AcceleratorError: CUDA error: unspecified launch failure\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might "
    "be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)

NO_SUCH_DEVICE = (
    "torch.AcceleratorError: CUDA error: invalid device ordinal\n"
    "GPU device may be out of range, do you have enough GPUs?\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might "
    "be incorrect.\n"
)

DISK_FULL = "OSError: [Errno 28] No space left on device: '/root/.cache/flashinfer/120f/cached_ops/tmp'"

NOISE_AT_START = (
    f"{SITE}/layers/quantization/gguf.py:76: UserWarning: Only CUDA, MUSA and NPU support GGUF quantization "
    'currently.\n  warnings.warn(f"Only CUDA, MUSA and NPU support GGUF quantization currently.")'
)

LAUNCH_WARNING = (
    f"{SITE.removesuffix('/srt')}/launch_server.py:71: UserWarning: 'python -m sglang.launch_server' is still "
    "supported, but 'sglang serve' is the recommended entrypoint.\n"
    "  Example: sglang serve --model-path <model> [options]\n  warnings.warn("
)

IGNORED_IMPORTS = (
    "Ignore import error when loading sglang.srt.models.grok: No module named 'xai_sdk'",
    "Ignore import error when loading sglang.srt.models.midashenglm: No module named 'torchaudio'",
    "Ignore import error when loading sglang.srt.models.inkling: No module named 'cutlass'",
)


def unbalanced(least_gib: float, mine_gib: float, share: float) -> str:
    return (
        "RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
        f"pre_model_load_memory={least_gib}, local_gpu_memory={mine_gib}, "
        f"local_gpu_memory * {share}={mine_gib * share}"
    )


def small_pool(tokens: int, context_length: int) -> str:
    return (
        f"KV pool holds {tokens} tokens, fewer than --context-length {context_length}. One full-length request "
        "cannot fit, so long requests will be refused or truncated at serving time. Lower --context-length, raise "
        "--mem-fraction-static, or free memory taken before the pool is sized."
    )
