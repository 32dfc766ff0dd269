"""The study's file: our tables beside Optuna's own in one SQLite database.

``journal`` and ``recorder`` write what the night does, ``inbox`` what people ask of it, ``queries`` reads for
pages and command line, ``engine`` holds all that is SQLite. Of a trial our tables are written first and
Optuna is told last: the tell is the trial's commit point.
"""
