"""Which of several incidents decides, and what stage, exit code and machine facts change."""

from __future__ import annotations

import pytest

from tests.trials.failures.server_log import ServerLog
from trials.failures import MachineFacts, diagnose
from trials.outcome import Failure, FailureKind, Stage

_OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 4 has a total capacity of "
    "94.97 GiB of which 0.50 GiB is free."
)
_A2A = "AssertionError: Flashinfer MoE A2A requires --attn-dp-size equal to --tp-size."
_PEER = "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:33431"


def _failure(log: ServerLog, **known: object) -> Failure:
    failure = diagnose(log.lines, **known).failure  # type: ignore[arg-type]  # each test's own keywords
    assert failure is not None
    return failure


def test_the_first_exception_by_time_decides_not_the_last_line() -> None:
    log = ServerLog().boot(Stage.LOAD_WEIGHTS)
    log.exception(_A2A, rank=3)
    log.wait(2)
    log.exception(_OOM, rank=0)
    assert _failure(log).kind == FailureKind.INVALID_SETTINGS


def test_time_counts_more_than_the_order_of_lines() -> None:
    log = ServerLog().boot(Stage.LOAD_WEIGHTS)
    log.wait(3)
    log.exception(_OOM, rank=0)
    log.wait(-3)
    log.exception(_A2A, rank=3)
    assert _failure(log).kind == FailureKind.INVALID_SETTINGS


def test_the_echo_of_a_failure_gives_way_to_its_cause() -> None:
    log = ServerLog().boot(Stage.GRAPH_CAPTURE)
    log.exception(_PEER, rank=2)
    log.wait(1)
    log.exception(_OOM, rank=5)
    log.launcher_gives_up()
    assert _failure(log).kind == FailureKind.OOM_GRAPH_CAPTURE


def test_a_watchdog_after_a_kernel_fault_is_noise() -> None:
    log = ServerLog().boot(Stage.READY).decode()
    log.exception("torch.AcceleratorError: CUDA error: misaligned address", rank=2)
    log.wait(300)
    log.say("Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)", rank=0)
    assert _failure(log).kind == FailureKind.KERNEL_FAULT


def test_an_unknown_first_exception_is_not_replaced_by_a_known_later_one() -> None:
    log = ServerLog().boot(Stage.WARM_UP)
    log.exception("RuntimeError: shape '[2, 8]' is invalid for input of size 12", rank=2)
    log.wait(1)
    log.exception(_OOM, rank=0)
    failure = _failure(log)
    assert failure.kind == FailureKind.UNKNOWN
    assert "shape '[2, 8]' is invalid" in failure.summary


def test_the_cause_in_a_chain_of_exceptions_decides() -> None:
    log = ServerLog().boot(Stage.GRAPH_CAPTURE)
    log.exception(
        "RuntimeError: out of resource: shared memory, Required: 147456, Hardware limit: 101376.\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/srv/sglang/runner.py", line 3, in capture\n'
        "    raise RuntimeError\n"
        "RuntimeError: torch compile says: out of memory is one possible reason"
    )
    assert _failure(log).kind == FailureKind.UNSUPPORTED_KERNEL


@pytest.mark.parametrize(
    "heading", ["Process SpawnProcess-3:", "Exception in thread Thread-2 (forward_func):"]
)
def test_a_traceback_under_a_heading_belongs_to_it(heading: str) -> None:
    log = ServerLog().boot(Stage.GRAPH_CAPTURE)
    log.raw(heading)
    log.uncaught(_OOM)
    assert _failure(log).kind == FailureKind.OOM_GRAPH_CAPTURE


def test_a_caught_exception_before_the_ready_line_does_not_matter() -> None:
    log = ServerLog().boot(Stage.WARM_UP)
    log.say("Failed to load the optional plug-in")
    log.uncaught(_OOM)
    log.say("The server is fired up and ready to roll!")
    assert diagnose(log.lines).verdict == "healthy"


@pytest.mark.parametrize("stamped", [True, False])
def test_the_traceback_of_a_single_request_is_never_the_cause(stamped: bool) -> None:
    log = ServerLog().boot(Stage.READY)
    (log.say if stamped else log.raw)("ERROR:    Exception in ASGI application")
    log.uncaught("RuntimeError: CUDA out of memory while parsing the request")
    assert diagnose(log.decode().lines).verdict == "healthy"
    log.scheduler_dies("torch.AcceleratorError: CUDA error: misaligned address")
    assert _failure(log).kind == FailureKind.KERNEL_FAULT


def test_a_ready_line_beside_a_taken_port_is_false() -> None:
    log = ServerLog().boot(Stage.WARM_UP)
    log.say("ERROR:    [Errno 98] error while attempting to bind on address: address already in use")
    log.say("The server is fired up and ready to roll!")
    failure = _failure(log)
    assert (failure.kind, failure.at_fault) == (FailureKind.ENVIRONMENT, "environment")


