"""Boots of earlier studies and logs, that a study was told of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "autotune_imports",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.String(24), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("same", sa.Boolean, nullable=False),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("value", sa.Float),
        sa.Column("failure", sa.JSON),
        sa.Column("boot", sa.JSON),
        sa.Column("measurements", sa.JSON, nullable=False),
    )
