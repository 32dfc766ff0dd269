"""Each fault of a box, as it shows from outside."""

from __future__ import annotations

import http.client
import os
import signal
import time
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trials.box.probe import BoxProbe
from trials.gpus import GpuProbeError

pytestmark = pytest.mark.slow

KIMI = "kimi-k2.5-8x-rtx-pro-6000"
READY_LINE = "The server is fired up and ready to roll!"
BROKEN = (urllib.error.URLError, ConnectionError, http.client.HTTPException)
ROOMY = ("--mem-fraction-static", "0.88")
STAGES = {
    "start": "server_args=",
    "init_distributed": "Init parallel begin",
    "load_weights": "Load weight begin",
    "kv_pool": "Load weight end",
    "graph_capture": "CUDA graph begin",
    "warm_up": "Uvicorn running",
}


def used_mib(box: Any) -> list[int]:
    return [sample.used_mib for sample in BoxProbe(KIMI, box.state).sample()]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("stage", "line"), STAGES.items())
def test_hang_at_a_stage_is_silent_and_lasts(start_box: Any, stage: str, line: str) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "hang", "stage": stage}]).wait_for(line)
    time.sleep(1.0)
    assert box.process.poll() is None
    assert READY_LINE not in box.log
    assert "watchdog" not in box.log.partition("server_args")[2].partition("\n")[2]


def test_hang_with_a_watchdog_ends_the_server(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "hang", "stage": "graph_capture", "watchdog": True}])
    assert box.wait_exit() == -9
    assert "Scheduler watchdog timeout (self.watchdog_timeout=300" in box.log


def test_hang_while_serving_fails_the_health_check(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "hang", "stage": "serving"}]).wait_ready()
    with ThreadPoolExecutor() as pool:
        reply = pool.submit(box.generate)
        time.sleep(0.3)
        assert box.get("/health")[0] == 503
        assert box.get("/v1/models")[0] == 200
        box.kill_all()
        assert isinstance(reply.exception(), BROKEN)


def test_flaky_kernel_fault_strikes_one_boot_in_n(start_box: Any) -> None:
    fault = {"kind": "kernel_fault", "stage": "warm_up", "every": 2}
    start_box(*ROOMY, faults=[fault]).wait_ready().stop()
    second = start_box(*ROOMY, faults=[fault])
    assert second.wait_exit() == -9
    assert "CUDA error: an illegal memory access was encountered" in second.log
    start_box(*ROOMY, faults=[fault]).wait_ready()


def test_kernel_fault_at_the_second_request(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "kernel_fault", "at_request": 2}]).wait_ready()
    box.generate()
    with pytest.raises(BROKEN):
        box.generate()
    assert box.wait_exit() == -9
    assert "an illegal memory access" in box.log.partition(READY_LINE)[2]


def test_kernel_fault_at_four_concurrent_requests(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "kernel_fault", "at_running": 4}]).wait_ready()
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda index: box.generate(f"story {index}"), range(3)))
        replies = [pool.submit(box.generate, f"tale {index}", 64) for index in range(4)]
        assert any(isinstance(reply.exception(), BROKEN) for reply in replies)
    assert box.wait_exit() == -9


def test_fault_only_where_its_condition_holds(start_box: Any) -> None:
    fault = {"kind": "kernel_fault", "stage": "warm_up", "when": {"graph_max_bs": 64}}
    start_box(*ROOMY, "--cuda-graph-max-bs-decode", "32", faults=[fault]).wait_ready().stop()
    hit = start_box(*ROOMY, "--cuda-graph-max-bs-decode", "64", faults=[fault])
    assert hit.wait_exit() == -9


def test_garbled_output_shows_in_text_and_logprobs(start_box: Any) -> None:
    sound = start_box(*ROOMY).wait_ready()
    good = sound.generate(tokens=16, return_logprob=True)
    assert sound.stop() == 0
    bad = start_box(*ROOMY, faults=[{"kind": "garbled_output"}]).wait_ready()
    garbled = bad.generate(tokens=16, return_logprob=True)
    assert garbled["text"] != good["text"]
    mean = [
        sum(entry[0] for entry in reply["meta_info"]["output_token_logprobs"]) / 16
        for reply in (good, garbled)
    ]
    assert mean[1] < mean[0] - 3


def test_accept_length_of_one(start_box: Any) -> None:
    flags = (
        "--speculative-algorithm",
        "EAGLE3",
        "--speculative-draft-model-path",
        "d",
        "--speculative-num-steps",
        "3",
    )
    box = start_box(*ROOMY, *flags, faults=[{"kind": "accept_one"}]).wait_ready()
    assert box.generate(tokens=64)["meta_info"]["spec_accept_length"] == 1.0
    assert "accept len: 1.00, accept rate: 0.00" in box.log


def test_healthy_server_that_aborts_on_its_first_forward(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "abort_on_first_forward"}]).wait_ready()
    assert box.get("/health")[0] == 200
    with pytest.raises(BROKEN):
        box.generate()
    assert box.wait_exit() == -9
    assert "crashed with exit code -6" in box.log


