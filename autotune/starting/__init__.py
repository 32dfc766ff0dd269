"""A first study file for somebody who has none."""

from autotune.starting.first_study import first_study, own_server, write_study
from autotune.starting.own_server import NoOwnServerError

__all__ = ["NoOwnServerError", "first_study", "own_server", "write_study"]
