"""Of a log that several servers wrote, what is skipped must not be missed."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from tests.trials.failures.server_log import ServerLog
from trials.failures import diagnose, diagnose_file
from trials.failures.many_servers import last_servers_start, lines_before
from trials.outcome import Stage

_SERVED = ServerLog().boot(Stage.READY).decode(40).text
_HALF = ServerLog().boot(Stage.KV_POOL).text


def _dying(error: str) -> str:
    log = ServerLog().boot(Stage.READY)
    log.scheduler_dies(error)
    return log.text


_FAULT = _dying("torch.AcceleratorError: CUDA error: misaligned address")
_OOM = _dying("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.mark.parametrize(
    "servers",
    [
        (_FAULT,),
        (_OOM, _FAULT),
        (_SERVED, _OOM, _FAULT),
        (_FAULT, _SERVED),
        (_FAULT, _OOM, _HALF),
        (_SERVED, _FAULT, _HALF, _HALF),
        (_OOM, "a line that quotes server_args=\n", _FAULT),
    ],
)
def test_the_verdict_is_that_of_reading_every_line(servers: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("some shell's greeting\n" + "".join(servers))
    assert diagnose_file(path) == diagnose(path.read_bytes().split(b"\n"))


def test_the_search_from_the_end_finds_what_lies_across_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"head\nx\n[T] server_args={'a': 1}\nmore\n[T] server_args={'b': 2}\nend\n"
    for step in range(1, len(text) + 1):
        monkeypatch.setattr("trials.failures.many_servers._STEP", step)
        start = last_servers_start(BytesIO(text))
        assert text[start:].startswith(b"[T] server_args={'a'"), step
        assert lines_before(BytesIO(text), start) == 2


def test_a_single_server_is_read_from_the_beginning() -> None:
    assert last_servers_start(BytesIO(b"head\nserver_args={}\n")) == 0
    assert last_servers_start(BytesIO(b"")) == 0
