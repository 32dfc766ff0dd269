"""Numbers and names as people read them: every number with its unit and, where there is one, its interval."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from autotune.standing import OUTCOME_LABELS, shown_outcome

NOTHING = "–"
_MINUTE, _HOUR = 60, 3600
_EVIDENCE_LINE = re.compile(r"(?:line )?(?P<number>\d+): (?P<text>.*)", re.DOTALL)

STATE_LABELS = {
    "new": "not begun",
    "running": "running",
    "ended": "ended",
    "died": "runner died",
    "elsewhere": "runs elsewhere",
}
_VERSION_LABELS = {"model": "model files", "draft model": "draft model files"}
"""What a study records under a model's name is a fingerprint of its files."""


def number(value: float | None) -> str:
    """A number with as many digits as its size deserves, thousands apart."""
    if value is None:
        return NOTHING
    if isinstance(value, int):
        return f"{value:,}"
    decimals = 2 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    return f"{value:,.{decimals}f}"


def throughput(tok_s: float | None, ci95: Sequence[float] | None = None) -> str:
    """tok/s with its 95 % interval, or the word that it has none."""
    if tok_s is None:
        return NOTHING
    if ci95 is None:
        return f"{number(tok_s)} tok/s (interval unknown)"
    return f"{number(tok_s)} tok/s ({number(ci95[0])} to {number(ci95[1])})"


def duration(seconds: float | None) -> str:
    """A length of time in the two units that matter."""
    if seconds is None:
        return NOTHING
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02} min"


def about(seconds: float) -> str:
    """A length of time that was only estimated."""
    if seconds < _MINUTE:
        return "less than a minute"
    return f"about {duration(seconds)}" if seconds >= _HOUR else f"about {round(seconds / _MINUTE)} min"


def sentence(text: str) -> str:
    """Words as a sentence of their own: a capital, unless they begin with a name, and a full stop."""
    first = text.split(" ", 1)[0]
    start = f"{text[:1].upper()}{text[1:]}" if first.isalpha() else text
    return start if start.endswith(".") else f"{start}."


def moment(text: str | None) -> str:
    """A moment in UTC; the page's script turns it into the reader's own time."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M} UTC" if text else NOTHING


def outcome_counts(study: Mapping[str, Any]) -> dict[str, int]:
    """Trials by the outcome that is shown, of those that occur."""
    counts = study["trials"]
    return {shown_outcome(one, study["state"]): counts[one] for one in OUTCOME_LABELS if counts[one]}


def known_versions(versions: Mapping[str, str | None]) -> dict[str, str]:
    """What is known of the programs and models of a study, by its name for people."""
    return {_VERSION_LABELS.get(name, name): version for name, version in versions.items() if version}


def setting(value: Any) -> str:
    """A setting's value; None is one that was left to the server, or did not apply."""
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, float) else str(value)


def shell(start: Mapping[str, Any]) -> str:
    """A server start as somebody would type it."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in start["env"].items()]
    return " ".join([*variables, shlex.join(start["argv"])])


def times(ratio: float | None) -> str:
    """A speed-up."""
    return NOTHING if ratio is None else f"{ratio:.2f}×"


def evidence(line: str) -> tuple[int | None, str]:
    """A line of evidence as the number of its line in the log, None without one, and its text."""
    found = _EVIDENCE_LINE.match(line)
    return (int(found["number"]), found["text"]) if found else (None, line)


def request_words(request: Mapping[str, Any]) -> str:
    """What somebody asked for, as a sentence begins."""
    payload = request["payload"]
    if request["kind"] == "try_settings":
        tried = ", ".join(f"{name} {setting(value)}" for name, value in payload["settings"].items())
        return f"Try {tried}"
    if request["kind"] == "pin_baseline":
        return f"Trial {payload['trial']} is the baseline"
    if request["kind"] == "note":
        return "A note" if payload["trial"] is None else f"A note on trial {payload['trial']}"
    return {"stop_after_trial": "Stop after the running trial", "stop_now": "Stop now"}[request["kind"]]
