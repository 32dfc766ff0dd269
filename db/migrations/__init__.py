"""Alembic migrations of our tables; Optuna keeps its own under ``alembic_version``."""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Bring our tables to the newest revision, inside the caller's transaction."""
    config = Config()
    config.set_main_option("script_location", "db:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
