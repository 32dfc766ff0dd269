"""``python -m trials.box NAME_OR_FILE FLAGS...``, in place of ``python -m sglang.launch_server FLAGS...``."""

from __future__ import annotations

import gc
import os
import sys
from argparse import Namespace
from collections.abc import Callable

from trials.box import words
from trials.box.arguments import server_parser
from trials.box.console import Console
from trials.box.description import BoxDescription, BoxError, load_box
from trials.box.faults import FaultError
from trials.box.launcher import Launcher
from trials.box.server_args import ResolutionError, resolve
from trials.box.setting_up import VERSION_VARIABLE, Setup, set_up

_RESOLUTION_FRAMES = (
    "launch_server.py:29:run_server:server_args.resolve_once()",
    "server_args.py:277:resolve_once:run_resolution_pipeline(self)",
)


def main(argv: list[str]) -> int:
    """Run a box; argparse's refusals exit with 2 as SGLang's do."""
    if not argv or argv[0].startswith("-"):
        return _refuse("the first argument must name a box or a box file, then SGLang's flags follow")
    name, *flags = argv
    try:
        box = _with_version(load_box(name))
        parsed = server_parser(box.sglang_version).parse_args(flags)
        setup = _set_up(parsed, box, name)
    except (BoxError, FaultError) as error:
        return _refuse(str(error))
    if setup is None:
        return 1
    gc.freeze()
    return Launcher(setup).run(_import_serve)


def _import_serve() -> Callable[[Launcher], int]:
    from trials.box.serving import serve

    return serve


def _set_up(parsed: Namespace, box: BoxDescription, name: str) -> Setup | None:
    try:
        args = resolve(parsed, box)
    except ResolutionError as error:
        console = Console()
        console.raw(words.LAUNCH_WARNING)
        pid = os.getpid()
        console.log(f"kill_process_tree called: parent_pid={pid}, include_parent=False, pid={pid}")
        console.raw(words.traceback_text(_RESOLUTION_FRAMES, str(error)))
        return None
    return set_up(args, box, name)


def _with_version(box: BoxDescription) -> BoxDescription:
    version = os.environ.get(VERSION_VARIABLE)
    return box.model_copy(update={"sglang_version": version}) if version else box


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"trials.box: error: {sentence}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
