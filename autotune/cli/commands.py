"""The command group: every error ends in one sentence and the exit code that the contract gives it."""

from __future__ import annotations

import os
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from autotune.cli.output import say_error
from autotune.export.from_study import NothingToExportError
from autotune.export.minimal import OtherServerError
from autotune.night.lock import StudyIsRunningError
from autotune.passport import PassportError
from autotune.spec import SpecError
from autotune.starting import NoOwnServerError
from db.errors import StudyFileError, StudyWriteError
from trials.container_runtime import ContainerError
from trials.flags import CatalogueError
from trials.gpus import GpuProbeError
from trials.measure_errors import MeasureError
from trials.problems import SettingError
from trials.prompts import PromptFileError

FAILED, BAD_INPUT, NOTHING_FOUND, INTERRUPTED = 1, 2, 3, 130

_EXIT_CODES: dict[type[Exception], int] = {
    SpecError: BAD_INPUT,
    StudyWriteError: FAILED,
    StudyFileError: BAD_INPUT,
    CatalogueError: BAD_INPUT,
    SettingError: BAD_INPUT,
    PromptFileError: BAD_INPUT,
    NoOwnServerError: BAD_INPUT,
    NothingToExportError: NOTHING_FOUND,
    OtherServerError: BAD_INPUT,
    PassportError: BAD_INPUT,
    StudyIsRunningError: FAILED,
    ContainerError: FAILED,
    MeasureError: FAILED,
    GpuProbeError: FAILED,
}


class Commands(TyperGroup):
    """All commands of autotune."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except tuple(_EXIT_CODES) as error:
            say_error(str(error))
            code = next(code for kind, code in _EXIT_CODES.items() if isinstance(error, kind))
            raise typer.Exit(code) from error
        except KeyboardInterrupt as error:
            say_error("interrupted")
            raise typer.Exit(INTERRUPTED) from error
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            say_error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            _keep(error)
            raise typer.Exit(FAILED) from error
        except Exception as error:
            if _is_for_typer(error):
                raise
            where = _keep(error)
            say_error(f"internal error, {type(error).__name__}: {error}\nThe details are in {where}")
            raise typer.Exit(FAILED) from error


def _is_for_typer(error: Exception) -> bool:
    """Usage errors and exits: typer words and codes them itself."""
    return isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "exit_code")


def _keep(error: Exception) -> Path:
    """Append the traceback to the log of errors and say where that is."""
    file = _log_file()
    with file.open("a", encoding="utf-8") as log:
        log.write(f"\n{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n")
        log.write("".join(traceback.format_exception(error)))
    return file


def _log_file() -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
    folder = state / "autotune"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "errors.log").touch()
    except OSError:
        folder = Path(tempfile.gettempdir())
    return folder / "errors.log"
