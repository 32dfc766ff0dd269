"""The page of a night that runs by itself: it outlives the night, and is ended only when somebody asks.

Who put it up has ended long before, so its process stands in the study's folder, with the moment it began: a
pid alone may be another process by then.
"""

from __future__ import annotations

import json
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from autotune.liveness import boot_id
from autotune.night.page import answers, put_up
from autotune.spec import DashboardSection
from trials.process_table import OsProcess, look_up

RECORD = "page.json"
_ENDS_WITHIN_S = 5.0


@dataclass(frozen=True)
class LastingPage:
    """A dashboard that somebody left running.

    Attributes:
        started: Clock ticks between the machine's boot and the process's start.
        boot_id: Of the machine's boot that ``started`` counts from.
        url: The study's address.
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


def lasting_page(folder: Path) -> LastingPage | None:
    """The page that was left running for a study, None when there is none."""
    try:
        written = LastingPage(**json.loads((folder / RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return written if written.process is not None else None


def open_lasting_page(folder: Path, where: DashboardSection) -> LastingPage:
    """Put up a study's page and leave it running; one that is up and answers is kept.

    Raises:
        PageError: If it does not come up.
    """
    known = lasting_page(folder)
    if known is not None and answers(_root(known.url)):
        return known
    end_lasting_page(folder)
    process, url = put_up(folder, where)
    now = look_up(process.pid)
    opened = LastingPage(process.pid, now.started if now else 0, boot_id(), url)
    (folder / RECORD).write_text(json.dumps(asdict(opened)), encoding="utf-8")
    return opened


def end_lasting_page(folder: Path) -> LastingPage | None:
    """End the page that was left running.

    Returns:
        It, or None when there was none.
    """
    page = lasting_page(folder)
    for ask in (signal.SIGTERM, signal.SIGKILL):
        if page is not None and page.process is not None:
            page.process.send(ask)
            _wait_for_end(page)
    (folder / RECORD).unlink(missing_ok=True)
    return page


def _wait_for_end(page: LastingPage) -> None:
    deadline = time.monotonic() + _ENDS_WITHIN_S
    while page.process is not None and time.monotonic() < deadline:
        time.sleep(0.05)


def _root(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
