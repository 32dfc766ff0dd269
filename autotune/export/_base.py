"""What every export format is given, and what it must offer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from autotune.arms import Estimate
from autotune.verdict import streams, tok_s_words
from trials.outcome import BootReport, Measurement
from trials.secrets import HIDDEN
from trials.settings import Settings


@dataclass(frozen=True)
class Reached:
    """What a command and the baseline reached at one level, over all their boots; None where unknown."""

    level: int
    throughput: Estimate | None
    baseline: Estimate | None


@dataclass(frozen=True)
class ExportInput:
    """One command that a study measured, with everything that is known about it.

    Attributes:
        trial: The trial that ran it first.
        argv: What ran, with the user's own host and port; secrets are already replaced.
        env: Variables that were set on top of the environment.
        host: Where it will listen.
        image: Container image that it ran in, None on the machine itself.
        gpus: Numbers of the cards that it was confined to, None for all.
        settings: As asked for; ``ran`` says what the server made of some of them.
        level: Streams at which it won.
        verdict: The study's answer at this level (``autotune.verdict.Verdict.to_json``).
        sentence: The same in words.
        measurements: Every level measured in the trial.
        reached: At every level that the study measures.
        boot_noise: Standard deviation between boots of one command, as a share.
        baseline: Settings that everything was compared with, None without a baseline.
        versions: Of programs and models, as the study recorded them; None where unknown.
        gpu_names: One per card.
        links: How the cards are connected, None if unknown.
        server: The study's server (``trials.settings.ServerPlan``), secrets replaced.
        bench: How it was measured (``trials.settings.BenchPlan``).
        measured_at: UTC, ``2026-11-29T21:04:05.123Z``.
        simulated: On the imagined box: the numbers say nothing about hardware.
        confirmed: By fresh boots of the finals.
        left_out: Flags that were left out because they say what the server does anyway.
    """

    study: str
    trial: int
    argv: Sequence[str]
    env: Mapping[str, str]
    host: str
    port: int
    model_path: str
    draft_model_path: str | None
    image: str | None
    gpus: Sequence[int] | None
    settings: Settings
    ran: Settings
    level: int
    verdict: Mapping[str, Any]
    sentence: str
    measurements: Sequence[Measurement]
    boot: BootReport | None
    reached: Sequence[Reached]
    boot_noise: float
    baseline: Settings | None
    versions: Mapping[str, str | None]
    gpu_names: Sequence[str]
    links: str | None
    server: Mapping[str, Any]
    bench: Mapping[str, Any]
    measured_at: str
    simulated: bool
    confirmed: bool
    left_out: tuple[str, ...] = ()

    @property
    def program(self) -> tuple[str, ...]:
        """The words that start the server, before its first flag."""
        return tuple(self.argv[: self._first_flag])

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(self.argv[self._first_flag :])

    @property
    def _first_flag(self) -> int:
        flags = (index for index, word in enumerate(self.argv) if word.startswith("--"))
        return next(flags, len(self.argv))


class Format(Protocol):
    """One way of writing a command down; a module of this package."""

    NAME: str
    DESCRIPTION: str
    FILE_NAME: str
    MEDIA_TYPE: str

    def write(self, exported: ExportInput) -> str:
        """The whole file's text."""


def facts(exported: ExportInput) -> Iterator[str]:
    """What a reader of an exported command should know, one line each, without line breaks inside."""
    version = exported.versions.get("autotune") or ""
    yield f"Found by autotune {version}".strip() + f": study {exported.study}, trial {exported.trial}."
    if exported.simulated:
        yield "SIMULATED: measured on an imagined box; these numbers say nothing about real hardware."
    yield " ".join(exported.sentence.split())
    yield from _other_levels(exported)
    yield f"Measured {exported.measured_at[:16].replace('T', ' ')} UTC on {_machine(exported)}."
    if HIDDEN in [*exported.env.values(), *exported.argv]:
        yield f"Secrets were not recorded: put yours where {HIDDEN} stands."
    if exported.left_out:
        yield f"Left out, since the server does the same without: {' '.join(exported.left_out)}."
    if exported.ran:
        replaced = ", ".join(f"{name} = {value}" for name, value in exported.ran.items())
        yield " ".join(f"The server itself used: {replaced}.".split())


def _other_levels(exported: ExportInput) -> Iterator[str]:
    for reached in exported.reached:
        if reached.level == exported.level or reached.throughput is None:
            continue
        mine = tok_s_words(reached.throughput, exported.simulated)
        yours = tok_s_words(reached.baseline, exported.simulated) if reached.baseline else ""
        against = f", the baseline {yours}" if yours else ""
        yield f"At {streams(reached.level)} it reached {mine}{against}."


def flag_lines(words: Sequence[str]) -> Iterator[list[str]]:
    """A command's words by line: each flag begins one, its values follow."""
    line: list[str] = []
    for word in words:
        if word.startswith("--") and line:
            yield line
            line = []
        line.append(word)
    if line:
        yield line


def _machine(exported: ExportInput) -> str:
    names = sorted(set(exported.gpu_names))
    cards = [f"{exported.gpu_names.count(name)}x {name}" for name in names]
    known = {"SGLang": exported.versions.get("sglang"), "driver": exported.versions.get("driver")}
    if exported.links:
        cards.append(f"over {exported.links}")
    parts = [*cards, *(f"{what} {version}" for what, version in known.items() if version)]
    return " ".join(", ".join(parts).split()) or "a machine that did not say what it is"
