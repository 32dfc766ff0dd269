"""The report as one HTML file: styles, pictures and the library that draws them are inside it."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from autotune.report import words
from autotune.report.content import Report
from autotune.standing import OUTCOME_LABELS
from autotune.verdict import streams

_MOST_ROWS = 1000
"""Of a picture's table; a mail need not hold more."""


def as_html(report: Report) -> str:
    """The whole file. It loads nothing: its own policy forbids that, whatever a log's text tries."""
    return (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            simulated=report.simulated,
            most_rows=_MOST_ROWS,
            measured=[words.measured(one, simulated=report.simulated) for one in report.measured],
            plotly=Markup(_plotly()),
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("autotune.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"value": words.value, "cell": words.cell, "streams": streams, "inline": _inline}
    environment.globals |= {
        "counts": words.counts,
        "outcome_labels": OUTCOME_LABELS,
        "style": Markup(_file("report.css")),
        "script": Markup(_file("report.js")),
    }
    return environment


def _inline(data: Any) -> Markup:
    """JSON that can stand in a script element, whatever text is in it."""
    return Markup(json.dumps(data).replace("<", "\\u003c").replace("\u2028", "\\u2028"))


def _file(name: str) -> str:
    return resources.files("autotune.report").joinpath(name).read_text("utf-8")


@cache
def _plotly() -> str:
    return resources.files("plotly").joinpath("package_data/plotly.min.js").read_text("utf-8")
