"""``autotune watch``: a night that another process runs, live on this terminal."""

from __future__ import annotations

from autotune.cli.options import StudiesOption, StudyArgument, study_file
from autotune.cli.output import say
from autotune.cli.run import reporting
from autotune.cli.status import read_status, show_status
from autotune.night.following import follow


def watch(study: StudyArgument = None, studies: StudiesOption = None) -> None:
    """Follow a running study until it ends; Ctrl-C ends the watching, not the study."""
    path = study_file(study, studies)
    found = read_status(path)
    show_status(found)
    if not found.standing.goes_on:
        return
    say("")
    try:
        with reporting(found.study.card.simulated) as reporter:
            follow(path, reporter)
    except KeyboardInterrupt:
        say("\nNot watched any more; the study goes on.")
        return
    say("")
    show_status(read_status(path))
