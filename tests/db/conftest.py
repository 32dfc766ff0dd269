from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest

from tests.db.nights import Night


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    night = Night(tmp_path / "studies" / "night" / "study.db")
    yield night
    night.close()
