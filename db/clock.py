"""The one way a moment is written in our tables."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """This moment in UTC, ISO 8601 with milliseconds and ``Z``; sorts as text."""
    return utc_text(datetime.now(UTC))


def utc_text(moment: datetime) -> str:
    """Write an aware datetime as our tables do."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
