"""Ways of writing a measured command down, one module per format."""

from __future__ import annotations

from typing import cast

from autotune.export import compose, docker, passport, sglang_yaml, sh, systemd
from autotune.export._base import ExportInput, Format

__all__ = ["FORMATS", "ExportInput", "Format"]

_MODULES = (sh, docker, compose, systemd, sglang_yaml, passport)

FORMATS: dict[str, Format] = {module.NAME: cast(Format, module) for module in _MODULES}
"""By name; the first is the default."""
