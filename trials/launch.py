"""What is needed to start one server: its command, its port and where it writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trials.command import Command, build_command
from trials.container import ServerContainer
from trials.flags import FlagCatalogue
from trials.port_book import PortBook
from trials.settings import Settings, TrialPlan

BOX_STATE_VARIABLE = "AUTOTUNE_BOX_STATE"
_HOST = "127.0.0.1"
_LOG_LEVEL = "--log-level"
_QUIET_LEVELS = ("warning", "error", "critical")


@dataclass(frozen=True)
class Launch:
    """One server start.

    Attributes:
        container: The container that the command runs, None for a server of this machine.
        url: Where the server will answer.
        api_key: The key that the server's own arguments demand of clients, None without.
        tells_stages: Its log level lets the lines through by which a boot is followed.
    """

    command: Command
    container: ServerContainer | None
    port: int
    url: str
    log_path: Path
    api_key: str | None
    tells_stages: bool


def prepare(settings: Settings, plan: TrialPlan, catalogue: FlagCatalogue, boot: int) -> Launch:
    """Choose a port and build the command.

    Raises:
        trials.container_runtime.ContainerError: If an image is asked for and nothing here can run one.
        trials.command.SettingError: If the server cannot express a setting.
        trials.ports.NoFreePortError: If no port is left.
        OSError: If the study's folder cannot be written.
    """
    port = PortBook(plan.workspace).take()
    command = build_command(settings, plan.server, catalogue, port=port, host=_HOST)
    if plan.server.simulated:
        state = {BOX_STATE_VARIABLE: str(box_state(plan.workspace))}
        command = Command(command.argv, {**command.env, **state})
    container = None
    if plan.server.image is not None:
        container = ServerContainer.for_boot(boot_mark(plan, boot))
        command = container.around(command, plan.server)
    return Launch(
        command=command,
        container=container,
        port=port,
        url=f"http://{_HOST}:{port}",
        log_path=plan.folder / ("server.log" if boot == 1 else f"server-{boot}.log"),
        api_key=_value_of("--api-key", plan.server.args),
        tells_stages=_value_of(_LOG_LEVEL, command.argv) not in _QUIET_LEVELS,
    )


def boot_mark(plan: TrialPlan, boot: int) -> str:
    """Value of ``AUTOTUNE_MARK`` in every process of this boot."""
    return f"{plan.mark}:{boot}"


def box_state(workspace: Path) -> Path:
    """Where the simulated box of a study keeps its imagined GPU memory."""
    return workspace / "box"


def _value_of(option: str, args: Sequence[str]) -> str | None:
    for index, word in enumerate(args):
        name, equals, value = word.partition("=")
        if name == option:
            return value if equals else next(iter(args[index + 1 :]), None)
    return None
