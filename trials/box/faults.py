"""Faults on demand: what a box does wrong, when, and how often."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

FAULTS_VARIABLE = "AUTOTUNE_BOX_FAULTS"
"""Environment variable with a JSON list of faults, added to those of the box file."""

FaultKind = Literal[
    "hang",
    "kernel_fault",
    "scheduler_dies",
    "garbled_output",
    "accept_one",
    "abort_on_first_forward",
    "orphan_scheduler",
    "memory_comes_back_late",
    "foreign_process",
    "gpu_lost",
    "port_taken",
    "disk_full",
    "log_flood",
    "slow_drip",
    "connection_reset",
]

FaultStage = Literal[
    "start",
    "init_distributed",
    "load_weights",
    "kv_pool",
    "graph_capture",
    "warm_up",
    "serving",
]


class Fault(BaseModel):
    """One thing that goes wrong.

    Attributes:
        kind: What goes wrong.
        stage: Where; "warm_up" is the server's own first request, "serving" those after it.
        probability: Chance per boot.
        every: Only every n-th boot of this box's state folder (the n-th, 2n-th, ...).
        when: Resolved server arguments that must have these values.
        rank: The scheduler that is hit (``TPn``), where one is.
        card: The card that is hit, where one is.
        at_request: In serving, strike at the n-th request.
        at_running: In serving, strike once so many requests run at once.
        after_tokens: Of ``connection_reset``: tokens sent before the connection breaks.
        watchdog: Of ``hang``: SGLang's watchdog notices, prints its line and ends the server.
        signal: Of ``scheduler_dies`` and ``abort_on_first_forward``: the signal (None: 9 and 6).
        mib: Of ``foreign_process``: memory it holds; of ``log_flood``: size of the flood, MiB.
        seconds: How long: memory that comes back late, a lost card (None: for ever).
        factor: Of ``slow_drip``: tokens come so many times slower.
        by_sglang: Of ``port_taken``: the other process is an SGLang server that answers.
        own_session: Of ``orphan_scheduler``: it also leaves the process group and session.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FaultKind
    stage: FaultStage = "serving"
    probability: float = Field(default=1.0, ge=0, le=1)
    every: int = Field(default=1, ge=1)
    when: Mapping[str, str | int | float | bool | None] = Field(default_factory=dict)
    rank: int = 0
    card: int = 0
    at_request: int | None = Field(default=None, ge=1)
    at_running: int | None = Field(default=None, ge=1)
    after_tokens: int = Field(default=16, ge=0)
    watchdog: bool = False
    signal: int | None = None
    mib: int = Field(default=2048, gt=0)
    seconds: float | None = Field(default=None, ge=0)
    factor: float = Field(default=50.0, gt=1)
    by_sglang: bool = False
    own_session: bool = False


class FaultError(ValueError):
    """The environment variable holds no list of faults."""


def faults_from_environment() -> tuple[Fault, ...]:
    """The faults of ``AUTOTUNE_BOX_FAULTS``.

    Raises:
        FaultError: If its value is no JSON list of faults.
    """
    text = os.environ.get(FAULTS_VARIABLE, "").strip()
    if not text:
        return ()
    try:
        return TypeAdapter(tuple[Fault, ...]).validate_python(json.loads(text))
    except (json.JSONDecodeError, ValidationError) as error:
        raise FaultError(f"{FAULTS_VARIABLE} must be a JSON list of faults: {error}") from error


def faults_of_this_boot(
    faults: Iterable[Fault], arguments: Mapping[str, Any], boot: int, rng: random.Random
) -> FaultSet:
    """Draw once per boot which faults strike.

    Args:
        boot: Number of this boot in its state folder, from 1.
    """
    return FaultSet(
        [
            fault
            for fault in faults
            if boot % fault.every == 0
            and all(arguments.get(name) == value for name, value in fault.when.items())
            and rng.random() < fault.probability
        ]
    )


class FaultSet:
    """The faults that strike in this boot."""

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        self._faults = tuple(faults)

    def get(self, kind: FaultKind) -> Fault | None:
        return next((fault for fault in self._faults if fault.kind == kind), None)

    def at_stage(self, stage: str, rank: int) -> list[Fault]:
        """Faults of the boot that strike this rank at this stage."""
        return [fault for fault in self._faults if fault.stage == stage and fault.rank == rank]

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._faults)
