"""The command line was refused: exit code 2, nothing was started."""

from __future__ import annotations

from typing import Final

from trials.failures.family import Family
from trials.outcome import FailureKind

_KIND: Final = FailureKind.INVALID_SETTINGS

ARGUMENTS: Final[tuple[Family, ...]] = (
    Family(
        name="unknown option",
        kind=_KIND,
        signs=(r": error: unrecognized arguments: (?P<option>\S+)",),
        says="`error: unrecognized arguments: --no-such-flag`",
        summary="This SGLang does not know the option {option}.",
        means="The option is of another release, or misspelt.",
    ),
    Family(
        name="ambiguous option",
        kind=_KIND,
        signs=(r": error: ambiguous option: (?P<option>\S+) could match (?P<names>.+)",),
        says="`error: ambiguous option: --cuda-graph-max-bs could match --cuda-graph-max-bs-decode, ...`",
        summary="This SGLang no longer has the option {option}; it has {names}.",
        means="The option was split or renamed, and its old name is now only a prefix of several.",
    ),
    Family(
        name="value not accepted",
        kind=_KIND,
        signs=(
            r": error: argument (?P<option>\S+): invalid choice: (?P<value>\S+)",
            r": error: argument (?P<option>\S+): (?P<value>invalid .+|expected .+|not allowed .+)",
        ),
        says="`error: argument --moe-a2a-backend: invalid choice: 'bogus' (choose from ...)`",
        summary="The option {option} does not take this value: {value}.",
        means="The list of choices that follows in the log is this release's.",
    ),
    Family(
        name="option missing",
        kind=_KIND,
        signs=(r": error: the following arguments are required: (?P<option>.+)",),
        says="`error: the following arguments are required: --model-path`",
        summary="The command lacks {option}.",
        means="SGLang cannot start without it.",
    ),
    Family(
        name="refused by the parser",
        kind=_KIND,
        signs=(r": error: (?P<reason>argument .+)",),
        says="any other `error: argument ...`",
        summary="The command line was refused: {reason}.",
        means="argparse refused it before anything was started.",
    ),
)
