"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _study()
    _trials()
    _samples()
    _words()


def _study() -> None:
    op.create_table(
        "autotune_study",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("uuid", sa.String(36), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("simulated", sa.Boolean, nullable=False),
        sa.Column("spec_toml", sa.Text, nullable=False),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Column("versions", sa.JSON, nullable=False),
        sa.Column("gpus", sa.JSON, nullable=False),
        sa.Column("created_at", sa.String(24), nullable=False),
    )
    op.create_table(
        "autotune_runs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("boot_id", sa.Text, nullable=False),
        sa.Column("process_started", sa.Float, nullable=False),
        sa.Column("started_at", sa.String(24), nullable=False),
        sa.Column("boots_planned", sa.Integer),
        sa.Column("ends_by", sa.String(24)),
        sa.Column("ended_at", sa.String(24)),
        sa.Column("how", sa.Text),
    )


def _trials() -> None:
    op.create_table(
        "autotune_trials",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("run", sa.Integer, sa.ForeignKey("autotune_runs.id"), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("proposal", sa.JSON),
        sa.Column("replicate_of", sa.Integer),
        sa.Column("started_at", sa.String(24), nullable=False),
        sa.Column("ended_at", sa.String(24)),
        sa.Column("outcome", sa.String(24)),
        sa.Column("tok_s", sa.Float),
        sa.Column("tok_s_low", sa.Float),
        sa.Column("tok_s_high", sa.Float),
        sa.Column("failure_kind", sa.String(32)),
        sa.Column("failure_stage", sa.String(32)),
        sa.Column("failure_summary", sa.Text),
        sa.Column("result", sa.JSON),
    )
    op.create_table(
        "autotune_boots",
        sa.Column("trial", sa.Integer, sa.ForeignKey("autotune_trials.number"), primary_key=True),
        sa.Column("boot", sa.Integer, primary_key=True),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("argv", sa.JSON, nullable=False),
        sa.Column("env", sa.JSON, nullable=False),
        sa.Column("started_at", sa.String(24), nullable=False),
        sa.Column("report", sa.JSON),
    )
    op.create_table(
        "autotune_stages",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("trial", sa.Integer, sa.ForeignKey("autotune_trials.number"), nullable=False),
        sa.Column("boot", sa.Integer, nullable=False),
        sa.Column("stage", sa.String(24), nullable=False),
        sa.Column("at", sa.String(24), nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
    )
    op.create_index("autotune_stages_by_trial", "autotune_stages", ["trial"])


def _samples() -> None:
    op.create_table(
        "autotune_measurements",
        sa.Column("trial", sa.Integer, sa.ForeignKey("autotune_trials.number"), primary_key=True),
        sa.Column("level", sa.Integer, primary_key=True),
        sa.Column("boot", sa.Integer, nullable=False),
        sa.Column("at", sa.String(24), nullable=False),
        sa.Column("measurement", sa.JSON, nullable=False),
    )
    op.create_table(
        "autotune_progress",
        sa.Column("trial", sa.Integer, sa.ForeignKey("autotune_trials.number"), primary_key=True),
        sa.Column("level", sa.Integer, nullable=False),
        sa.Column("tok_s", sa.Float, nullable=False),
        sa.Column("at", sa.String(24), nullable=False),
    )
    op.create_table(
        "autotune_gpu_samples",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("trial", sa.Integer, sa.ForeignKey("autotune_trials.number"), nullable=False),
        sa.Column("at", sa.String(24), nullable=False),
        sa.Column("cards", sa.JSON, nullable=False),
    )
    op.create_index("autotune_gpu_samples_by_trial", "autotune_gpu_samples", ["trial"])


def _words() -> None:
    op.create_table(
        "autotune_events",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.String(24), nullable=False),
        sa.Column("level", sa.String(8), nullable=False),
        sa.Column("trial", sa.Integer, sa.ForeignKey("autotune_trials.number")),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_index("autotune_events_by_trial", "autotune_events", ["trial"])
    op.create_table(
        "autotune_notes",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.String(24), nullable=False),
        sa.Column("trial", sa.Integer),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_table(
        "autotune_pins",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.String(24), nullable=False),
        sa.Column("trial", sa.Integer, nullable=False),
    )
    op.create_table(
        "autotune_verdicts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.String(24), nullable=False),
        sa.Column("verdict", sa.JSON, nullable=False),
    )
    op.create_table(
        "autotune_requests",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.String(24), nullable=False),
        sa.Column("kind", sa.String(24), nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("done_at", sa.String(24)),
        sa.Column("answer", sa.Text),
    )
