"""The commented text of a first ``study.toml``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autotune.spec_rules import space_line
from autotune.starting.line import Line
from trials.settings import ServerPlan

BOOT_TIMEOUT_S, BOX_BOOT_TIMEOUT_S = 1500, 60


@dataclass(frozen=True)
class FirstStudy:
    """Everything that the file will say.

    Attributes:
        heading: Sentences at its top.
        hint: A remark below the space, or empty.
    """

    name: str
    heading: Sequence[str]
    server: ServerPlan
    space: Sequence[Line]
    levels: Sequence[int]
    hint: str = ""

    def text(self) -> str:
        parts = (self._top(), self._study(), self._server(), self._space(), self._bench(), self._known_good())
        return "\n\n".join("\n".join(part) for part in parts) + "\n"

    def _top(self) -> Iterator[str]:
        yield from (f"# {sentence}" for sentence in self.heading)
        yield "# Read it, change what is yours, then: autotune check FILE, autotune run FILE"

    def _study(self) -> Iterator[str]:
        yield "[study]"
        yield f"name = {json.dumps(self.name)}"
        if self.server.simulated:
            yield "trials = 25                     # or hours = 8"
        else:
            yield 'hours = 8                       # or trials = 60, or until = "07:00"; what comes first'

    def _server(self) -> Iterator[str]:
        server = self.server
        yield "[server]"
        for key in ("command", "image", "box"):
            if (value := getattr(server, key)) is not None:
                yield space_line(key, value)
        yield space_line("model_path", server.model_path)
        if server.args:
            yield f"{space_line('args', server.args)}   # fixed, passed through as written"
        if server.env:
            yield f"env = {_inline(server.env)}"
        timeout = BOX_BOOT_TIMEOUT_S if server.simulated else BOOT_TIMEOUT_S
        yield f"boot_timeout_s = {timeout}"
        if server.draft_model_path is not None:
            yield from ("", "[speculation]", space_line("draft_model_path", server.draft_model_path))

    def _space(self) -> Iterator[str]:
        yield "[space]"
        for line in self.space:
            yield from (f"# {comment}" for comment in line.comments)
            yield space_line(line.name, line.domain)
        if self.hint:
            yield f"# {self.hint}"

    def _bench(self) -> Iterator[str]:
        yield "[bench]"
        yield f"{space_line('levels', list(self.levels))}   # concurrent streams; all measured in one boot"
        yield f"main_level = {self.levels[0]}                  # the one to win"
        if self.server.simulated:
            yield from ("output_tokens = 64", "max_seconds_per_level = 2")
        yield ""
        yield "# [limits]                      # a winner must also keep these"
        yield "# min_kv_tokens = 100_000"
        yield "# max_ttft_p95_ms = 4000"

    def _known_good(self) -> Iterator[str]:
        yield "[[known_good]]                  # yours: tried first, and what every result is compared with"
        for line in self.space:
            if line.baseline is not None:
                note = f"   # {line.note}" if line.note else ""
                yield space_line(line.name, line.baseline) + note


def _inline(table: Mapping[str, str]) -> str:
    pairs = (space_line(name, value) for name, value in table.items())
    return f"{{ {', '.join(pairs)} }}"
