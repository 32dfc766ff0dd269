"""``autotune check``: the plan of a study, without booting anything."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

import typer

from autotune.check import StudyCheck, check_study
from autotune.cli.commands import BAD_INPUT
from autotune.cli.options import JsonOption, SpecArgument
from autotune.cli.output import say, say_error, say_json
from autotune.night.outlook import outlook
from autotune.night.plans import cache_folder
from autotune.night.preflight import Finding, Level, look_around
from autotune.spec import StudySpec
from db.studies import studies_folder
from trials.probes import count_cards
from trials.rules import rules_for

_STYLES: Mapping[Level, str] = {"ok": "", "warning": "yellow", "error": "bold red"}


def check(spec_file: SpecArgument, json: JsonOption = False) -> None:
    """Validate a study file and print what the study would do, without booting anything."""
    spec = StudySpec.load(spec_file)
    findings = look_around(spec, studies_folder(None) / spec.name)
    checked = check_study(spec, cache_folder(), rules_for(spec.server, count_cards(spec.server)))
    if json:
        say_json({**asdict(checked), "preflight": [asdict(finding) for finding in findings]})
    else:
        _show(checked)
        _show_preflight(spec, findings)
    for problem in checked.problems:
        say_error(str(problem))
    if checked.problems:
        raise typer.Exit(BAD_INPUT)


def _show_preflight(spec: StudySpec, findings: Sequence[Finding]) -> None:
    say("\nthis machine, now:", style="bold")
    for finding in findings:
        say(f"  {finding.level:<8} {finding.about}: {finding.sentence}", style=_STYLES[finding.level])
    say(f"\nthe night: {outlook(spec, datetime.now().astimezone())}")


def _show(checked: StudyCheck) -> None:
    word = " (SIMULATED: no number of it is real)" if checked.simulated else ""
    say(f"{checked.study}{word}", style="bold")
    say(f"server    {checked.server}")
    say(f"budget    {checked.budget}")
    say(f"load      {checked.load}")
    for name, bound in checked.limits.items():
        say(f"limit     {name} = {bound:,g}")
    say("\nspace", style="bold")
    _show_space(checked)
    _show_baseline(checked)
    _show_refusals(checked)


def _show_space(checked: StudyCheck) -> None:
    names = max(len(tunable.name) for tunable in checked.tunables)
    values = max(len(tunable.values) for tunable in checked.tunables)
    for tunable in checked.tunables:
        say(f"  {tunable.name:<{names}}  {tunable.values:<{values}}  {tunable.condition}".rstrip())
    how_many = "no end of" if checked.combinations is None else f"{checked.combinations:,}"
    say(f"{how_many} different servers\n")


def _show_baseline(checked: StudyCheck) -> None:
    if not checked.command:
        return
    given = "the first [[known_good]]" if checked.known_good else "the command as it is given"
    say(f"baseline: {given}", style="bold")
    for name, value in checked.env.items():
        say(f"  export {name}={shlex.quote(value)}")
    say(f"  {shlex.join(checked.command)}")
    if (more := checked.known_good - 1) > 0:
        say(f"and {more} more known-good setting{' is' if more == 1 else 's are'} tried first")


def _show_refusals(checked: StudyCheck) -> None:
    if not checked.refusals:
        return
    say("\nnever booted, because it is known to fail:", style="bold")
    for refusal in checked.refusals:
        say(f"  {max(refusal.share, 0.01):4.0%} of the space: {refusal.reason}")
