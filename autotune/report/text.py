"""The report as plain text: for a terminal, a pipe, a mail without attachments."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.report import words
from autotune.report.content import Report
from autotune.verdict import streams


def as_text(report: Report) -> str:
    """All of it, paragraphs apart."""
    return "\n\n".join("\n".join(lines) for lines in _paragraphs(report) if lines) + "\n"


def _paragraphs(report: Report) -> Iterator[list[str]]:
    yield list(_head(report))
    main, *others = report.verdicts
    yield [main.sentence]
    whose = "the pinned baseline" if main.pinned else "your own settings"
    changes = [_change_line(report, at) for at in range(len(report.changes))]
    yield _section(f"compared with {whose}", changes)
    yield _section("command", report.command.splitlines() if report.command else [])
    others_lines = [f"{streams(v.level)}: {v.sentence}" for v in others]
    yield _section("other levels", [*others_lines, *report.across_levels])
    yield _section("what the winner reached", _measured_lines(report))
    yield _section("what failed", _failure_lines(report))
    yield _section("worth knowing", [*report.known, *(event.text for event in report.events)])
    yield _section("notes", [_note(note.trial, note.text) for note in report.notes])


def _head(report: Report) -> Iterator[str]:
    yield report.title
    if report.simulated:
        yield "SIMULATED: measured on an imagined box; no number of it is real."
    yield f"{report.standing.state.sentence}; {words.counts(report)}"
    if report.machine:
        yield report.machine
    if report.caveat:
        yield report.caveat


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _change_line(report: Report, at: int) -> str:
    change = report.changes[at]
    return f"{change.setting}: {words.value(change.before)} -> {words.value(change.after)}"


def _measured_lines(report: Report) -> list[str]:
    levels = [words.measured(one, simulated=report.simulated) for one in report.measured]
    return [", ".join(f"{name}: {shown}" for name, shown in level.items()) for level in levels]


def _failure_lines(report: Report) -> list[str]:
    lines = []
    for group in report.failures:
        numbers = ", ".join(map(str, group.trials))
        lines.append(f"{len(group.trials)} x {group.kind} (trial {numbers}): {group.example}")
    return lines


def _note(trial: int | None, text: str) -> str:
    return text if trial is None else f"trial {trial}: {text}"
