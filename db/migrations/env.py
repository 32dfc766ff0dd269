"""Alembic's entry: runs the revisions on the connection that ``db.migrations.upgrade`` hands over."""

from __future__ import annotations

from alembic import context

from db.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
context.run_migrations()
