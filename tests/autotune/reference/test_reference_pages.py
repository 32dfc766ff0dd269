"""Generated pages are what the code says now, and leave nothing out."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.cli.main import app
from autotune.reference import PAGES
from autotune.reference.study_toml import SECTIONS
from autotune.spec_help import EXPECTED

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "run: make docs"


def test_every_command_has_its_section() -> None:
    commands = [
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    ]
    headings = [line[3:] for line in PAGES["cli.md"]().splitlines() if line.startswith("## ")]
    assert headings == commands


def test_every_key_of_the_study_file_is_explained() -> None:
    keys = {f"{section}.{key}" for section, model in SECTIONS.items() for key in model.model_fields}
    assert keys - {"server.draft_model_path"} == {key for key in EXPECTED if "." in key}


def test_the_contract_of_the_json_api_is_there() -> None:
    text = PAGES["json-api.md"]()
    for path in (
        "/api/studies",
        "/api/studies/{name}/trials/{number}",
        "/api/studies/{name}/export",
        "/healthz",
    ):
        assert f"## GET {path}\n" in text
    assert '`{"kind": "try_settings", "settings": object}`' in text
