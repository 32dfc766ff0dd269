"""Everything that one boot is made of, drawn up before the processes fork."""

from __future__ import annotations

import os
import random
import select
from dataclasses import dataclass, field

from trials.box.description import BoxDescription, BoxError
from trials.box.device_files import DeviceFiles, state_from_environment
from trials.box.faults import FaultSet, faults_from_environment, faults_of_this_boot
from trials.box.server_args import ServerArgs

TIME_SCALE_VARIABLE = "AUTOTUNE_BOX_TIME_SCALE"
"""Environment variable that replaces the box's ``time_scale``: boot seconds here per real second."""

SEED_VARIABLE = "AUTOTUNE_BOX_SEED"
"""Environment variable that makes noise and chance repeatable, boot by boot of a state folder."""

VERSION_VARIABLE = "AUTOTUNE_BOX_SGLANG_VERSION"
"""Environment variable that replaces the SGLang release which the box imitates."""

_MOST_RANKS = 1024
_LONGEST_WAIT_S = 10.0


class FirstDeath:
    """Lets the other ranks wait until one has said its last words."""

    def __init__(self) -> None:
        self._heard, self._said = os.pipe()

    def tell(self) -> None:
        os.write(self._said, b"." * _MOST_RANKS)

    def wait(self) -> None:
        """Wait for it, but not for ever: the one may have been killed before it spoke."""
        if select.select([self._heard], [], [], _LONGEST_WAIT_S)[0]:
            os.read(self._heard, 1)


@dataclass
class Setup:
    """One boot of a box.

    Attributes:
        free_gib: Free memory of each card when the server starts, GiB.
        time_scale: Seconds of waiting here per second on the real machine (boot and stop, never tokens).
    """

    args: ServerArgs
    box: BoxDescription
    devices: DeviceFiles
    time_scale: float
    boot: int
    rng: random.Random
    faults: FaultSet = field(default_factory=FaultSet)
    free_gib: list[float] = field(default_factory=list)
    first_death: FirstDeath = field(default_factory=FirstDeath)

    @property
    def linger_s(self) -> float:
        """Memory stays so long after a process's death, s."""
        late = self.faults.get("memory_comes_back_late")
        return 0.0 if late is None else late.seconds or 10.0

    @property
    def warms_up(self) -> bool:
        """Whether the server sends itself a request before it is ready."""
        skipped = self.args.table.get("skip_server_warmup")
        return not skipped and self.faults.get("abort_on_first_forward") is None

    def look_at_cards(self) -> None:
        """Note what others have left free on each card."""
        used = [self.devices.used_mib(card) for card in range(self.box.cards.count)]
        self.free_gib = [(self.box.cards.memory_mib - mib) / 1024 for mib in used]

    def scaled(self, seconds: float, least: float = 0.0) -> float:
        """A real duration in this box's time, at least ``least`` s."""
        return max(seconds * self.time_scale, least)


def set_up(args: ServerArgs, box: BoxDescription, name: str) -> Setup:
    """Number the boot and draw its faults and noise.

    Raises:
        BoxError: If the environment holds a time scale that is no number.
        FaultError: If the environment holds faults that are none.
    """
    devices = DeviceFiles(state_from_environment(name))
    boot = devices.count_boot()
    seed = os.environ.get(SEED_VARIABLE)
    rng = random.Random(f"{seed}:{boot}" if seed else None)
    declared = (*box.faults, *faults_from_environment())
    return Setup(
        args=args,
        box=box,
        devices=devices,
        time_scale=_time_scale(box),
        boot=boot,
        rng=rng,
        faults=faults_of_this_boot(declared, args.conditions(), boot, rng),
    )


def _time_scale(box: BoxDescription) -> float:
    text = os.environ.get(TIME_SCALE_VARIABLE)
    if not text:
        return box.time_scale
    try:
        return float(text)
    except ValueError:
        raise BoxError(f"{TIME_SCALE_VARIABLE} must be a number, not {text!r}") from None
