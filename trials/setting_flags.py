"""Which server flags each setting decides: none of them may also stand among the fixed arguments.

Spellings of all releases that were looked at (0.5.9 to 0.5.23), prefixes that argparse takes included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trials.settings import FLAG_PREFIX

_FLAGS: dict[str, tuple[str, ...]] = {
    "mem_fraction_static": ("--mem-fraction-static",),
    "cuda_graph_max_bs": ("--cuda-graph-max-bs", "--cuda-graph-max-bs-decode", "--cuda-graph-bs"),
    "max_running_requests": ("--max-running-requests",),
    "chunked_prefill_size": ("--chunked-prefill-size",),
    "layout": (
        *("--tp-size", "--tensor-parallel-size", "--tp"),
        *("--ep-size", "--expert-parallel-size", "--ep"),
        *("--dp-size", "--data-parallel-size", "--dp"),
        *("--attn-dp-size", "--enable-dp-attention"),
    ),
    "speculative_algorithm": ("--speculative-algorithm", "--speculative-algo"),
    "speculative_num_steps": ("--speculative-num-steps",),
    "speculative_eagle_topk": ("--speculative-eagle-topk",),
    "speculative_num_draft_tokens": ("--speculative-num-draft-tokens",),
    "all_reduce": (
        "--disable-custom-all-reduce",
        "--enable-torch-symm-mem",
        "--enable-symm-mem",
        "--enable-mscclpp",
        "--enable-flashinfer-allreduce-fusion",
        "--flashinfer-allreduce-fusion-backend",
    ),
}

PLAN_FLAGS: dict[str, tuple[str, ...]] = {
    "model_path": ("--model-path", "--model"),
    "draft_model_path": ("--speculative-draft-model-path", "--speculative-draft-model"),
}
"""Flags that the plan itself sets."""


def flags_of(setting: str) -> tuple[str, ...]:
    """Every spelling of the flags that a setting decides; nothing for an environment variable."""
    if setting.startswith(FLAG_PREFIX):
        return ("--" + setting.removeprefix(FLAG_PREFIX).lstrip("-").replace("_", "-"),)
    return _FLAGS.get(setting, ())


def setting_of(flag: str) -> str | None:
    """The named setting that decides a flag, or None."""
    return next((setting for setting, flags in _FLAGS.items() if flag in flags), None)


def flags_in(args: Iterable[str]) -> Iterator[str]:
    """The flags among a command line's words, ``--name=value`` cut before the value."""
    for word in args:
        if word.startswith("--"):
            yield word.partition("=")[0]