def test_what_follows_a_request_to_stop_is_the_sound_of_stopping() -> None:
    log = ServerLog().boot(Stage.READY).decode()
    log.say("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
    log.exception(_PEER, rank=1)
    assert diagnose(log.lines).verdict == "healthy"


def test_the_second_server_in_a_file_is_judged_alone() -> None:
    log = ServerLog().boot(Stage.LOAD_WEIGHTS)
    log.scheduler_dies(_OOM)
    log.boot(Stage.READY).decode()
    assert diagnose(log.lines).verdict == "healthy"


def test_a_draft_model_that_does_not_fit_fails_while_weights_are_loaded() -> None:
    log = ServerLog("0.5.9").boot(Stage.GRAPH_CAPTURE)
    log.say("Capture cuda graph end. Time elapsed: 21.40 s. mem usage=1.93 GB. avail mem=7.17 GB.", rank=4)
    log.say("Load weight begin. avail mem=7.17 GB", rank=4)
    log.exception(_OOM, rank=4)
    assert _failure(log).kind == FailureKind.OOM_WEIGHTS


def test_out_of_memory_without_a_stage_stays_unknown() -> None:
    assert _failure(ServerLog(lines=[_OOM])).kind == FailureKind.UNKNOWN


def test_the_worker_knows_the_stage_after_readiness() -> None:
    log = ServerLog().boot(Stage.READY).decode()
    log.scheduler_dies(_OOM)
    failure = _failure(log, stage=Stage.MEASURE)
    assert (failure.kind, failure.stage) == (FailureKind.OOM_RUNTIME, Stage.MEASURE)


def test_arguments_are_refused_at_their_stage_whatever_the_worker_began() -> None:
    log = ServerLog(lines=["sglang serve: error: unrecognized arguments: --nope"])
    assert _failure(log, exit_code=2, stage=Stage.START).stage == Stage.ARGUMENTS


def test_bounds_come_from_the_settings_where_the_log_has_no_arguments() -> None:
    log = ServerLog(lines=[_OOM])
    failure = _failure(log, stage=Stage.GRAPH_CAPTURE, settings={"mem_fraction_static": 0.9})
    assert [remedy.bound for remedy in failure.remedies] == [0.9, None]


def test_a_hang_that_we_ended_is_a_hang_at_its_stage() -> None:
    log = ServerLog().boot(Stage.GRAPH_CAPTURE)
    log.say("Subprocess scheduler_0 (pid=77) crashed with exit code -9. Triggering SIGQUIT for cleanup...")
    failure = _failure(log, exit_code=-9, facts=MachineFacts(killed_by_us="hang"))
    assert (failure.kind, failure.stage, failure.at_fault) == (
        FailureKind.HANG,
        Stage.GRAPH_CAPTURE,
        "settings",
    )


def test_a_failure_before_our_kill_is_no_hang() -> None:
    log = ServerLog().boot(Stage.GRAPH_CAPTURE)
    log.exception(_OOM)
    failure = _failure(log, exit_code=-9, facts=MachineFacts(killed_by_us="hang"))
    assert failure.kind == FailureKind.OOM_GRAPH_CAPTURE


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("GPU 3: Xid 79, fallen off the bus", FailureKind.ENVIRONMENT),
        ("GPU 3 is lost", FailureKind.ENVIRONMENT),
        ("GPU 3: Xid 31, MMU fault", FailureKind.KERNEL_FAULT),
    ],
)
def test_a_broken_card_explains_everything_but_not_what_a_kernel_causes(
    fault: str, kind: FailureKind
) -> None:
    log = ServerLog().boot(Stage.READY).decode()
    log.scheduler_dies("torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
    assert _failure(log, facts=MachineFacts(gpu_faults=(fault,))).kind == kind


@pytest.mark.parametrize(
    ("exit_code", "kind"),
    [
        (2, FailureKind.INVALID_SETTINGS),
        (127, FailureKind.ENVIRONMENT),
        (-11, FailureKind.KERNEL_FAULT),
        (139, FailureKind.KERNEL_FAULT),
        (-9, FailureKind.UNKNOWN),
        (0, FailureKind.UNKNOWN),
        (1, FailureKind.UNKNOWN),
    ],
)
def test_an_exit_code_speaks_only_where_the_log_is_silent(exit_code: int, kind: FailureKind) -> None:
    assert _failure(ServerLog(), exit_code=exit_code).kind == kind
    log = ServerLog().boot(Stage.KV_POOL)
    log.scheduler_dies("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")
    assert _failure(log, exit_code=exit_code).kind == FailureKind.KV_POOL_TOO_SMALL


@pytest.mark.parametrize("exit_code", [0, -15, 143, None])
def test_a_ready_server_that_was_stopped_is_healthy(exit_code: int | None) -> None:
    assert diagnose(ServerLog().boot(Stage.READY).lines, exit_code=exit_code).verdict == "healthy"


@pytest.mark.parametrize(
    ("rose", "kind"),
    [(True, FailureKind.OOM_HOST), (False, FailureKind.ENVIRONMENT), (None, FailureKind.UNKNOWN)],
)
def test_a_ready_server_that_was_killed_is_judged_by_the_kernels_counter(
    rose: bool | None, kind: FailureKind
) -> None:
    log = ServerLog().boot(Stage.READY)
    assert _failure(log, exit_code=137, facts=MachineFacts(oom_kills_rose=rose)).kind == kind


def test_one_object_a_line() -> None:
    log = ServerLog().boot(Stage.KV_POOL)
    log.scheduler_dies("AssertionError: max_running_request is zero")
    line = diagnose(log.lines).as_line("server.log")
    assert list(line) == [
        "file", "verdict", "kind", "stage", "at_fault", "summary", "evidence", "remedies"
    ]  # fmt: skip
    assert (line["verdict"], line["kind"], line["stage"]) == ("failed", "kv_pool_too_small", "kv_pool")
    healthy = diagnose(ServerLog().boot(Stage.READY).lines).as_line("server.log")
    assert (healthy["verdict"], healthy["kind"], healthy["evidence"]) == ("healthy", None, [])
