"""The passport: everything that is known about a command, for programs and for ``autotune verify``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from autotune.export._base import ExportInput

NAME = "json"
DESCRIPTION = "passport: settings, command, measurements, versions"
FILE_NAME = "passport.json"
MEDIA_TYPE = "application/json"

PASSPORT_VERSION = 1


def write(exported: ExportInput) -> str:
    plain: dict[str, Any] = asdict(exported)
    plain["measurements"] = [measured.model_dump(mode="json") for measured in exported.measurements]
    plain["boot"] = exported.boot.model_dump(mode="json") if exported.boot else None
    return json.dumps({"passport": PASSPORT_VERSION, **plain}, indent=2, ensure_ascii=False) + "\n"
