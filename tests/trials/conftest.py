"""Fixtures for tests of the trials package."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from trials.flags import FlagCatalogue

CatalogueOf = Callable[[str], FlagCatalogue]


@cache
def _catalogue_of(release: str) -> FlagCatalogue:
    """The flags of an SGLang release, as its own parser listed them."""
    path = Path(__file__).parent / "flags" / f"flags-{release}.json"
    return FlagCatalogue.from_dump(json.loads(path.read_text()))


@pytest.fixture(scope="session")
def catalogue_of() -> CatalogueOf:
    return _catalogue_of
