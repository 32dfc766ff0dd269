"""``autotune verify``: does a recorded command do here what its passport says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from autotune.arms import NORMAL_QUANTILE
from autotune.machine import Machine
from autotune.passport import Passport, RecordedLevel
from autotune.verdict import streams
from trials.argument_checks import ENDPOINT_FLAGS
from trials.fingerprint import fingerprint
from trials.outcome import AnyOutcome, CommandRecord, Completed, Measurement, Stopped

_WEIGHTS_TOLERANCE, _KV_TOLERANCE = 0.01, 0.02
"""Shares. Both follow from settings and sizes; what is left is what drivers and allocators take."""


@dataclass(frozen=True)
class Finding:
    """One thing that was compared.

    Attributes:
        about: What.
        recorded: As the passport has it; None where it says nothing.
        found: As it is here; None where it cannot be known.
        agrees: None where one of the two is unknown.
        decides: A difference here means that the command does not do what the passport says; others only
            explain.
        allowed: How far apart the two may be, as a share; None where they must be equal.
        note: The same in words, with how far apart they are.
    """

    about: str
    recorded: Any
    found: Any
    agrees: bool | None
    decides: bool = True
    allowed: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Verification:
    """All that was compared.

    Attributes:
        failure: Why the command did not run here; empty when it did.
    """

    simulated: bool
    failure: str
    findings: tuple[Finding, ...]

    @property
    def matches(self) -> bool:
        return not self.failure and not self.differences

    @property
    def differences(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.decides and finding.agrees is False]

    @property
    def sentence(self) -> str:
        word = " (SIMULATED: no number of it is real)" if self.simulated else ""
        if self.failure:
            return f"No match{word}: it did not run here: {self.failure}"
        if self.differences:
            names = ", ".join(finding.about for finding in self.differences)
            return f"No match{word}: {names} differ{'s' if len(self.differences) == 1 else ''}."
        others = [
            finding.about for finding in self.findings if not finding.decides and finding.agrees is False
        ]
        though = f"; what else differs: {', '.join(others)}" if others else ""
        agreeing = [finding for finding in self.findings if finding.decides and finding.agrees]
        loosest = max((finding.allowed or 0.0 for finding in agreeing), default=0.0)
        sure = f"the least sure to within {loosest:.1%}"
        return f"Match{word}: all {len(agreeing)} figures that decide agree, {sure}{though}."

    def to_json(self) -> dict[str, Any]:
        findings = [asdict(finding) for finding in self.findings]
        return {
            "match": self.matches,
            "sentence": self.sentence,
            "simulated": self.simulated,
            "failure": self.failure or None,
            "findings": findings,
        }


def verify(passport: Passport, outcome: AnyOutcome, machine: Machine) -> Verification:
    """Compare what a boot showed here with what was recorded."""
    findings = [*_circumstances(passport, outcome, machine), *_models(passport)]
    if outcome.command is not None:
        findings.append(_command(passport, outcome.command, outcome.server_version))
    if isinstance(outcome, Completed | Stopped):
        findings += [*_figures(passport, outcome), *_throughputs(passport, outcome)]
        return Verification(passport.simulated, "", tuple(findings))
    failure = getattr(outcome, "failure", None)
    return Verification(passport.simulated, failure.summary if failure else "interrupted", tuple(findings))


def _circumstances(passport: Passport, outcome: AnyOutcome, machine: Machine) -> Iterator[Finding]:
    pairs = {
        "GPUs": (list(passport.gpu_names), [card.name for card in machine.cards]),
        "links": (passport.links, machine.links),
        "driver": (passport.versions.get("driver"), machine.driver),
        "SGLang": (passport.versions.get("sglang"), outcome.server_version),
    }
    for about, (recorded, found) in pairs.items():
        yield Finding(about, recorded or None, found or None, _same(recorded, found), decides=False)


def _command(passport: Passport, ran: CommandRecord, version: str | None) -> Finding:
    """The flags recorded against those that the settings make here; another release may have other names."""
    recorded = {*_flags(passport.argv), *_flags(passport.left_out)}
    inside = ran.argv.index(passport.server.image) + 1 if passport.server.image in ran.argv else 0
    found = set(_flags(ran.argv[inside:]))
    same_release = _same(passport.versions.get("sglang"), version) is not False
    if recorded == found:
        return Finding("command", "the same flags", "the same flags", True, decides=same_release)
    only_recorded, only_here = _listed(recorded - found), _listed(found - recorded)
    return Finding("command", only_recorded, only_here, False, decides=same_release)


def _flags(argv: Sequence[str]) -> Iterator[str]:
    """Each flag with its values, without the program and the address."""
    starts = [place for place, word in enumerate(argv) if word.startswith("--")]
    for start, end in pairwise([*starts, len(argv)]):
        if argv[start].split("=")[0] not in ENDPOINT_FLAGS:
            yield " ".join(argv[start:end])


def _listed(flags: set[str]) -> str:
    return " ".join(sorted(flags)) or "nothing else"


def _models(passport: Passport) -> Iterator[Finding]:
    for about, path in (
        ("model", passport.server.model_path),
        ("draft model", passport.server.draft_model_path),
    ):
        recorded = passport.versions.get(about)
        found = fingerprint(path) if path else None
        if recorded or found:
            yield Finding(about, recorded, found, _same(recorded, found))


def _figures(passport: Passport, outcome: AnyOutcome) -> Iterator[Finding]:
    recorded: Mapping[str, Any] = passport.boot.model_dump() if passport.boot else {}
    found: Mapping[str, Any] = outcome.boot.model_dump() if outcome.boot else {}
    for about, name, tolerance in (
        ("weights per GPU, GiB", "weights_gib", _WEIGHTS_TOLERANCE),
        ("KV tokens", "kv_tokens", _KV_TOLERANCE),
    ):
        before, now = recorded.get(name), found.get(name)
        agrees = None if not before or now is None else abs(now / before - 1) <= tolerance
        yield Finding(about, before, now, agrees, allowed=tolerance, note=f"may differ by {tolerance:.0%}")
    yield Finding("what ran", dict(passport.ran), dict(outcome.ran), passport.ran == outcome.ran)


def _throughputs(passport: Passport, outcome: AnyOutcome) -> Iterator[Finding]:
    for recorded in passport.reached:
        measured = next((m for m in outcome.measurements if m.level == recorded.level), None)
        if recorded.throughput is not None:
            yield _throughput(recorded, measured, passport.boot_noise)


def _throughput(recorded: RecordedLevel, measured: Measurement | None, boot_noise: float) -> Finding:
    """Two means are held apart only by more than both their 95 % intervals allow together."""
    about = f"tok/s at {streams(recorded.level)}"
    assert recorded.throughput is not None
    before = recorded.throughput.tok_s
    if measured is None or measured.decode_tok_s <= 0:
        return Finding(about, before, None, None)
    allowed = math.hypot(_half(before, recorded.throughput.ci95), _half_of_one_boot(measured, boot_noise))
    apart = math.log(measured.decode_tok_s / before)
    share = math.expm1(allowed)
    note = f"{math.expm1(apart):+.1%}, may differ by {share:.1%}"
    return Finding(about, before, measured.decode_tok_s, abs(apart) <= allowed, allowed=share, note=note)


def _half_of_one_boot(measured: Measurement, boot_noise: float) -> float:
    within = _half(measured.decode_tok_s, measured.decode_tok_s_ci95)
    return max(within, NORMAL_QUANTILE * boot_noise)


def _half(middle: float, interval: tuple[float, float] | None) -> float:
    """Half of an interval's width, in logarithms."""
    if interval is None or min(*interval, middle) <= 0:
        return 0.0
    return (math.log(interval[1]) - math.log(interval[0])) / 2


def _same(recorded: object, found: object) -> bool | None:
    return None if not recorded or not found else recorded == found
