"""How the box's process tree ends, by every way in which SGLang's ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from trials.box.device_files import process_started

pytestmark = pytest.mark.slow

ROOMY = ("--mem-fraction-static", "0.88")


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_until_gone(pids: list[int]) -> None:
    end = time.monotonic() + 30
    while any(process_started(pid) is not None for pid in pids):
        assert time.monotonic() < end, f"still there: {pids}"
        time.sleep(0.02)


def test_a_tree_of_launcher_schedulers_and_detokenizer(start_box: Any) -> None:
    box = start_box(*ROOMY).wait_ready()
    names = sorted(Path(f"/proc/{pid}/comm").read_text().strip() for pid in children_of(box.process.pid))
    assert names == ["sglang::detoken", *["sglang::schedul"] * 8]
    assert len(box.schedulers) == 8
    assert all(f" TP{rank}] Load weight end" in box.log for rank in range(8))


def test_sigterm_when_idle_ends_in_order_and_frees_the_cards(start_box: Any) -> None:
    box = start_box(*ROOMY).wait_ready()
    children = children_of(box.process.pid)
    assert box.stop() == 0
    wait_until_gone(children)
    assert box.devices.holdings() == []
    assert "Gracefully exiting... Remaining number of requests 0." in box.log


@pytest.mark.parametrize(("victim", "name"), [(0, "scheduler_0"), (-1, "detokenizer")])
def test_a_killed_child_takes_the_launcher_down(start_box: Any, victim: int, name: str) -> None:
    box = start_box(*ROOMY).wait_ready()
    children = children_of(box.process.pid)
    os.kill(children[victim], signal.SIGKILL)
    assert box.wait_exit() == -9
    assert f"Subprocess {name} (pid={children[victim]}) crashed with exit code -9" in box.log
    wait_until_gone(children)


def test_children_follow_a_killed_launcher(start_box: Any) -> None:
    box = start_box(*ROOMY).wait_ready()
    children = children_of(box.process.pid)
    box.process.kill()
    box.wait_exit()
    wait_until_gone(children)


def test_sigterm_early_in_the_boot_orphans_the_children_for_a_while(start_box: Any) -> None:
    box = start_box(*ROOMY, AUTOTUNE_BOX_TIME_SCALE="0.02").wait_for("server_args=")
    end = time.monotonic() + 20
    while len(children := children_of(box.process.pid)) < 9:
        assert time.monotonic() < end
        time.sleep(0.005)
    box.process.terminate()
    assert box.wait_exit() == -15
    assert any(process_started(pid) is not None for pid in children)
    wait_until_gone(children)


def test_a_stopped_scheduler_fails_health_but_not_models(start_box: Any) -> None:
    box = start_box(*ROOMY).wait_ready()
    os.kill(children_of(box.process.pid)[0], signal.SIGSTOP)
    assert box.get("/health")[0] == 503
    assert box.get("/v1/models")[0] == 200


def test_sigterm_under_load_drains_first(start_box: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    box = start_box(*ROOMY).wait_ready()
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(box.generate, "a story", 40)
        time.sleep(0.2)
        assert box.stop() == 0
        assert reply.result()["meta_info"]["completion_tokens"] == 40
    assert "Remaining number of requests 1." in box.log
