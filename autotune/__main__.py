"""``python -m autotune``: the command line, wherever the console script is not on PATH."""

from autotune.cli.main import main

main()
