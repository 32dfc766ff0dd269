"""GPU memory: a window with two ends. Which end it was depends on the stage, never on the words alone."""

from __future__ import annotations

import re
from typing import Final

from trials.failures.case import Case
from trials.failures.family import Advice, Family
from trials.failures.gpu_memory import card_is_taken, names_other_processes, ranks_differ
from trials.outcome import FailureKind, Stage

TORCH_OOM: Final = (
    r"(?:CUDA|HIP) out of memory\. Tried to allocate (?P<asked>[\d.]+ \w+)",
    r"(?:CUDA|HIP) out of memory",
    r"OutOfMemoryError",
    r"CUDA (?:driver )?error: out of memory",
    r"cudaErrorMemoryAllocation",
    r"CUBLAS_STATUS_ALLOC_FAILED",
    r"Triton Error \[CUDA\]: out of memory",
    r"Cuda failure (?:2 )?'out of memory'",
    r"DefaultCPUAllocator: can't allocate memory: you tried to allocate (?P<bytes>\d+) bytes",
)
"""How torch, its libraries and the driver say that a device's memory ran out."""

_SUGGESTION: Final = re.compile(
    r"weights leave no GPU memory for the KV cache under --mem-fraction-static=(?P<current>-?[\d.]+\d)\."
    r" Raise --mem-fraction-static above (?P<suggested>\d+\.\d+)"
)

FRACTION_DOWN = Advice("mem_fraction_static", "lower", "current")
FRACTION_UP = Advice("mem_fraction_static", "raise", "current")
REQUESTS_DOWN = Advice("max_running_requests", "lower", "current")

SERVING: Final = frozenset({Stage.WARM_UP, Stage.READY, Stage.MEASURE, Stage.CHECK, Stage.STOP})
BEFORE_WEIGHTS: Final = frozenset({Stage.START, Stage.INIT_DISTRIBUTED})


def _token_cap_is_not_positive(case: Case) -> bool:
    cap = case.situation.number("flag.max-total-tokens")
    return cap is not None and cap <= 0


def _token_cap_is_set(case: Case) -> bool:
    return case.situation.number("flag.max-total-tokens") is not None


def _raising_cannot_help(case: Case) -> bool:
    current = case.situation.number("mem_fraction_static")
    suggested = _SUGGESTION.search(case.text)
    return current is not None and suggested is not None and float(suggested["suggested"]) <= current


def _another_holds_memory(case: Case) -> bool:
    return names_other_processes(case.text) or card_is_taken(case) or ranks_differ(case)


def _host_memory(case: Case) -> bool:
    return bool(case.situation.server_args.get("device", "cuda") != "cpu")


_SUGGESTED = Family(
    name="fraction too low",
    kind=FailureKind.KV_POOL_TOO_SMALL,
    about_gpu_memory=True,
    signs=(_SUGGESTION.pattern,),
    says="`Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.76. Raise "
    "--mem-fraction-static above 0.781` (since about 0.5.14)",
    summary="mem_fraction_static {current} leaves nothing for the KV pool beside the weights; "
    "it must be above {suggested}.",
    means="The fraction covers weights (target and draft) and KV pool together; the weights alone fill it.",
    remedies=(Advice("mem_fraction_static", "raise", "suggested"),),
)

