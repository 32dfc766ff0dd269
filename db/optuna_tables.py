"""The columns of Optuna's own tables that pages need; read only, written by Optuna alone."""

from __future__ import annotations

from sqlalchemy import JSON, Float, Integer, String, column, table

studies = table("studies", column("study_id", Integer), column("study_name", String))

study_attributes = table(
    "study_user_attributes",
    column("study_id", Integer),
    column("key", String),
    column("value_json", JSON),
)

trials = table(
    "trials",
    column("trial_id", Integer),
    column("study_id", Integer),
    column("number", Integer),
    column("state", String),
)

trial_values = table(
    "trial_values",
    column("trial_id", Integer),
    column("objective", Integer),
    column("value", Float),
)
