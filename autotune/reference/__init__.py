"""Reference pages out of the code: ``python -m autotune.reference docs`` writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autotune.reference import cli, json_api, study_toml

PAGES: Mapping[str, Callable[[], str]] = {
    "study-toml.md": study_toml.document,
    "cli.md": cli.document,
    "json-api.md": json_api.document,
}
"""File name to the function that writes its text."""
