from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from autotune.dashboard.app import create_app
from tests.autotune.dashboard.sample_study import make_sample
from tests.db.nights import Night

HERE = "http://127.0.0.1"


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """A study that no test changes."""
    night = make_sample(tmp_path_factory.mktemp("studies") / "sample")
    yield night
    night.close()


@pytest.fixture(scope="session")
def page(sample: Night) -> Iterator[TestClient]:
    """The dashboard of the sample's folder."""
    with TestClient(create_app(sample.path.parent.parent), base_url=HERE) as client:
        yield client


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    """A study of the test's own."""
    night = Night(tmp_path / "studies" / "night" / "study.db")
    yield night
    night.close()


@pytest.fixture
def own_page(night: Night, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The dashboard of the test's own study, which looks for changes at every request."""
    monkeypatch.setattr("autotune.dashboard.source.CHECK_INTERVAL_S", 0.0)
    with TestClient(create_app(night.path.parent.parent), base_url=HERE) as client:
        yield client
