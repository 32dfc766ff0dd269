"""A systemd unit that keeps the server running."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.export._base import ExportInput, facts, flag_lines

NAME = "systemd"
DESCRIPTION = "systemd unit"
FILE_NAME = "sglang.service"
MEDIA_TYPE = "text/plain"

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "%": "%%"}
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@")


def write(exported: ExportInput) -> str:
    return "\n".join([*(f"# {fact}" for fact in facts(exported)), *_unit(exported), ""])


def _unit(exported: ExportInput) -> Iterator[str]:
    yield "[Unit]"
    yield _escaped(f"Description=SGLang, tuned by autotune (study {exported.study})")
    yield "After=network-online.target"
    yield "Wants=network-online.target"
    yield ""
    yield "[Service]"
    for name, value in exported.env.items():
        yield f'Environment="{_escaped(f"{name}={value}")}"'
    lines = [exported.program, *flag_lines(exported.flags)]
    yield "ExecStart=" + " \\\n  ".join(" ".join(map(_word, line)) for line in lines)
    yield "KillMode=control-group"
    yield "TimeoutStopSec=120"
    yield "Restart=on-failure"
    yield ""
    yield "[Install]"
    yield "WantedBy=multi-user.target"


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)


def _word(word: str) -> str:
    """A word of ExecStart, where systemd would also expand variables."""
    escaped = _escaped(word).replace("$", "$$")
    return escaped if word and set(word) <= _PLAIN else f'"{escaped}"'
