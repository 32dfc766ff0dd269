"""The parts of a study's page, each rendered on its own so that a change replaces no more than it must."""

from __future__ import annotations

from typing import Any

from autotune.dashboard.logs import find_log, last_lines
from autotune.dashboard.pages import rendered
from autotune.dashboard.source import StudySource
from autotune.dashboard.study_json import study_json
from autotune.export import FORMATS
from autotune.export.from_study import NothingToExportError, winner
from autotune.liveness import run_state

_CALM = ("best", "launch")
"""Parts that change only with the trials."""
_LIVELY = ("title", "notes", "now", "plan", "requests", "events")
TAIL_LINES = 8
NEWEST_RULED_OUT = 10
"""Of the boots that the pre-flight saved, this many are drawn; the JSON has them all."""


def study_parts(source: StudySource, level: int, *, may_act: bool) -> dict[str, Any]:
    """Every part by the id of its element, the log's tail, and ``table``: a number that changes with it."""
    snapshot = source.snapshot()
    state = run_state(snapshot.last_run).word
    parts = source.detail(("parts", level, may_act, state), lambda _: _render(source, level, may_act=may_act))
    return {**parts, "tail": rendered("study/tail.html", tail=_tail(source))}


def study_context(source: StudySource, level: int, *, may_act: bool) -> dict[str, Any]:
    """What the templates of a study's page need."""
    snapshot = source.snapshot()
    return {
        "study": study_json(source.name, snapshot, level),
        "level": level,
        "main_level": snapshot.main_level,
        "command": launch_command(source, level),
        "formats": FORMATS,
        "may_act": may_act,
        "sizes": {card["index"]: card.get("memory_mib") for card in snapshot.study.card.gpus},
        "tail": _tail(source),
        "newest_ruled_out": NEWEST_RULED_OUT,
    }


def launch_command(source: StudySource, level: int) -> str | None:
    """The winner's command as ``autotune export`` writes it, None without a winner."""
    try:
        return exported(source, next(iter(FORMATS)), level)
    except NothingToExportError:
        return None


def exported(source: StudySource, format_name: str, level: int | None) -> str:
    """The winner's command in a format.

    Raises:
        NothingToExportError: If there is no winner at this level.
    """
    key = ("export", format_name, level)
    return source.lasting(
        key, lambda study, connection: FORMATS[format_name].write(winner(connection, study, level))
    )


def _render(source: StudySource, level: int, *, may_act: bool) -> dict[str, Any]:
    context = study_context(source, level, may_act=may_act)
    parts: dict[str, Any] = {name: rendered(f"study/{name}.html", **context) for name in _LIVELY}
    key = ("calm parts", level, context["study"]["state"])
    parts |= source.lasting(
        key, lambda *_: {name: rendered(f"study/{name}.html", **context) for name in _CALM}
    )
    return {**parts, "table": table_version(source)}


def table_version(source: StudySource) -> int:
    """A number that changes with the trials, growing: the table and the pictures are asked for again.

    It changes also when the runner dies, which no trial tells.
    """
    generation: int = source.lasting("version", lambda _, __: source.snapshot().generation)
    return 2 * generation + (run_state(source.snapshot().last_run).word == "died")


def _tail(source: StudySource) -> tuple[str, ...] | None:
    """The newest lines of the running trial's log; None when nobody runs the study here."""
    snapshot = source.snapshot()
    if run_state(snapshot.last_run).word != "running":
        return None
    live = snapshot.live
    path = find_log(source.folder / live.row.folder) if live and live.row.folder else None
    try:
        return last_lines(path, TAIL_LINES) if path else ()
    except OSError:
        return ()