MEMORY: Final[tuple[Family, ...]] = (
    Family(
        name="token cap not positive",
        kind=FailureKind.INVALID_SETTINGS,
        signs=(r"Not enough memory\. Please try to increase --mem-fraction-static",),
        says="`Not enough memory. Please try to increase --mem-fraction-static.` with `max_total_tokens` "
        "zero or negative in `server_args`",
        summary="--max-total-tokens is not positive, so the KV pool would be empty whatever the memory.",
        means="The message blames the memory, but the cap on tokens is the reason.",
        remedies=(Advice("flag.max-total-tokens", "raise", "current"),),
        when=_token_cap_is_not_positive,
    ),
    Family(
        name="card taken by another process",
        kind=FailureKind.ENVIRONMENT,
        about_gpu_memory=True,
        signs=(
            *TORCH_OOM,
            r"weights leave no GPU memory for the KV cache",
            r"Not enough memory\. Please try to increase --mem-fraction-static",
        ),
        says="any memory refusal, while `Load weight begin. avail mem=` is far below the card's size or "
        "below the other ranks', or torch's message lists another process with memory in use",
        summary="GPU memory ran out because another process holds memory on the same cards.",
        means="A second server, or one left over, gives exactly the words of a wrong fraction.",
        when=_another_holds_memory,
    ),
    Family(
        name="cards unequally full",
        kind=FailureKind.ENVIRONMENT,
        signs=(r"memory capacity is unbalanced",),
        says="`The memory capacity is unbalanced. Some GPUs may be occupied by other processes.`",
        summary="The cards do not have the same free memory: another process holds some of it.",
        means="SGLang compares the ranks' free memory before loading.",
    ),
    Family(
        name="fraction cannot help",
        kind=FailureKind.KV_POOL_TOO_SMALL,
        about_gpu_memory=True,
        signs=_SUGGESTED.signs,
        says="the refusal of `fraction too low`, but what it suggests is not above the current fraction",
        summary="The KV pool got no memory, and the fraction that SGLang suggests ({suggested}) is not above "
        "the current one: raising it cannot help.",
        means="State pools of hybrid models take the memory before the KV pool is sized.",
        remedies=(REQUESTS_DOWN,),
        when=_raising_cannot_help,
    ),
    _SUGGESTED,
    Family(
        name="fraction too low, older wording",
        kind=FailureKind.KV_POOL_TOO_SMALL,
        about_gpu_memory=True,
        signs=(r"Not enough memory\. Please try to increase --mem-fraction-static",),
        says="`Not enough memory. Please try to increase --mem-fraction-static.` (newer: `Current value: "
        "mem_fraction_static=0.76`)",
        summary="mem_fraction_static leaves nothing for the KV pool beside the weights.",
        means="As above; these releases do not say how much would be enough.",
        remedies=(FRACTION_UP,),
    ),
    Family(
        name="pool holds no request, by its token cap",
        kind=FailureKind.KV_POOL_TOO_SMALL,
        signs=(r"max_running_requests? is zero",),
        says="`max_running_request is zero` with `max_total_tokens` set",
        summary="The KV pool, capped by --max-total-tokens, cannot hold a single request.",
        means="max_running_requests is reduced to what the pool holds, here to nothing.",
        remedies=(Advice("flag.max-total-tokens", "raise", "current"),),
        when=_token_cap_is_set,
    ),
    Family(
        name="pool holds no request",
        kind=FailureKind.KV_POOL_TOO_SMALL,
        about_gpu_memory=True,
        signs=(
            r"max_running_requests? is zero",
            r"(?:cannot|can't|unable to) (?:serve|hold|fit) any requests?",
            r"[Nn]ot enough (?:GPU )?memory for (?:the )?(?:KV|mamba|Mamba|SWA)",
            r"Not enough space for mamba cache",
        ),
        says="`max_running_request is zero`, `Not enough space for mamba cache`",
        summary="The pool that is left beside the weights cannot hold a single request.",
        means="max_running_requests is reduced to what the pool holds, here to nothing.",
        remedies=(FRACTION_UP,),
    ),
    Family(
        name="KV slots used up",
        kind=FailureKind.KV_POOL_TOO_SMALL,
        signs=(r"(?:Prefill out|Decode out|Out) of memory\. Try to lower your batch size",),
        says="`Prefill out of memory. Try to lower your batch size.`, `Decode out of memory. ...`",
        summary="The KV pool had no free slot for the next tokens; GPU memory as such did not run out.",
        means="The message is about slots of the KV pool: it needs a bigger pool or fewer requests.",
        remedies=(FRACTION_UP, REQUESTS_DOWN),
    ),
    Family(
        name="request slots used up",
        kind=FailureKind.KV_POOL_TOO_SMALL,
        signs=(r"alloc_req_slots runs out of memory",),
        says="`alloc_req_slots runs out of memory. Please set a smaller number for --max-running-requests.`",
        summary="More requests ran than the table of request slots holds.",
        means="The slots are counted by max_running_requests; GPU memory did not run out.",
        remedies=(REQUESTS_DOWN,),
    ),
    Family(
        name="host pool too big",
        kind=FailureKind.OOM_HOST,
        signs=(r"Not enough host memory available", r"No host memory is left for HiCache"),
        says="`Not enough host memory available. Requesting ... GB but only have ... GB free.`",
        summary="The host has not the memory for the hierarchical cache.",
        means="HiCache pins host memory in proportion to the KV pool.",
        remedies=(
            Advice("flag.hicache-ratio", "lower", "current"),
            Advice("flag.hicache-size", "lower", "current"),
        ),
    ),
    Family(
        name="host memory refused",
        kind=FailureKind.OOM_HOST,
        signs=(
            r"DefaultCPUAllocator: (?:can't allocate|not enough) memory",
            r"\[Errno 12\] Cannot allocate memory",
            r"^MemoryError\b",
        ),
        says="`DefaultCPUAllocator: can't allocate memory` on a GPU server, `[Errno 12] ...`",
        summary="The host refused memory to the server.",
        means="Not the cards but the machine's own memory is short.",
        when=_host_memory,
    ),
    Family(
        name="card full before the weights",
        kind=FailureKind.ENVIRONMENT,
        about_gpu_memory=True,
        signs=TORCH_OOM,
        says="`CUDA out of memory` before `Load weight begin`",
        summary="GPU memory ran out before this server had loaded anything: something else holds it.",
        means="At this point the server itself needs about a gigabyte.",
        stages=BEFORE_WEIGHTS,
    ),
    Family(
        name="weights do not fit",
        kind=FailureKind.OOM_WEIGHTS,
        about_gpu_memory=True,
        signs=TORCH_OOM,
        says="`CUDA out of memory` between `Load weight begin` and `Load weight end`",
        summary="The weights do not fit on the cards with this layout.",
        means="The fraction plays no role yet: weights (target or draft) per GPU exceed the memory.",
        remedies=(
            Advice("layout", "change"),
            Advice("speculative_algorithm", "change", speculative=True),
        ),
        stages=frozenset({Stage.LOAD_WEIGHTS}),
    ),
    Family(
        name="fraction too high for the pool",
        kind=FailureKind.OOM_KV_POOL,
        about_gpu_memory=True,
        signs=TORCH_OOM,
        says="`CUDA out of memory` while the KV pool is allocated, after `Load weight end`",
        summary="The KV pool that mem_fraction_static asks for does not fit beside what is on the card.",
        means="The fraction counts weights and pool, not what the process and its libraries hold besides.",
        remedies=(FRACTION_DOWN,),
        stages=frozenset({Stage.KV_POOL}),
    ),
    Family(
        name="no memory left for graph capture",
        kind=FailureKind.OOM_GRAPH_CAPTURE,
        about_gpu_memory=True,
        signs=TORCH_OOM,
        says="`Capture cuda graph failed: CUDA out of memory`, or the same after `Capture ... begin`",
        summary="Capturing the CUDA graphs ran out of GPU memory.",
        means="Graphs and their activations live outside the fraction; they grow with the largest captured "
        "batch and with the draft tokens.",
        remedies=(
            FRACTION_DOWN,
            Advice("cuda_graph_max_bs", "lower", "current"),
            Advice("speculative_num_draft_tokens", "lower", "current", speculative=True),
        ),
        stages=frozenset({Stage.GRAPH_CAPTURE}),
    ),
    Family(
        name="no memory left for activations",
        kind=FailureKind.OOM_RUNTIME,
        about_gpu_memory=True,
        signs=TORCH_OOM,
        says="`CUDA out of memory` in warm-up or after the ready line",
        summary="Running requests ran out of GPU memory beside the KV pool.",
        means="Activations of a long prefill or a large batch need what the fraction left over.",
        remedies=(
            FRACTION_DOWN,
            Advice("chunked_prefill_size", "lower", "current"),
            REQUESTS_DOWN,
        ),
        stages=SERVING,
    ),
)
