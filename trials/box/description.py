"""The file that describes a box: cards, model, what memory and time cost, and which faults it has."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trials.box.faults import Fault


class BoxError(ValueError):
    """A box that cannot be used, in one sentence."""


class Part(BaseModel):
    """Base of all parts: immutable, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Cards(Part):
    """The GPUs.

    Attributes:
        memory_mib: Memory of one card, MiB.
        context_gib: What CUDA and NCCL hold in each process before any weight is loaded, GiB.
        nvlink: Whether all cards are linked by NVLink (else PCIe only).
        heat_tau_s: Time constant with which a card warms up and cools down, s.
    """

    name: str
    count: int = Field(ge=1)
    memory_mib: int = Field(gt=0)
    compute_capability: tuple[int, int]
    context_gib: float = Field(gt=0)
    nvlink: bool = False
    driver: str = "580.95.05"
    idle_w: float = 30.0
    max_w: float = 600.0
    idle_c: float = 34.0
    max_c: float = 78.0
    sm_clock_mhz: int = 2400
    heat_tau_s: float = Field(default=90.0, gt=0)

    @property
    def memory_gib(self) -> float:
        return self.memory_mib / 1024


class Model(Part):
    """The model and its draft model.

    Attributes:
        sharded_gib: Weights that tensor or expert parallelism divides by the GPUs of a replica, GiB.
        attention_gib: Attention weights, divided only inside one attention group, GiB.
        draft_gib: Draft model per GPU at any layout, GiB.
        kv_kib_per_token: KV cache of one token over all layers in one attention group, KiB.
        kv_divides: True where attention heads divide the KV cache (GQA), False where each GPU
            holds all of it (MLA).
        algorithms: Speculative algorithms for which the model has a draft; the first names its kind.
        auto_draft: Steps, topk and draft tokens that SGLang chooses when none is given.
    """

    name: str
    architecture: str
    draft_architecture: str = "LlamaForCausalLMEagle3"
    sharded_gib: float = Field(gt=0)
    attention_gib: float = Field(ge=0)
    draft_gib: float = Field(default=0.0, ge=0)
    kv_kib_per_token: float = Field(gt=0)
    draft_kv_kib_per_token: float = Field(default=0.0, ge=0)
    kv_divides: bool = False
    attention_heads: int = Field(gt=0)
    experts: int = Field(default=0, ge=0)
    hidden_size: int = Field(gt=0)
    vocab_size: int = Field(gt=0)
    context_length: int = Field(gt=0)
    algorithms: tuple[str, ...] = ()
    auto_draft: tuple[int, int, int] = (3, 1, 4)


class MemoryCosts(Part):
    """What else lives on a card, GiB or MiB per GPU.

    Attributes:
        auto_fraction: ``mem_fraction_static`` when unset; None: SGLang's own formula.
        pool_gib: Attention workspaces and request tables beside the KV pool, GiB.
        graph_gib: Fixed part of captured graphs, GiB.
        graph_mib_per_size: Each captured batch size, MiB.
        graph_mib_per_row: Each token row of the largest captured batch, MiB.
        draft_graph_share: Graphs of the draft model, as a share of the target's.
        activation_mib_per_token: Working memory of a prefill, MiB per token.
        workspaces_gib: Extra memory by all-reduce or A2A name, GiB.
    """

    auto_fraction: float | None = None
    pool_gib: float = Field(default=0.8, ge=0)
    graph_gib: float = Field(default=1.0, ge=0)
    graph_mib_per_size: float = Field(default=20.0, ge=0)
    graph_mib_per_row: float = Field(default=6.0, ge=0)
    draft_graph_share: float = Field(default=0.5, ge=0)
    activation_mib_per_token: float = Field(default=0.35, ge=0)
    workspaces_gib: Mapping[str, float] = Field(default_factory=dict)


class Curve(Part):
    """Decode step time of one layout: (streams in one attention group, ms), ascending."""

    layout: str
    points: tuple[tuple[float, float], ...] = Field(min_length=1)


class AllReduce(Part):
    """One way to all-reduce, relative to NCCL.

    Attributes:
        factor: Multiplies the decode step.
        verify_factor: Multiplies the extra time of a verify step.
        max_rows_from_graph: Serves only batches that fit the captured sizes; larger ones use NCCL.
    """

    factor: float = Field(default=1.0, gt=0)
    verify_factor: float = Field(default=1.0, gt=0)
    max_rows_from_graph: bool = False


