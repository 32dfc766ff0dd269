"""A machine that a test has for itself: nights of other tests must not stop the servers that it abandons."""

from __future__ import annotations

from pathlib import Path

import pytest

from trials import owners


def settle(monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    """Give this process an imagined place, named after the test's folder.

    Returns:
        A line of Python that gives another process the same one.
    """
    place = str(folder)
    monkeypatch.setattr(owners, "_this_place", lambda: place)
    return f"from trials import owners; owners._this_place = lambda: {place!r}"
