"""A trial's reports, written behind its back: no report waits for the disk and none can fail the trial."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from queue import SimpleQueue
from threading import Event, Thread
from types import TracebackType

from sqlalchemy import Engine, Executable, delete, insert, update
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from db import schema
from db.clock import utc_now
from trials.gpus import GpuSample
from trials.outcome import BootReport, Measurement, Stage

GATHER_S = 0.1
"""Reports of the same moment share one transaction, s."""
LONGEST_BACKLOG = 20_000
"""Reports kept while the file cannot be written; later ones are counted as lost."""
RETRY_S = 1.0
CLOSE_TIMEOUT_S = 35.0
"""How long closing waits for the last reports: a little more than a writer waits for the file, s."""

_log = logging.getLogger(__name__)


class BackgroundWriter:
    """Executes statements in the order given, on a thread of its own, many in one transaction.

    While the file is locked or the disk is full it keeps trying; what no retry can help is dropped and
    counted.

    Attributes:
        lost: Statements that were never written.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: SimpleQueue[Executable | None] = SimpleQueue()
        self._closing = Event()
        self._thread = Thread(target=self._write_until_closed, name="trial-recorder", daemon=True)
        self.lost = 0
        self._thread.start()

    def put(self, *statements: Executable) -> None:
        if self._waiting.qsize() > LONGEST_BACKLOG:
            self.lost += len(statements)
            return
        for statement in statements:
            self._waiting.put(statement)

    def close(self) -> None:
        """Write what is waiting; gives up after ``CLOSE_TIMEOUT_S``."""
        self._closing.set()
        self._waiting.put(None)
        self._thread.join(CLOSE_TIMEOUT_S)
        if self._thread.is_alive():
            self.lost += self._waiting.qsize()
        if self.lost:
            _log.warning("%d reports of a trial could not be written to the study", self.lost)

    def _write_until_closed(self) -> None:
        is_open = True
        while is_open:
            batch = self._next_batch()
            is_open = batch[-1] is not None
            self._write_stubbornly([statement for statement in batch if statement is not None])

    def _next_batch(self) -> list[Executable | None]:
        """All that is reported within one moment; None at its end means that nothing will follow."""
        batch = [self._waiting.get()]
        self._closing.wait(GATHER_S)
        while not self._waiting.empty():
            batch.append(self._waiting.get())
        return batch

    def _write_stubbornly(self, batch: Sequence[Executable]) -> None:
        while not self._write(batch):
            if self._closing.wait(RETRY_S):
                self.lost += 0 if self._write(batch) else len(batch)
                return

    def _write(self, batch: Sequence[Executable]) -> bool:
        """Write a batch; False if another try may help."""
        try:
            with self._engine.begin() as connection:
                for statement in batch:
                    connection.execute(statement)
        except OperationalError as error:
            _log.warning("the study cannot be written now (%s); trying again", error.orig)
            return False
        except SQLAlchemyError:
            _log.exception("%d reports of a trial were refused by the study", len(batch))
            self.lost += len(batch)
        return True


class TrialRecorder:
    """``trials.recorder.Recorder`` for one trial; use as a context manager around it."""

    GPU_INTERVAL_S = 2.0
    """Samples wait up to this long, so that a page is not told of a change every second, s."""

    def __init__(self, engine: Engine, number: int) -> None:
        self._number = number
        self._boot = 0
        self._writer = BackgroundWriter(engine)
        self._samples: list[dict[str, object]] = []
        self._samples_written = time.monotonic()

    def boot_started(self, boot: int, argv: Sequence[str], env: Mapping[str, str], pid: int) -> None:
        self._boot = boot
        row = {"boot": boot, "pid": pid, "argv": list(argv), "env": dict(env), "started_at": utc_now()}
        self._writer.put(insert(schema.boots).values(trial=self._number, **row))

    def stage(self, stage: Stage, seconds: float) -> None:
        row = {"boot": self._boot, "stage": str(stage), "at": utc_now(), "seconds": round(seconds, 3)}
        self._writer.put(insert(schema.stages).values(trial=self._number, **row))

    def booted(self, report: BootReport) -> None:
        boots = schema.boots.c
        mine = (boots.trial == self._number) & (boots.boot == self._boot)
        self._writer.put(update(schema.boots).where(mine).values(report=report.model_dump(mode="json")))

    def progress(self, level: int, tok_s: float) -> None:
        table = schema.progress
        row = {"trial": self._number, "level": level, "tok_s": tok_s, "at": utc_now()}
        earlier = delete(table).where(table.c.trial == self._number)
        self._writer.put(earlier, insert(table).values(row))

    def measured(self, measurement: Measurement) -> None:
        table = schema.measurements
        key = {"trial": self._number, "level": measurement.level}
        row = {"boot": self._boot, "at": utc_now(), "measurement": measurement.model_dump(mode="json")}
        earlier = delete(table).filter_by(**key)
        self._writer.put(earlier, insert(table).values(key | row))

    def warning(self, text: str) -> None:
        row = {"at": utc_now(), "level": "warning", "text": text}
        self._writer.put(insert(schema.events).values(trial=self._number, **row))

    def gpus(self, samples: Sequence[GpuSample]) -> None:
        cards = [[getattr(sample, field) for field in schema.GPU_FIELDS] for sample in samples]
        self._samples.append({"trial": self._number, "at": utc_now(), "cards": cards})
        if time.monotonic() - self._samples_written >= self.GPU_INTERVAL_S:
            self._flush_samples()

    def close(self) -> None:
        """Write all that is waiting."""
        self._flush_samples()
        self._writer.close()

    def __enter__(self) -> TrialRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _flush_samples(self) -> None:
        if self._samples:
            self._writer.put(insert(schema.gpu_samples).values(self._samples))
        self._samples = []
        self._samples_written = time.monotonic()
