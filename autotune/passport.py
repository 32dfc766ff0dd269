"""A passport read back: what ``autotune export --format json`` wrote, as far as it can be checked again."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from trials.outcome import BootReport
from trials.secrets import HIDDEN
from trials.settings import BenchPlan, ServerPlan, Settings


class PassportError(ValueError):
    """The file is no passport of this autotune; one sentence."""


class _Part(BaseModel):
    """Passports of later versions may say more."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


class RecordedEstimate(_Part):
    """A throughput with its 95 % interval, tok/s."""

    tok_s: float
    ci95: tuple[float, float]


class RecordedLevel(_Part):
    """What the command reached at one level."""

    level: int
    throughput: RecordedEstimate | None


class Passport(_Part):
    """See ``autotune.export._base.ExportInput``; names and meanings are the same."""

    passport: Literal[1]
    study: str
    trial: int
    sentence: str
    simulated: bool
    measured_at: str
    server: ServerPlan
    bench: BenchPlan
    argv: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    settings: Settings
    ran: Settings
    reached: tuple[RecordedLevel, ...]
    boot_noise: float
    boot: BootReport | None
    versions: dict[str, str | None]
    gpu_names: tuple[str, ...]
    links: str | None

    @classmethod
    def read(cls, path: Path) -> Passport:
        """Read a file.

        Raises:
            PassportError: If it is no passport.
            OSError: If it cannot be read.
        """
        return cls.parse(path.read_text(encoding="utf-8"), str(path))

    @classmethod
    def parse(cls, text: str, name: str) -> Passport:
        """Read a text.

        Raises:
            PassportError: If it is no passport.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the text"
            raise PassportError(
                f"{name} is no passport ({where}: {first['msg']}); write one with: "
                "autotune export --format json"
            ) from error

    @property
    def runnable_server(self) -> ServerPlan:
        """The server without variables whose values are hidden: they come from the environment."""
        env = {name: value for name, value in self.server.env.items() if value != HIDDEN}
        return self.server.model_copy(update={"env": env})
