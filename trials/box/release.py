"""SGLang releases, to be compared."""

from __future__ import annotations

import re


def release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
