"""What one trial is asked to do: the settings under test and the plan around them. Pure data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

SettingValue: TypeAlias = bool | int | float | str
Settings: TypeAlias = dict[str, SettingValue]

SPECULATION_OFF = "off"
SPECULATIVE_DETAILS = (
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
)
PLAIN_SETTINGS = (
    "mem_fraction_static",
    "cuda_graph_max_bs",
    "max_running_requests",
    "chunked_prefill_size",
)
COMPOSITE_SETTINGS = ("layout", "speculative_algorithm", *SPECULATIVE_DETAILS, "all_reduce")
FLAG_PREFIX = "flag."
ENV_PREFIX = "env."

MARK_VARIABLE = "AUTOTUNE_MARK"
"""Environment variable that every process of a trial carries: ``STUDY_ID:TRIAL:BOOT``."""
OWNER_VARIABLE = "AUTOTUNE_OWNER"
"""Beside the mark: the process that started the server and will stop it (``trials.owners``)."""

_LAYOUT = re.compile(
    r"tp(?P<tp>[1-9]\d*)(?:-ep(?P<ep>[1-9]\d*))?(?:-adp(?P<adp>[1-9]\d*))?(?:-dp(?P<dp>[1-9]\d*))?"
)


@dataclass(frozen=True)
class Layout:
    """How the GPUs are divided, written ``tp{N}[-ep{N}][-adp{N}][-dp{N}]``.

    Attributes:
        tp: GPUs of one replica (``--tp-size``).
        ep: Expert parallel size inside a replica (``--ep-size``).
        adp: Attention data parallelism inside a replica.
        dp: Whole replicas (``--dp-size``).
    """

    tp: int
    ep: int = 1
    adp: int = 1
    dp: int = 1

    @classmethod
    def parse(cls, text: str) -> Layout:
        """Read a layout.

        Raises:
            ValueError: If the text is no layout, or asks for adp and dp together.
        """
        match = _LAYOUT.fullmatch(text)
        if match is None:
            raise ValueError(f"layout {text!r} is not of the form tp8[-ep8][-adp2][-dp2]")
        layout = cls(**{name: int(number) for name, number in match.groupdict(default="1").items()})
        if layout.adp > 1 and layout.dp > 1:
            raise ValueError(f"layout {text!r} asks for adp and dp together; choose one of them")
        return layout

    @property
    def gpus(self) -> int:
        """Cards that the server occupies: tp x dp."""
        return self.tp * self.dp

    def __str__(self) -> str:
        parts = [f"tp{self.tp}"]
        parts += [f"{name}{size}" for name in ("ep", "adp", "dp") if (size := getattr(self, name)) > 1]
        return "-".join(parts)


class Plan(BaseModel):
    """Base of the plan's parts: immutable, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class ServerPlan(Plan):
    """The server under test. Exactly one of ``command``, ``image`` and ``box`` says how it is started."""

    command: tuple[str, ...] | None = None
    image: str | None = None
    box: str | None = None
    model_path: str = Field(min_length=1)
    draft_model_path: str | None = Field(default=None, min_length=1)
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    boot_timeout_s: float = Field(default=1500.0, gt=0)
    gpus: Literal["all"] | tuple[Annotated[int, Field(ge=0)], ...] = "all"

    @property
    def simulated(self) -> bool:
        """True on the simulated box: every number that comes of it must carry the word."""
        return self.box is not None


MOST_STREAMS = 8192
"""More than any machine of eight GPUs carries, and fewer than would break the client."""


class BenchPlan(Plan):
    """How throughput is measured. Levels are numbers of concurrent streams."""

    levels: tuple[Annotated[int, Field(ge=1, le=MOST_STREAMS)], ...] = (1,)
    main_level: int = 1
    prompts: str = "builtin"
    output_tokens: int = Field(default=512, ge=2)
    max_seconds_per_level: float = Field(default=60.0, gt=0)
    stop_hopeless: bool = True


class Limits(Plan):
    """What a winner must also satisfy, at the level whose winner it is. None: no limit."""

    min_kv_tokens: int | None = Field(default=None, gt=0)
    max_ttft_p50_ms: float | None = Field(default=None, gt=0)
    max_ttft_p95_ms: float | None = Field(default=None, gt=0)
    max_itl_p95_ms: float | None = Field(default=None, gt=0)
    max_tpot_p95_ms: float | None = Field(default=None, gt=0)
    min_accept_length: float | None = Field(default=None, ge=1)
    min_per_stream_tok_s: float | None = Field(default=None, gt=0)


class ReferenceAnswer(Plan):
    """One greedy answer of the baseline: what later settings are compared with.

    Attributes:
        prompt_ids: The prompt as the server's tokenizer cut it.
        logprobs: Of each token of the answer when it was decoded, nats.
    """

    prompt: str
    prompt_ids: tuple[int, ...] = ()
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str


class TrialPlan(Plan):
    """Everything around the settings of one trial.

    Attributes:
        folder: The trial's own folder; ``server.log`` is written there.
        workspace: The study's folder, for what its trials share: ports used, the simulated box's state.
        cache: Folder for what outlives a study: the flag catalogues of installed servers.
        mark: ``STUDY_ID:TRIAL``; processes of its boot N carry ``AUTOTUNE_MARK=STUDY_ID:TRIAL:N``.
        reference: The baseline's answers, empty while there is no baseline.
        hopeless_below: tok/s at the main level below which a measurement is given up, or None.
        soak_above: tok/s at the main level from which the server must survive a soak: it may win.
        stage_timeouts_s: Longest silence per stage, learned from earlier boots, s (else the floor).
    """

    server: ServerPlan
    bench: BenchPlan
    limits: Limits = Limits()
    folder: Path
    workspace: Path
    cache: Path
    mark: str
    reference: tuple[ReferenceAnswer, ...] = ()
    hopeless_below: float | None = None
    soak_above: float = 0.0
    stage_timeouts_s: Mapping[str, float] = Field(default_factory=dict)


def is_speculative(settings: Mapping[str, SettingValue]) -> bool:
    return settings.get("speculative_algorithm", SPECULATION_OFF) != SPECULATION_OFF