class Speed(Part):
    """What a step costs.

    Attributes:
        scale: Multiplies all curves (they come from another source than the anchor).
        gpu_exponent: Step time falls with (GPUs of a replica) to this power where a layout has no curve.
        expert_parallel_factor: Multiplies the step where a layout has no curve with its ep.
        graph_ms_per_size: Added for each unit of graph max bs above ``graph_reference``, ms.
        verify_factor: Verifying rows costs this much more than decoding as many streams.
        verify_extra_ms: Added to each verify step of several tokens with NCCL, ms.
        draft_step_ms: One step of the draft model at topk 1, ms.
        draft_topk_share: A draft step costs this share more for each doubling of topk.
        ngram_ms: Looking up an n-gram draft, ms.
        eager_factor, eager_ms: A step without a captured graph: factor and constant, ms.
        prefill_tok_s: Prefill speed of one replica, tok/s; ``prefill_ms`` is its constant part.
        drift: How much slower a step is on fully warm cards.
        nccl_environment: ``NAME=VALUE`` of the server's environment: it multiplies steps that use NCCL.
        boot_noise, step_noise: Relative standard deviations between boots and between steps.
    """

    curves: tuple[Curve, ...] = Field(min_length=1)
    scale: float = Field(default=1.0, gt=0)
    gpu_exponent: float = 0.6
    expert_parallel_factor: float = Field(default=1.0, gt=0)
    graph_reference: int = 128
    graph_ms_per_size: float = 0.0
    verify_factor: float = Field(default=1.05, gt=0)
    verify_extra_ms: float = Field(default=0.0, ge=0)
    draft_step_ms: float = Field(default=0.9, ge=0)
    draft_topk_share: float = 0.15
    ngram_ms: float = 0.3
    eager_factor: float = Field(default=1.6, ge=1)
    eager_ms: float = Field(default=6.0, ge=0)
    prefill_tok_s: float = Field(gt=0)
    prefill_ms: float = Field(default=30.0, ge=0)
    drift: float = Field(default=0.008, ge=0)
    boot_noise: float = Field(default=0.012, ge=0)
    step_noise: float = Field(default=0.02, ge=0)
    nccl_environment: Mapping[str, float] = Field(default_factory=dict)
    all_reduce: Mapping[str, AllReduce] = Field(default_factory=dict)


class Acceptance(Part):
    """How many draft tokens a verify step accepts, for one algorithm.

    Attributes:
        first: Chance that the first draft token is right.
        decay: Each further position is right this much less often.
        topk_exponent: How much a wider tree helps (0: not at all).
        load_loss: Share of the chance that is lost at 64 streams.
    """

    first: float = Field(gt=0, lt=1)
    decay: float = Field(gt=0, le=1)
    topk_exponent: float = Field(default=0.5, ge=0)
    load_loss: float = Field(default=0.05, ge=0, lt=1)


class BootTimes(Part):
    """Seconds of each boot stage on the real machine; ``time_scale`` shortens them all."""

    start: float = 25.0
    init_distributed: float = 8.0
    load_weights: float = 150.0
    load_draft: float = 10.0
    kv_pool: float = 4.0
    graph_per_size: float = 0.6
    warm_up: float = 8.0


class Refusal(Part):
    """Something this machine cannot do: which request meets it, where, and in which words.

    Attributes:
        when: Resolved server arguments (``all_reduce``, ``moe_a2a_backend``, ...) that meet it.
        unless_equal: Two argument names; no refusal where they are equal.
        error: ``Type: sentence``, as the last line of a traceback.
        frames: ``file:line:function:source`` of the traceback, outermost first.
        others_run_out: The other ranks die of out-of-memory right after.
    """

    when: Mapping[str, str | int | bool]
    unless_equal: tuple[str, str] | None = None
    stage: str
    error: str
    frames: tuple[str, ...] = ()
    others_run_out: bool = False


class BoxDescription(Part):
    """A whole box. Every figure's source stands beside it in the file."""

    description: str
    sglang_version: str = "0.5.23"
    time_scale: float = Field(default=1.0, gt=0)
    custom_all_reduce_forced: bool = False
    pcie_ipc_fails: str | None = None
    cards: Cards
    model: Model
    memory: MemoryCosts = MemoryCosts()
    speed: Speed
    speculation: Mapping[str, Acceptance] = Field(default_factory=dict)
    boot: BootTimes = BootTimes()
    refusals: tuple[Refusal, ...] = ()
    faults: tuple[Fault, ...] = ()


def box_names() -> tuple[str, ...]:
    """The boxes that come with the package."""
    files = resources.files("trials.box.boxes").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def load_box(name_or_file: str) -> BoxDescription:
    """Read a box by name or from a TOML file.

    Raises:
        BoxError: If there is no such box, or its file is wrong.
    """
    try:
        return BoxDescription.model_validate(_read_table(name_or_file))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BoxError(f"box {name_or_file}: key {where}: {first['msg']}") from error


def _read_table(name_or_file: str) -> dict[str, Any]:
    text = _read_text(name_or_file)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BoxError(f"box {name_or_file} is not valid TOML: {error}") from error
    base = table.pop("extends", None)
    return _merged(_read_table(base), table) if base else table


def _read_text(name_or_file: str) -> str:
    file = Path(name_or_file)
    if file.suffix == ".toml" and file.is_file():
        return file.read_text()
    packaged = resources.files("trials.box.boxes") / f"{name_or_file}.toml"
    if "/" in name_or_file or not packaged.is_file():
        raise BoxError(f"no box {name_or_file!r}; write one of {', '.join(box_names())}, or a .toml file")
    return packaged.read_text()


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged
