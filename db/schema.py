"""Our tables, beside Optuna's own in the same file.

Every name starts with ``autotune_`` so that Optuna's migrations and ours never meet. Moments are UTC text
(``db.clock``), so that they sort, survive any driver and go out as JSON unchanged.
"""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

VERSION_TABLE = "autotune_alembic_version"
REVISION = "0002"
"""Newest revision of ``db/migrations``; revisions are numbers, so that a newer file is recognised."""

metadata = MetaData()

study = Table(
    "autotune_study",
    metadata,
    Column("id", Integer, primary_key=True, comment="always 1"),
    Column("uuid", String(36), nullable=False),
    Column("name", Text, nullable=False, comment="also the name of Optuna's study in this file"),
    Column("simulated", Boolean, nullable=False),
    Column("spec_toml", Text, nullable=False, comment="study.toml as written, secrets replaced"),
    Column("spec", JSON, nullable=False, comment="the validated study.toml with its defaults"),
    Column("versions", JSON, nullable=False, comment='{"autotune": ..., "sglang": ..., "model": ...}'),
    Column("gpus", JSON, nullable=False, comment="list of {index, name, memory_mib, links, ...}"),
    Column("created_at", String(24), nullable=False),
)

runs = Table(
    "autotune_runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("pid", Integer, nullable=False),
    Column("host", Text, nullable=False),
    Column("boot_id", Text, nullable=False),
    Column("process_started", Float, nullable=False, comment="s since the boot; a pid alone can be reused"),
    Column("started_at", String(24), nullable=False),
    Column("boots_planned", Integer, comment="server starts this night is expected to reach"),
    Column("ends_by", String(24), comment="deadline, null without one"),
    Column("ended_at", String(24)),
    Column("how", Text, comment="one sentence on how it ended"),
)

trials = Table(
    "autotune_trials",
    metadata,
    Column("number", Integer, primary_key=True, comment="the number of Optuna's trial"),
    Column("run", Integer, ForeignKey("autotune_runs.id"), nullable=False),
    Column("role", String(16), nullable=False),
    Column("folder", Text, nullable=False, comment="relative to the study's folder"),
    Column("settings", JSON, nullable=False),
    Column("proposal", JSON),
    Column("replicate_of", Integer),
    Column("started_at", String(24), nullable=False),
    Column("ended_at", String(24)),
    Column("outcome", String(24)),
    Column("tok_s", Float, comment="decode throughput at the main level, tok/s"),
    Column("tok_s_low", Float, comment="its 95 % interval"),
    Column("tok_s_high", Float),
    Column("failure_kind", String(32)),
    Column("failure_stage", String(32)),
    Column("failure_summary", Text),
    Column("result", JSON, comment="the whole outcome as trials.outcome writes it"),
)

boots = Table(
    "autotune_boots",
    metadata,
    Column("trial", Integer, ForeignKey("autotune_trials.number"), primary_key=True),
    Column("boot", Integer, primary_key=True, comment="1 for the trial's first server start"),
    Column("pid", Integer, nullable=False),
    Column("argv", JSON, nullable=False, comment="secrets replaced"),
    Column("env", JSON, nullable=False, comment="what we set ourselves, secrets replaced"),
    Column("started_at", String(24), nullable=False),
    Column("report", JSON, comment="trials.outcome.BootReport, null until a generation came back"),
)

stages = Table(
    "autotune_stages",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("trial", Integer, ForeignKey("autotune_trials.number"), nullable=False),
    Column("boot", Integer, nullable=False, comment="0 before the first server start"),
    Column("stage", String(24), nullable=False),
    Column("at", String(24), nullable=False),
    Column("seconds", Float, nullable=False, comment="since the trial's start, s"),
    Index("autotune_stages_by_trial", "trial"),
)

measurements = Table(
    "autotune_measurements",
    metadata,
    Column("trial", Integer, ForeignKey("autotune_trials.number"), primary_key=True),
    Column("level", Integer, primary_key=True),
    Column("boot", Integer, nullable=False),
    Column("at", String(24), nullable=False),
    Column("measurement", JSON, nullable=False),
)

progress = Table(
    "autotune_progress",
    metadata,
    Column("trial", Integer, ForeignKey("autotune_trials.number"), primary_key=True),
    Column("level", Integer, nullable=False),
    Column("tok_s", Float, nullable=False),
    Column("at", String(24), nullable=False),
)

gpu_samples = Table(
    "autotune_gpu_samples",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("trial", Integer, ForeignKey("autotune_trials.number"), nullable=False),
    Column("at", String(24), nullable=False),
    Column("cards", JSON, nullable=False, comment="one list per card, in the order of GPU_FIELDS"),
    Index("autotune_gpu_samples_by_trial", "trial"),
)

GPU_FIELDS = ("index", "used_mib", "power_w", "sm_clock_mhz", "temperature_c", "utilisation", "throttle")
"""Order within a card's list: names would make up most of a night's samples."""

events = Table(
    "autotune_events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", String(24), nullable=False),
    Column("level", String(8), nullable=False, comment="info, warning or error"),
    Column("trial", Integer, ForeignKey("autotune_trials.number"), comment="null: of the night itself"),
    Column("text", Text, nullable=False),
    Index("autotune_events_by_trial", "trial"),
)

notes = Table(
    "autotune_notes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", String(24), nullable=False),
    Column("trial", Integer, comment="null: on the study"),
    Column("text", Text, nullable=False),
)

pins = Table(
    "autotune_pins",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", String(24), nullable=False),
    Column("trial", Integer, nullable=False, comment="the baseline from then on"),
)

verdicts = Table(
    "autotune_verdicts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", String(24), nullable=False),
    Column("verdict", JSON, nullable=False),
)

requests = Table(
    "autotune_requests",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", String(24), nullable=False),
    Column("kind", String(24), nullable=False),
    Column("payload", JSON, nullable=False),
    Column("done_at", String(24)),
    Column("answer", Text, comment="what came of it, one sentence"),
)

imports = Table(
    "autotune_imports",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", String(24), nullable=False),
    Column("source", Text, nullable=False, comment="the file that it was read from"),
    Column("same", Boolean, nullable=False, comment="counts as data; else as a weaker prior"),
    Column("settings", JSON, nullable=False),
    Column("value", Float, comment="tok/s at this study's main level"),
    Column("failure", JSON(none_as_null=True)),
    Column("boot", JSON(none_as_null=True)),
    Column("measurements", JSON, nullable=False),
)
