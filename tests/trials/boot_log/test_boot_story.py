"""A boot followed line by line, in the wording of several releases."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from trials.boot_log import (
    BootLog,
    DecodeBatch,
    Event,
    Fatal,
    GraphsCaptured,
    MemoryFigure,
    Notice,
    Ready,
    Retraction,
    StageChanged,
)
from trials.outcome import Stage

_REAL = Path(__file__).parents[1] / "logs" / "sglang-0.5.23-cpu"

_STORY = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "stories").iterdir())}


def _followed(text: str) -> tuple[BootLog, list[Event]]:
    log = BootLog()
    return log, [event for line in text.splitlines() for event in log.feed(line)]


@pytest.mark.parametrize("release", _STORY)
def test_the_report_adds_up_what_one_gpu_holds(release: str) -> None:
    log, _ = _followed(_STORY[release])
    assert log.report().model_dump() == {
        "weights_gib": 70.10,
        "draft_gib": 2.10,
        "kv_gib": pytest.approx(12.0),
        "kv_tokens": 454416,
        "graphs_gib": pytest.approx(1.33),
        "left_gib": 5.15,
        "boot_s": 57.0,
    }
    assert (log.ready, log.listening_port, log.stage) == (True, 30000, Stage.READY)


@pytest.mark.parametrize("release", _STORY)
def test_stages_come_in_order_and_once(release: str) -> None:
    _, events = _followed(_STORY[release])
    stages = [event.stage for event in events if isinstance(event, StageChanged)]
    assert stages == [
        Stage.START,
        Stage.INIT_DISTRIBUTED,
        Stage.LOAD_WEIGHTS,
        Stage.KV_POOL,
        Stage.GRAPH_CAPTURE,
        Stage.WARM_UP,
        Stage.READY,
    ]
    assert [event for event in events if isinstance(event, Ready)]


@pytest.mark.parametrize("release", _STORY)
def test_captures_say_their_sizes_and_times_where_the_release_does(release: str) -> None:
    _, events = _followed(_STORY[release])
    captures = [event for event in events if isinstance(event, GraphsCaptured) and event.rank == "TP0"]
    assert [capture.seconds for capture in captures] == [7.22, 1.0]
    expected = [()] * 2 if release == "0.4.6" else [(1, 2, 4)] * 2
    assert [capture.sizes for capture in captures] == expected


def test_a_rank_goes_back_to_loading_while_the_furthest_stage_stays() -> None:
    log, _ = _followed("\n".join(_STORY["0.4.6"].splitlines()[:15]))
    assert log.activity("TP0") == Stage.LOAD_WEIGHTS
    assert log.activity("TP1") == Stage.GRAPH_CAPTURE
    assert log.stage == Stage.GRAPH_CAPTURE


def test_start_up_timings_of_the_server_itself() -> None:
    log, _ = _followed(_STORY["0.5.23"])
    assert log.timings_s["load_weight"] == 29.10
    assert log.timings_s["target_verify"] == 7.22


def test_graph_memory_is_a_difference_where_the_release_does_not_say_it() -> None:
    log = BootLog()
    log.feed("Capture cuda graph begin. This can take up to several minutes. avail mem=9.10 GB")
    (captured, figure) = log.feed("Capture cuda graph end. Time elapsed: 7.23 s. avail mem=8.10 GB")
    assert isinstance(captured, GraphsCaptured)
    assert isinstance(figure, MemoryFigure)
    assert (figure.what, figure.gib) == ("graphs", pytest.approx(1.0))


@pytest.mark.parametrize(
    ("line", "batch"),
    [
        (
            "[2026-11-29 15:04:02 TP0] Decode batch, #running-req: 4, #token: 114, token usage: 0.01, "
            "accept len: 2.31, accept rate: 0.44, cuda graph: False, "
            "gen throughput (token/s): 20.00, #queue-req: 3",
            DecodeBatch(4, 114, 0.01, 2.31, 0.44, False, 20.0, 3, "TP0"),
        ),
        (
            "[2026-11-29 15:04:02] Decode batch. #running-req: 1, #token: 501, token usage: 0.02, "
            "cuda graph: True, gen throughput (token/s): 65.75, #queue-req: 0,",
            DecodeBatch(1, 501, 0.02, None, None, True, 65.75, 0),
        ),
        (
            "[2026-11-29 15:04:02 DP1 TP1] Decode batch [812], #running-req: 2, #full token: 40, "
            "full token usage: 0.10, mamba num: 2, mamba usage: 0.50, cpu graph: False, "
            "gen throughput (token/s): 7.00, #queue-req: 0",
            DecodeBatch(2, 40, 0.10, None, None, False, 7.0, 0, "DP1 TP1"),
        ),
    ],
)
def test_decode_batches_of_all_releases(line: str, batch: DecodeBatch) -> None:
    log = BootLog()
    log.args_line = "server_args={'tp_size': 1}"
    assert log.feed(line) == [batch]


def test_a_decode_line_that_was_torn_is_passed_over() -> None:
    log = BootLog()
    log.args_line = "server_args={'tp_size': 1}"
    assert log.feed("Decode batch, #running-r") == []


def test_a_log_without_its_head_that_decodes_was_ready() -> None:
    log = BootLog()
    log.feed("[2026-11-29 15:04:02] Decode batch. #running-req: 1, #token: 501, token usage: 0.02")
    assert log.ready


@pytest.mark.parametrize(
    "line",
    [
        "KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 8",
        "Decode out of memory happened. #retracted_reqs: 2, #new_token_ratio: 0.63 -> 1.00",
    ],
)
def test_retractions_of_all_releases(line: str) -> None:
    assert BootLog().feed(f"[2026-11-29 15:04:02 TP0] {line}") == [Retraction(2)]


@pytest.mark.parametrize(
    "line",
    [
        "max_running_requests was reduced from the requested 48 to 31 (per dp worker).",
        "KV pool holds 400 tokens, fewer than --context-length 2048. One full-length request cannot fit",
        "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs.",
        "Setup FlashInfer PCIe-IPC allreduce failed with no P2P.",
        "TorchSymmMemCommunicator: Device capability 12 not supported, communicator is not available.",
        "Cuda graph is disabled because of using torch native attention backend",
        "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1",
    ],
)
def test_warnings_that_change_what_the_settings_mean_are_kept_once(line: str) -> None:
    log = BootLog()
    assert log.feed(f"[2026-11-29 15:04:02 TP0] {line}") == [Notice(line)]
    assert log.feed(f"[2026-11-29 15:04:02 TP1] {line}") == []
    assert log.notices == [line]


@pytest.mark.parametrize(
    "line",
    [
        "Ignore import error when loading sglang.srt.models.grok: module is not available",
        "Init Unified Radix Cache. Components: (<ComponentType.FULL: 0>,). Tree Core: RustUnifiedTreeCore",
        'INFO:     127.0.0.1:52002 - "GET /model_info HTTP/1.1" 200 OK',
        "Using fallback token IDs for yes/no (9693/2152)",
    ],
)
def test_chatter_is_no_notice(line: str) -> None:
    assert BootLog().feed(f"[2026-11-29 15:04:02 TP0] {line}") == []


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-29 15:04:02 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        "[2026-11-29 15:04:02] ERROR:    [Errno 98] error while attempting to bind: address already in use",
        "[2026-11-29 15:04:02] Subprocess scheduler_0 (pid=9) crashed with exit code -9. Triggering SIGQUIT",
        "sglang serve: error: unrecognized arguments: --no-such-flag 3",
        "[2026-11-29 15:04:02] Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
    ],
)
def test_fatal_lines_are_announced(line: str) -> None:
    assert [type(event) for event in BootLog().feed(line)] == [Fatal]


def test_a_soft_watchdog_is_not_fatal() -> None:
    line = "[2026-11-29 15:04:02] Scheduler watchdog timeout (self.watchdog_timeout=30, self.soft=True)"
    assert BootLog().feed(line) == []


@pytest.mark.parametrize("path", sorted(_REAL.glob("*.gz")), ids=lambda path: path.stem)
def test_real_logs_are_followed_to_their_end(path: Path) -> None:
    text = gzip.decompress(path.read_bytes()).decode()
    log, events = _followed(text)
    assert log.ready == ("fired up and ready to roll" in text)
    assert log.port_taken == ("[Errno 98]" in text)
    assert (log.server_args is not None) == ("server_args=" in text)
    assert bool([event for event in events if isinstance(event, Fatal)]) == any(
        word in text
        for word in (
            "hit an exception",
            "crashed with exit",
            "Errno 98",
            ": error: ",
            "warmup error",
            "scheduler died",
            "SIGTERM received",
            "INFO:     Shutting down",
        )
    )


def test_a_real_boot_with_speculation_reports_target_and_draft() -> None:
    log, events = _followed(gzip.decompress((_REAL / "spec_eagle3_amx.log.gz").read_bytes()).decode())
    assert log.server_args is not None
    assert log.server_args["max_total_tokens"] == 8192
    report = log.report()
    assert (report.kv_tokens, report.kv_gib, report.left_gib) == (8192, pytest.approx(0.02), 20.54)
    assert report.draft_gib is not None
    lengths = [event.accept_len for event in events if isinstance(event, DecodeBatch)]
    assert set(lengths) == {1.0}
