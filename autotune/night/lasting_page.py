"""Pages that outlive who put them up: one that was left running on purpose, and that of a runner which died.

The process stands in the study's folder, with the moment it began: a pid alone may be another's by then.
A dead runner's page stays up, so that it can be seen there that it died, until the next run takes it over.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from autotune.night.page import answers, put_up
from autotune.spec import DashboardSection
from trials.host import boot_id
from trials.process_table import OsProcess, look_up

RECORD = "page.json"
"""The page that stays until somebody asks for its end."""
RUN_RECORD = "run-page.json"
"""The page that ends with its run."""
_ENDS_WITHIN_S = 5.0


@dataclass(frozen=True)
class LastingPage:
    """A dashboard that somebody left running.

    Attributes:
        started: Clock ticks between the machine's boot and the process's start.
        boot_id: Of the machine's boot that ``started`` counts from.
        url: The study's address with its token.
    """

    pid: int
    started: int
    boot_id: str
    url: str

    @property
    def process(self) -> OsProcess | None:
        """The very process, None when it is gone."""
        now = look_up(self.pid)
        is_it = now is not None and now.started == self.started and self.boot_id == boot_id()
        return now if is_it and now is not None and not now.dead else None


@contextmanager
def page_of_run(folder: Path, where: DashboardSection) -> Iterator[str]:
    """Serve the studies beside ``folder`` while the block runs.

    Yields:
        The study's address. The port is the next free one if the wanted one is taken.

    Raises:
        PageError: If it does not come up.
    """
    opened = open_lasting_page(folder, where, RUN_RECORD)
    try:
        yield opened.url
    finally:
        end_lasting_page(folder, RUN_RECORD)


def lasting_page(folder: Path, record: str = RECORD) -> LastingPage | None:
    """The page that was left running for a study, None when there is none."""
    try:
        written = LastingPage(**json.loads((folder / record).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return written if written.process is not None else None


def open_lasting_page(folder: Path, where: DashboardSection, record: str = RECORD) -> LastingPage:
    """Put up a study's page and leave it running; one that is up and answers is kept.

    Raises:
        PageError: If it does not come up.
    """
    known = lasting_page(folder, record)
    if known is not None and answers(_root(known.url)):
        return known
    end_lasting_page(folder, record)
    return put_up(folder, where, lambda pid, url: _write_down(folder / record, pid, url))


def _write_down(record: Path, pid: int, url: str) -> LastingPage:
    now = look_up(pid)
    begun = LastingPage(pid, now.started if now else 0, boot_id(), url)
    _write_for_us_alone(record, json.dumps(asdict(begun)))
    return begun


def _write_for_us_alone(path: Path, text: str) -> None:
    """The address holds the token."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def end_lasting_page(folder: Path, record: str = RECORD) -> LastingPage | None:
    """End the page that was left running.

    Returns:
        It, or None when there was none.
    """
    page = lasting_page(folder, record)
    for ask in (signal.SIGTERM, signal.SIGKILL):
        if page is not None and page.process is not None:
            page.process.send(ask)
            _wait_for_end(page)
    (folder / record).unlink(missing_ok=True)
    return page


def _wait_for_end(page: LastingPage) -> None:
    deadline = time.monotonic() + _ENDS_WITHIN_S
    while page.process is not None and time.monotonic() < deadline:
        time.sleep(0.05)


def _root(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
