"""Every family against whole logs in several releases' wording, and against near misses."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.trials.failures.server_log import RELEASES, ServerLog
from trials.failures import Diagnosis, MachineFacts, diagnose, diagnose_file
from trials.failures.families import FAMILIES
from trials.outcome import Stage

_TABLES = [
    table
    for path in sorted((Path(__file__).parent / "fixtures").glob("*.toml"))
    for table in tomllib.loads(path.read_text())["case"]
]
_FAMILIES = {family.name: family for family in FAMILIES}


def _variants(key: str) -> Iterator[Any]:
    """Each text of each case, in two releases; the third release takes turns."""
    for index, table in enumerate(_TABLES):
        for number, text in enumerate(table.get(key, ())):
            for release in (RELEASES[-1], RELEASES[(index + number) % 2]):
                name = f"{table['family']}-{number}-{release}".replace(" ", "_")
                yield pytest.param(table, text, release, id=name)


def _compose(table: dict[str, Any], text: str, release: str) -> list[str]:
    stage = Stage(table.get("stage", "kv_pool"))
    log = ServerLog(release, table.get("ranks", 8), table.get("args", {}), table.get("free_gib", 93.6))
    log.boot(stage)
    if stage is Stage.READY:
        log.decode()
    who = table.get("who", "rank")
    if who == "rank":
        log.scheduler_dies(text, tuple(table.get("frames", ())))
    elif who == "launcher":
        log.uncaught(text, tuple(table.get("frames", ("launch_server.py:<module>",))))
    elif who == "line":
        log.say(text)
        log.launcher_gives_up()
    else:
        log.raw(*text.splitlines())
    return log.text.split("\n")


def _diagnosed(table: dict[str, Any], text: str, release: str) -> Diagnosis:
    facts = MachineFacts(**table.get("facts", {}))
    return diagnose(_compose(table, text, release), facts=facts)


@pytest.mark.parametrize(("table", "text", "release"), list(_variants("says")))
def test_a_family_is_recognised_in_a_whole_log(table: dict[str, Any], text: str, release: str) -> None:
    found = _diagnosed(table, text, release)
    assert found.failure is not None
    assert (found.family, found.failure.kind) == (table["family"], table["kind"])
    assert found.failure.stage == table.get("at", table.get("stage", "kv_pool"))
    assert found.failure.at_fault == table["at_fault"]
    assert found.failure.evidence
    assert "{" not in found.failure.summary
    bounds = {remedy.setting: remedy.bound for remedy in found.failure.remedies}
    assert bounds.items() >= table.get("bounds", {}).items()


@pytest.mark.parametrize("table", [table for table in _TABLES if table.get("says")])
def test_the_fast_look_at_a_file_misses_nothing(
    table: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trials.failures.files.HEAD_LINES", 0)
    path = tmp_path / "server.log"
    facts = MachineFacts(**table.get("facts", {}))
    for text in table["says"]:
        path.write_text("\n".join(_compose(table, text, RELEASES[-1])))
        assert diagnose_file(path, facts=facts).failure == _diagnosed(table, text, RELEASES[-1]).failure


@pytest.mark.parametrize(("table", "text", "release"), list(_variants("near")))
def test_a_near_miss_is_not_taken_for_the_family(table: dict[str, Any], text: str, release: str) -> None:
    found = _diagnosed(table, text, release)
    assert found.failure is not None
    assert found.family != table["family"]
    assert found.failure.kind == table["near_is"][table["near"].index(text)]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("table", [table for table in _TABLES if "harmless" in table])
def test_a_harmless_line_with_the_same_words_leaves_the_log_healthy(
    table: dict[str, Any], release: str
) -> None:
    log = ServerLog(release).boot(Stage.READY)
    for text in table["harmless"]:
        log.say(text, rank=0)
        log.raw(text)
    assert diagnose(log.decode().lines).verdict == "healthy"


def test_every_family_has_fixtures_and_a_near_miss() -> None:
    assert {table["family"] for table in _TABLES if table.get("says")} == set(_FAMILIES)
    assert {table["family"] for table in _TABLES if table.get("near") or table.get("harmless")} == set(
        _FAMILIES
    )


@pytest.mark.parametrize("sign", sorted({sign for family in FAMILIES for sign in family.signs}))
def test_no_sign_without_a_fixture(sign: str) -> None:
    users = {family.name for family in FAMILIES if sign in family.signs}
    texts = [text for table in _TABLES if table["family"] in users for text in table.get("says", ())]
    assert any(re.search(sign, text) for text in texts)
