"""Writes the generated pages into a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from autotune.reference import PAGES

if len(sys.argv) != 2:
    sys.exit("usage: python -m autotune.reference FOLDER")
for name, document in PAGES.items():
    (Path(sys.argv[1]) / name).write_text(document(), encoding="utf-8")
