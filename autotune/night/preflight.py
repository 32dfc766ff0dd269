"""What can be known at 22:00 and would else be found out at 03:00: the machine held against the study."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

import psutil

from autotune.spec import StudySpec
from trials.gpus import GpuCard, GpuProbe, GpuProbeError
from trials.launch import box_state
from trials.left_behind import gpu_holdings
from trials.marks import abandoned_processes
from trials.model_facts import model_folder
from trials.ports import NoFreePortError, fresh_port
from trials.probes import open_probe
from trials.prompts import PromptFileError, load_prompts
from trials.settings import Layout

Level: TypeAlias = Literal["ok", "warning", "error"]

BUSY_MIB = 1024
"""Memory in use on a card that is not idle; a driver and a display server hold less."""
LOGS_MIB, LEAST_MIB = 2048, 256
"""Room for a night's compressed server logs, and what even a short one needs."""
SANE_SINCE = datetime(2025, 1, 1, tzinfo=UTC)
_MIB, _GIB = 1 << 20, 1 << 30


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        about: What, in one word or two.
        sentence: How it is and, unless it is well, what to do.
    """

    about: str
    level: Level
    sentence: str


@dataclass(frozen=True)
class Surroundings:
    """What the checks look at."""

    spec: StudySpec
    folder: Path
    probe: GpuProbe
    now: datetime


def preflight(spec: StudySpec, folder: Path, probe: GpuProbe) -> list[Finding]:
    """Look at everything; nothing is booted or changed.

    Args:
        folder: Where the study will be, there or not.
    """
    surroundings = Surroundings(spec, folder, probe, datetime.now(UTC))
    return [finding for check in CHECKS for finding in check(surroundings)]


def look_around(spec: StudySpec, folder: Path) -> list[Finding]:
    """``preflight`` for somebody who does not run the study and has no probe at hand."""
    try:
        probe = open_probe(spec.server, box_state(folder))
    except GpuProbeError as error:
        return [Finding("GPUs", "error", str(error))]
    with closing(probe):
        return preflight(spec, folder, probe)


def _gpus(at: Surroundings) -> Iterator[Finding]:
    cards = at.probe.cards()
    if not cards:
        yield Finding("GPUs", "warning", "no GPU can be seen: memory and power will be unknown")
        return
    word = "simulated " if at.spec.server.simulated else ""
    first = cards[0]
    yield Finding("GPUs", "ok", f"{len(cards)} {word}cards: {first.name}, {first.memory_mib:,} MiB")
    if len({(card.name, card.memory_mib) for card in cards}) > 1:
        names = ", ".join(f"GPU {card.index} {card.name} ({card.memory_mib:,} MiB)" for card in cards)
        yield Finding("GPUs", "warning", f"the cards differ ({names}): name equal ones in [server] gpus")
    yield from _enough_for_the_layouts(at.spec, cards)


def _enough_for_the_layouts(spec: StudySpec, cards: Sequence[GpuCard]) -> Iterator[Finding]:
    layouts = spec.space.parameters.get("layout")
    for value in (layouts.values or ()) if layouts else ():
        needed = Layout.parse(str(value)).gpus
        if needed > len(cards):
            sentence = f"layout {value} needs {needed} cards and there are {len(cards)}; it will not be tried"
            yield Finding("layout", "warning", sentence)


def _busy_cards(at: Surroundings) -> Iterator[Finding]:
    try:
        busy = [sample for sample in at.probe.sample() if sample.used_mib > BUSY_MIB]
    except GpuProbeError as error:
        yield Finding("GPUs", "error", f"{error}: restart the machine")
        return
    holdings = gpu_holdings(at.probe) if busy else []
    abandoned = {process.pid for process in abandoned_processes()} if busy else set()
    for sample in busy:
        holders = [holding for holding in holdings if holding.index == sample.index]
        names = ", ".join(f"pid {holder.pid} ({holder.command or '?'})" for holder in holders)
        by = f" by {names}" if names else ", and the driver names no process for it"
        held = f"GPU {sample.index} holds {sample.used_mib:,} MiB{by}"
        if holders and abandoned.issuperset(holder.pid for holder in holders):
            yield Finding("GPUs", "warning", f"{held}, left by a run that died: the next run ends it first")
        else:
            yield Finding("GPUs", "error", f"{held}: end that first")


def _driver(at: Surroundings) -> Iterator[Finding]:
    version = at.probe.driver_version()
    if version:
        yield Finding("driver", "ok", version)


def _models(at: Surroundings) -> Iterator[Finding]:
    server = at.spec.server
    if server.simulated or server.image is not None:
        return
    for about, path in (("model", server.model_path), ("draft model", server.draft_model_path)):
        if path is not None and model_folder(path) is None:
            sentence = (
                f"{path} is neither a folder nor in the Hugging Face cache: the first boot will download it; "
                f"do that now (hf download {path})"
            )
            yield Finding(about, "warning", sentence)


def _disk(at: Surroundings) -> Iterator[Finding]:
    folder = next(parent for parent in (at.folder, *at.folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(folder).free // _MIB
    if free >= LOGS_MIB:
        yield Finding("disk", "ok", f"{free // 1024:,} GiB free for logs")
    else:
        level: Level = "warning" if free >= LEAST_MIB else "error"
        yield Finding("disk", level, f"only {free:,} MiB free at {folder}: make room for the server logs")


def _host_memory(at: Surroundings) -> Iterator[Finding]:
    folder = None if at.spec.server.simulated else model_folder(at.spec.server.model_path)
    if folder is None:
        return
    weights = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    free = psutil.virtual_memory().available
    if weights > free:
        sentence = (
            f"the weights ({weights / _GIB:.0f} GiB) are larger than the free host memory "
            f"({free / _GIB:.0f} GiB): every boot will read them from the disk again"
        )
        yield Finding("host memory", "warning", sentence)


def _ports(_: Surroundings) -> Iterator[Finding]:
    try:
        fresh_port(())
    except NoFreePortError as error:
        yield Finding("ports", "error", str(error))


def _prompts(at: Surroundings) -> Iterator[Finding]:
    try:
        prompts = load_prompts(at.spec.bench.prompts)
    except PromptFileError as error:
        yield Finding("prompts", "error", str(error))
    else:
        yield Finding("prompts", "ok", f"{len(prompts)} prompts ({at.spec.bench.prompts})")


def _clock(at: Surroundings) -> Iterator[Finding]:
    if at.now < SANE_SINCE:
        yield Finding("clock", "error", f"the clock says {at.now:%Y-%m-%d %H:%M} UTC: set it")


CHECKS: tuple[Callable[[Surroundings], Iterator[Finding]], ...] = (
    _gpus,
    _busy_cards,
    _driver,
    _models,
    _disk,
    _host_memory,
    _ports,
    _prompts,
    _clock,
)
