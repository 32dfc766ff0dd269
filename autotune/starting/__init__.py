"""A first study file for somebody who has none."""

from autotune.starting.first_study import find_own_server, first_study, write_study
from autotune.starting.own_server import NoOwnServerError

__all__ = ["NoOwnServerError", "find_own_server", "first_study", "write_study"]
