"""``docs/failures.md`` is what the rules say now."""

from __future__ import annotations

from pathlib import Path

from trials.failures.document import document
from trials.failures.families import FAMILIES

_DOCUMENT = Path(__file__).parents[3] / "docs" / "failures.md"


def test_the_document_is_up_to_date() -> None:
    assert _DOCUMENT.read_text(encoding="utf-8") == document(), (
        "run: python -m trials.failures.document > docs/failures.md"
    )


def test_every_family_has_its_section() -> None:
    headings = [
        line[4:].removesuffix(" *(echo)*") for line in document().splitlines() if line.startswith("### ")
    ]
    assert sorted(headings) == sorted(family.name[:1].upper() + family.name[1:] for family in FAMILIES)


def test_family_names_are_unique() -> None:
    names = [family.name for family in FAMILIES]
    assert len(names) == len(set(names))
