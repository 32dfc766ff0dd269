"""Server logs of trials that have ended: compressed, since a night of them fills a disk."""

from __future__ import annotations

import gzip
import logging
import shutil
from pathlib import Path

_log = logging.getLogger(__name__)


def compress_logs(folder: Path) -> None:
    """Compress every server log in a trial's folder; what cannot be compressed stays as it is.

    What is no plain file (a log that somebody sent to a device) may have no end, and is not touched.
    """
    for log in folder.glob("server*.log"):
        try:
            if log.is_file():
                _compress(log)
        except OSError as error:
            _log.warning("%s stays uncompressed: %s", log, error)


def _compress(log: Path) -> None:
    target = log.with_name(f"{log.name}.gz")
    partial = log.with_name(f"{log.name}.gz.part")
    try:
        with log.open("rb") as plain, gzip.open(partial, "wb", compresslevel=6) as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    log.unlink()
