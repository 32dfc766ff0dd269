"""How a trial ended and what it showed. Pure data, serialised with ``model_dump(mode="json")``."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from trials.settings import ReferenceAnswer, SettingValue


class Record(BaseModel):
    """Base of all results: immutable, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Stage(StrEnum):
    """Where a trial is, in order."""

    ARGUMENTS = "arguments"
    START = "start"
    INIT_DISTRIBUTED = "init_distributed"
    LOAD_WEIGHTS = "load_weights"
    KV_POOL = "kv_pool"
    GRAPH_CAPTURE = "graph_capture"
    WARM_UP = "warm_up"
    READY = "ready"
    MEASURE = "measure"
    CHECK = "check"
    STOP = "stop"

    @property
    def order(self) -> int:
        return _ORDER[self]


_ORDER = {stage: order for order, stage in enumerate(Stage)}


class FailureKind(StrEnum):
    """What went wrong."""

    KV_POOL_TOO_SMALL = "kv_pool_too_small"
    OOM_KV_POOL = "oom_kv_pool"
    OOM_GRAPH_CAPTURE = "oom_graph_capture"
    OOM_RUNTIME = "oom_runtime"
    OOM_WEIGHTS = "oom_weights"
    OOM_HOST = "oom_host"
    UNSUPPORTED_KERNEL = "unsupported_kernel"
    KERNEL_FAULT = "kernel_fault"
    COMMUNICATION = "communication"
    INVALID_SETTINGS = "invalid_settings"
    HANG = "hang"
    WRONG_OUTPUT = "wrong_output"
    ENVIRONMENT = "environment"
    MODEL = "model"
    UNKNOWN = "unknown"


AtFault: TypeAlias = Literal["settings", "environment"]


class Remedy(Record):
    """One change that would help.

    Attributes:
        bound: The value to go beyond in ``direction``, in the setting's own unit, or None when unknown.
    """

    setting: str
    direction: Literal["raise", "lower", "change"]
    bound: float | None = None


class Failure(Record):
    """Why a trial failed, with the log lines that prove it."""

    kind: FailureKind
    stage: Stage
    summary: str
    evidence: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    at_fault: AtFault


class BootReport(Record):
    """What a boot showed of memory, GiB per GPU, and time, s; None where unknown."""

    weights_gib: float | None = None
    draft_gib: float | None = None
    kv_gib: float | None = None
    kv_tokens: int | None = None
    graphs_gib: float | None = None
    left_gib: float | None = None
    boot_s: float | None = None


class Percentiles(Record):
    """Latency percentiles, ms."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


StoppedBy: TypeAlias = Literal["precision", "time", "requests"]


class Measurement(Record):
    """One load level, measured in its steady state.

    Attributes:
        level: Streams asked for.
        running: Streams that the server ran at once; fewer than ``level`` is marked ``capped``.
        decode_tok_s: Decode throughput over all streams, tok/s.
        decode_tok_s_ci95: Its 95 % interval, tok/s.
        per_stream_tok_s: Decode throughput of one stream, tok/s.
        accept_length: Mean tokens per verify step (1.0: no draft token accepted).
        no_graph_share: Share of decode batches that ran without a captured graph, 0 to 1.
        kv_use: Largest share of the KV pool in use, 0 to 1.
        requests: Answers that ended before measuring did.
        output_tokens: Tokens of all answers, ended or not, by the server's count.
        seconds: Length of all steady windows together, s.
        notes: What a reader must know about this number, one sentence each.
    """

    level: int
    running: int
    capped: bool = False
    decode_tok_s: float
    decode_tok_s_ci95: tuple[float, float] | None = None
    per_stream_tok_s: float | None = None
    ttft_ms: Percentiles = Percentiles()
    itl_ms: Percentiles = Percentiles()
    tpot_ms: Percentiles = Percentiles()
    e2e_ms: Percentiles = Percentiles()
    accept_length: float | None = None
    accept_rate: float | None = None
    no_graph_share: float | None = None
    retractions: int | None = None
    kv_use: float | None = None
    requests: int
    output_tokens: int
    seconds: float
    stopped_by: StoppedBy
    notes: tuple[str, ...] = ()


class CommandRecord(Record):
    """What was started, secrets removed.

    Attributes:
        env: The variables that were set on top of the runner's own.
    """

    argv: tuple[str, ...]
    env: dict[str, str] = Field(default_factory=dict)


class Outcome(Record):
    """Base of the five endings.

    Attributes:
        boots: Server starts that this trial took.
        command: The last boot's command, None when nothing was started.
        boot: What the last boot showed, None when it never got so far.
        ran: Settings that the server ignored, replaced or reduced, with the value it used.
        warnings: Sentences worth showing beside the result.
        measurements: One per level, as far as measured.
        reference: The server's greedy answers, collected where the plan had none to compare with.
        server_version: What the server calls itself, None if unsaid.
        seconds: From the trial's start to its end, s, by a clock that nobody sets; None if unknown.
        stop_proven: False when the machine could not be shown clean again; ``left_behind`` then says why.
    """

    boots: int = 1
    command: CommandRecord | None = None
    boot: BootReport | None = None
    ran: dict[str, SettingValue] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    reference: tuple[ReferenceAnswer, ...] = ()
    server_version: str | None = None
    seconds: float | None = None
    stop_proven: bool = True
    left_behind: str = ""


class Completed(Outcome):
    """Booted, measured at every level, output checked."""


class Stopped(Outcome):
    """Given up in the measurement: measured enough to know that it cannot win."""


class SettingsFailed(Outcome):
    """The settings cannot run here."""

    failure: Failure


class EnvironmentFailed(Outcome):
    """The machine, not the settings, was at fault."""

    failure: Failure


class Interrupted(Outcome):
    """Ended from outside (Ctrl-C, ``stop_now``, deadline); says nothing about the settings."""


AnyOutcome: TypeAlias = Completed | Stopped | SettingsFailed | EnvironmentFailed | Interrupted
