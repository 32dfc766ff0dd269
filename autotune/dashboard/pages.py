"""Templates and the words they use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from starlette.templating import Jinja2Templates

from autotune.dashboard import wording
from autotune.dashboard.logs import PAGE_BYTES
from autotune.standing import OUTCOME_LABELS, SHOWN_OUTCOMES, shown_outcome
from autotune.verdict import streams
from trials.outcome import Stage

HERE = Path(__file__).parent

_templates = Jinja2Templates(HERE / "templates")
_templates.env.trim_blocks = _templates.env.lstrip_blocks = True
_templates.env.auto_reload = False
_templates.env.filters.update(
    number=wording.number,
    throughput=wording.throughput,
    duration=wording.duration,
    about=wording.about,
    sentence=wording.sentence,
    moment=wording.moment,
    setting=wording.setting,
    times=wording.times,
    shell=wording.shell,
    evidence=wording.evidence,
    request_words=wording.request_words,
    shown_outcome=shown_outcome,
    outcome_counts=wording.outcome_counts,
    known_versions=wording.known_versions,
    streams=streams,
)
_templates.env.globals.update(
    outcome_choices=list(OUTCOME_LABELS),
    outcome_labels=SHOWN_OUTCOMES,
    state_labels=wording.STATE_LABELS,
    stages=[str(stage) for stage in Stage],
    page_bytes=PAGE_BYTES,
)


def render(request: Request, template: str, context: Mapping[str, Any], status: int = 200) -> Response:
    """A page; everything in ``context`` is escaped."""
    shown = {"may_act": request.state.may_act, **context}
    response = _templates.TemplateResponse(request, template, shown, status_code=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def rendered(template: str, **context: Any) -> str:
    """A part of a page as markup; everything in ``context`` is escaped."""
    return _templates.env.get_template(template).render(**context)
