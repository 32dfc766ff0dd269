"""What an early end means: the ending, the log and the machine's facts as one failure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trials import judging
from trials.boot_log.wording import STOPS_SERVER
from trials.endings import Asked, Died, EndOfLife, GpuLost, Hung, Overflowed, WrongOutput
from trials.failures import MachineFacts, hardware_faults
from trials.judging import Evidence, judge
from trials.measure_errors import MeasureError
from trials.outcome import FailureKind, Stage

_BOOTING = """\
[2026-11-29 15:03:50] server_args={'tp_size': 1}
[2026-11-29 15:03:51 TP0] Init torch distributed begin.
[2026-11-29 15:03:52 TP0] Load weight begin. avail mem=93.52 GB
"""
_READY = f"{_BOOTING}[2026-11-29 15:03:59] The server is fired up and ready to roll!\n"
_OUT_OF_MEMORY = """\
[2026-11-29 15:04:09 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/srt/managers/scheduler.py", line 6231, in run_scheduler_process
    scheduler.run_event_loop()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
[2026-11-29 15:04:09] Received sigquit from a child process. It usually means the child failed.
"""


def _evidence(folder: Path, log: str, *, stage: Stage, code: int | None = None) -> Evidence:
    path = folder / "server.log"
    path.write_text(log)
    return Evidence(path, code, stage, {}, MachineFacts())


def test_silence_is_a_hang_in_our_words_where_the_log_has_none(tmp_path: Path) -> None:
    hung = Hung(Stage.LOAD_WEIGHTS, "silent for 900 s at stage load_weights")
    failure = judge(hung, _evidence(tmp_path, _BOOTING, stage=Stage.LOAD_WEIGHTS))
    assert (failure.kind, failure.stage) == (FailureKind.HANG, Stage.LOAD_WEIGHTS)
    assert failure.summary == "silent for 900 s at stage load_weights"
    assert failure.evidence == (failure.summary,)
    assert failure.at_fault == "settings"


def test_log_of_a_silent_server_may_say_why(tmp_path: Path) -> None:
    hung = Hung(Stage.LOAD_WEIGHTS, "silent for 900 s at stage load_weights")
    failure = judge(hung, _evidence(tmp_path, _BOOTING + _OUT_OF_MEMORY, stage=Stage.LOAD_WEIGHTS))
    assert failure.kind is FailureKind.OOM_WEIGHTS


def test_death_is_read_from_the_log(tmp_path: Path) -> None:
    evidence = _evidence(tmp_path, _READY + _OUT_OF_MEMORY, stage=Stage.MEASURE, code=-9)
    failure = judge(Died(), evidence)
    assert failure.kind is FailureKind.OOM_RUNTIME
    assert any("CUDA out of memory" in line for line in failure.evidence)


def test_end_without_a_word_is_unknown(tmp_path: Path) -> None:
    failure = judge(Died(), _evidence(tmp_path, _READY, stage=Stage.MEASURE, code=0))
    assert (failure.kind, failure.stage, failure.at_fault) == (
        FailureKind.UNKNOWN,
        Stage.MEASURE,
        "environment",
    )
    assert "ended with code 0 at stage measure" in failure.summary
    assert failure.evidence


def test_broken_measurement_of_a_server_that_lives_is_unknown(tmp_path: Path) -> None:
    error = MeasureError(None, "the connection was lost before the answer ended")
    failure = judge(error, _evidence(tmp_path, _READY, stage=Stage.MEASURE))
    assert (failure.kind, failure.summary) == (FailureKind.UNKNOWN, error.summary)
    assert failure.evidence == (error.summary,)


def test_measurement_that_knows_its_kind_keeps_it(tmp_path: Path) -> None:
    error = MeasureError(FailureKind.HANG, "no token for 30 s", ["1 of 4 streams had begun"])
    failure = judge(error, _evidence(tmp_path, _READY, stage=Stage.MEASURE))
    assert (failure.kind, failure.at_fault) == (FailureKind.HANG, "settings")
    assert failure.evidence == ("1 of 4 streams had begun",)


def test_log_explains_a_broken_measurement(tmp_path: Path) -> None:
    error = MeasureError(FailureKind.HANG, "no token for 30 s")
    failure = judge(error, _evidence(tmp_path, _READY + _OUT_OF_MEMORY, stage=Stage.MEASURE))
    assert failure.kind is FailureKind.OOM_RUNTIME


def test_what_a_server_says_while_we_end_it_is_no_cause(tmp_path: Path) -> None:
    stopped = f"{_READY}\n{STOPS_SERVER} at 2026-11-29 15:04:00 UTC\n"
    dying = "[2026-11-29 15:04:09] Subprocess scheduler_1 (pid=7) crashed with exit code -15. Triggering\n"
    error = MeasureError(None, "the connection was lost")
    failure = judge(error, _evidence(tmp_path, stopped + dying + _OUT_OF_MEMORY, stage=Stage.MEASURE))
    assert (failure.kind, failure.summary) == (FailureKind.UNKNOWN, error.summary)


@pytest.mark.parametrize(
    ("log", "code"),
    [
        (_BOOTING, -15),
        (f"{_BOOTING}[2026-11-29 15:03:55] INFO:     Shutting down\n", None),
        (f"{_READY}[2026-11-29 15:04:00] SIGTERM received. signum=None frame=None. Draining\n", 0),
    ],
)
def test_somebody_else_who_stops_the_server_is_the_environment(
    tmp_path: Path, log: str, code: int | None
) -> None:
    ended = f"{log}{STOPS_SERVER} at 2026-11-29 15:04:01 UTC\n" if code is None else log
    evidence = _evidence(tmp_path, ended, stage=Stage.LOAD_WEIGHTS, code=code)
    failure = judge(Died(), replace(evidence, facts=MachineFacts(watched=True)))
    assert (failure.kind, failure.at_fault) == (FailureKind.ENVIRONMENT, "environment")
    assert failure.summary.startswith("Somebody else told the server to stop at stage ")


def test_the_same_words_before_we_end_it_are_one(tmp_path: Path) -> None:
    log = f"{_READY}{_OUT_OF_MEMORY}\n{STOPS_SERVER} at 2026-11-29 15:04:20 UTC\n"
    failure = judge(MeasureError(None, "lost"), _evidence(tmp_path, log, stage=Stage.MEASURE))
    assert failure.kind is FailureKind.OOM_RUNTIME


def test_wrong_output_quotes_what_was_found(tmp_path: Path) -> None:
    found = ("6.80 nats a token off", "19% of an answer's characters are no text")
    failure = judge(WrongOutput(found), _evidence(tmp_path, _READY, stage=Stage.CHECK))
    assert (failure.kind, failure.stage) == (FailureKind.WRONG_OUTPUT, Stage.CHECK)
    assert (failure.summary, failure.evidence) == (found[0], found)


def test_lost_card_is_the_environments(tmp_path: Path) -> None:
    ending = GpuLost(["Xid 79: GPU 2 has fallen off the bus"])
    failure = judge(ending, _evidence(tmp_path, _READY, stage=Stage.MEASURE))
    assert (failure.kind, failure.at_fault) == (FailureKind.ENVIRONMENT, "environment")


@pytest.mark.parametrize("ending", [Died(), Hung(Stage.WARM_UP, "silent"), MeasureError(None, "lost")])
def test_full_disk_explains_what_nothing_else_does(
    ending: EndOfLife | MeasureError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "full_disk", lambda folder: f"the disk of {folder} is full")
    failure = judge(ending, _evidence(tmp_path, _READY, stage=Stage.MEASURE))
    assert failure.kind is FailureKind.ENVIRONMENT
    assert failure.summary == f"the disk of {tmp_path} is full"


def test_full_disk_does_not_hide_a_known_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "full_disk", lambda folder: "full")
    failure = judge(Died(), _evidence(tmp_path, _READY + _OUT_OF_MEMORY, stage=Stage.MEASURE, code=-9))
    assert failure.kind is FailureKind.OOM_RUNTIME


def test_a_flood_is_named_by_its_cause_where_the_log_says_one(tmp_path: Path) -> None:
    flood = Overflowed(FailureKind.UNKNOWN, "the server wrote 600 MiB of log")
    unknown = judge(flood, _evidence(tmp_path, _READY, stage=Stage.MEASURE))
    assert (unknown.kind, unknown.summary) == (FailureKind.UNKNOWN, flood.sentence)
    known = judge(flood, _evidence(tmp_path, _READY + _OUT_OF_MEMORY, stage=Stage.MEASURE))
    assert known.kind is FailureKind.OOM_RUNTIME


def test_a_disk_that_fills_up_is_the_environments(tmp_path: Path) -> None:
    ending = Overflowed(FailureKind.ENVIRONMENT, "the disk is nearly full")
    failure = judge(ending, _evidence(tmp_path, _READY + _OUT_OF_MEMORY, stage=Stage.MEASURE))
    assert (failure.kind, failure.summary) == (FailureKind.ENVIRONMENT, "the disk is nearly full")


def test_request_to_stop_is_no_failure(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        judge(Asked(), _evidence(tmp_path, _READY, stage=Stage.MEASURE))


def test_only_a_cards_own_faults_blame_the_card() -> None:
    broken, crashed = "Xid 79: GPU 2 has fallen off the bus", "Xid 31: MMU fault of pid 4711 on GPU 0"
    unreadable = "GPU 2 is lost: the driver no longer answers for it"
    facts = MachineFacts(gpu_faults=(crashed, broken, unreadable))
    assert hardware_faults(facts) == (broken, unreadable)
