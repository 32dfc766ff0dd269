from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from db.engine import open_reader, open_storage, open_writer
from db.errors import StudyFileError
from db.schema import REVISION, VERSION_TABLE, metadata


def test_the_migrations_lead_to_the_schema(tmp_path: Path) -> None:
    engine = open_writer(tmp_path / "study.db", create=True)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_the_newest_migration_is_the_one_that_readers_expect() -> None:
    config = Config()
    config.set_main_option("script_location", "db:migrations")
    script = ScriptDirectory.from_config(config)
    assert script.get_current_head() == REVISION
    assert all(revision.revision.isdigit() for revision in script.walk_revisions())


def test_optunas_tables_and_ours_keep_their_versions_apart(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    engine = open_writer(path, create=True)
    open_storage(path).engine.dispose()
    with engine.connect() as connection:
        ours = connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar_one()
        theirs = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()
    assert ours == REVISION
    assert theirs.startswith("v")
    engine.dispose()


def test_a_migration_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def upgrade_half(connection: Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE autotune_half (id INTEGER)")
        raise RuntimeError("no more")

    path = tmp_path / "study.db"
    monkeypatch.setattr("db.migrations.upgrade", upgrade_half)
    with pytest.raises(StudyFileError, match="could not be brought up to date: no more"):
        open_writer(path, create=True)
    monkeypatch.undo()
    with open_writer(path, create=True).connect() as connection:
        assert not inspect(connection).has_table("autotune_half")
        assert inspect(connection).has_table("autotune_study")


def test_reading_brings_an_older_study_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    engine = open_writer(path, create=True)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE autotune_imports")
        connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '0001'")
    engine.dispose()
    with open_reader(path) as reader, reader.connect() as connection:
        assert inspect(connection).has_table("autotune_imports")
