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


@pytest.fixture
def fake_sglang(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH that holds a package like SGLang, version 9.9.9."""
    folder = tmp_path / "site"
    package = folder / "sglang" / "srt"
    package.mkdir(parents=True)
    for place in (package, package.parent):
        (place / "__init__.py").touch()
    (package / "server_args.py").write_text(_FAKE_SERVER_ARGS)
    (package / "environ.py").write_text(_FAKE_ENVIRON)
    (folder / "sglang-9.9.9.dist-info").mkdir()
    (folder / "sglang-9.9.9.dist-info" / "METADATA").write_text("Name: sglang\nVersion: 9.9.9\n")
    return folder


_FAKE_SERVER_ARGS = """
print("a line that imports print")


class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", required=True)
        parser.add_argument("--attention-backend", choices=["fa3", "triton"])
        parser.add_argument("--tp-size", type=int, default=1)
        parser.add_argument("--mem-fraction-static", type=float)
"""
_FAKE_ENVIRON = """
class EnvField: pass


class Envs:
    SGLANG_ENABLE_PCIE_IPC_ALLREDUCE = EnvField()
    OTHER = 1
"""