@pytest.mark.parametrize("own_session", [False, True])
def test_orphaned_scheduler_ignores_sigterm_and_keeps_its_memory(start_box: Any, own_session: bool) -> None:
    fault = {"kind": "orphan_scheduler", "rank": 3, "own_session": own_session}
    box = start_box(*ROOMY, faults=[fault]).wait_ready()
    assert box.stop() == 0
    time.sleep(0.3)
    (orphan,) = box.schedulers
    os.kill(orphan, signal.SIGTERM)
    time.sleep(0.2)
    assert is_alive(orphan)
    assert used_mib(box)[3] > 70_000
    assert used_mib(box)[2] < 100
    assert (os.getsid(orphan) == orphan) is own_session


def test_memory_that_comes_back_late(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "memory_comes_back_late", "seconds": 1.5}]).wait_ready()
    assert box.stop() == 0
    assert used_mib(box)[0] > 70_000
    time.sleep(1.8)
    assert used_mib(box)[0] < 100


def test_foreign_process_takes_memory_and_goes(start_box: Any) -> None:
    box = start_box(faults=[{"kind": "foreign_process", "card": 5, "mib": 30_000}])
    assert box.wait_exit() == -9
    assert "TP5] Scheduler hit an exception" not in box.log
    assert "The memory capacity is unbalanced. Some GPUs may be occupied by other processes." in box.log
    wait = time.monotonic() + 10
    while used_mib(box)[5] > 100:
        assert time.monotonic() < wait
        time.sleep(0.05)


def test_foreign_process_leaves_too_little_for_the_weights(start_box: Any) -> None:
    fault = {"kind": "foreign_process", "card": 5, "mib": 30_000}
    box = start_box(faults=[fault], SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK="0")
    assert box.wait_exit() == -9
    assert "TP5] Load weight begin. avail mem=64.95 GB" in box.log
    assert "torch.OutOfMemoryError: CUDA out of memory" in box.log


def test_a_little_foreign_memory_shrinks_the_pool_of_all(start_box: Any) -> None:
    alone = start_box(*ROOMY).wait_ready()
    tokens = alone.info()["max_total_num_tokens"]
    assert alone.stop() == 0
    box = start_box(*ROOMY, faults=[{"kind": "foreign_process", "card": 5, "mib": 4000}]).wait_ready()
    assert 40_000 < tokens - box.info()["max_total_num_tokens"] < 60_000


def test_gpu_that_disappears(start_box: Any) -> None:
    fault = {"kind": "gpu_lost", "card": 2, "at_request": 1, "seconds": 30}
    box = start_box(*ROOMY, faults=[fault]).wait_ready()
    probe = BoxProbe(KIMI, box.state)
    with pytest.raises(BROKEN):
        box.generate()
    with pytest.raises(GpuProbeError, match="GPU 2"):
        probe.sample()
    assert probe.faults() == ["Xid 79: GPU 2 has fallen off the bus"]
    assert probe.faults() == []


def test_port_taken_by_a_silent_stranger(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "port_taken"}]).wait_for("[Errno 98]")
    time.sleep(0.5)
    assert READY_LINE not in box.log
    assert box.process.poll() is None


def test_port_taken_by_another_sglang_gives_a_false_ready_line(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "port_taken", "by_sglang": True}]).wait_for(READY_LINE)
    assert "[Errno 98]" in box.log
    assert b"of-somebody-else" in box.get("/model_info")[1]


def test_disk_full(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "disk_full", "stage": "load_weights"}])
    assert box.wait_exit() == -9
    assert "[Errno 28] No space left on device" in box.log


def test_log_flood(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "log_flood", "stage": "kv_pool", "mib": 12}]).wait_ready()
    assert box.log_file.stat().st_size > 12 << 20


def test_slow_drip(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "slow_drip", "factor": 10}]).wait_ready()
    began = time.monotonic()
    box.generate(tokens=8)
    assert time.monotonic() - began > 7 * 0.09


def test_connection_reset_in_mid_stream(start_box: Any) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "connection_reset", "after_tokens": 4}]).wait_ready()
    with pytest.raises(ConnectionResetError):
        box.generate(tokens=32)
    assert box.get("/health")[0] == 200


@pytest.mark.parametrize(
    ("stage", "sentence"),
    [
        (
            "load_weights",
            "scheduler died during initialization (exit code: -9). If exit code is -9 (SIGKILL)",
        ),
        ("serving", "crashed with exit code -9. Triggering SIGQUIT"),
    ],
)
def test_scheduler_killed_from_outside(start_box: Any, stage: str, sentence: str) -> None:
    box = start_box(*ROOMY, faults=[{"kind": "scheduler_dies", "stage": stage}])
    if stage == "serving":
        with pytest.raises(BROKEN):
            box.wait_ready().generate()
    assert box.wait_exit() == (1 if stage == "load_weights" else -9)
    assert sentence in box.log
