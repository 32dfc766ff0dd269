"""Arithmetic with the moments that the study's tables hold as text."""

from __future__ import annotations

from datetime import UTC, datetime


def seconds_between(start: str, end: str | None = None) -> float:
    """Seconds from one moment to another, or to now."""
    until = datetime.fromisoformat(end) if end else datetime.now(UTC)
    return (until - datetime.fromisoformat(start)).total_seconds()
