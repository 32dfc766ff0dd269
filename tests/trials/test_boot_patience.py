"""A boot is given up when it is dead, silent, lost or too long, and each is told apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any, cast

import httpx
import pytest

from tests.trials.trial_runs import trial_plan
from trials import boot
from trials.boot import Boot
from trials.command import Command
from trials.endings import Asked, Died, Hung
from trials.launch import Launch
from trials.log_follower import LogFollower
from trials.log_tail import LogTail
from trials.outcome import Stage
from trials.server import ServerProcess
from trials.settings import TrialPlan
from trials.silence import FLOOR_S, longest_silence_s, measuring_patience

_STAGES = {
    Stage.START: "server_args={'tp_size': 2}",
    Stage.INIT_DISTRIBUTED: "Init torch distributed begin.",
    Stage.LOAD_WEIGHTS: "Load weight begin. avail mem=93.52 GB",
    Stage.KV_POOL: "Load weight end. elapsed=2.0 s, type=Llama, avail mem=40.00 GB, mem usage=53.52 GB.",
    Stage.GRAPH_CAPTURE: "Capture cuda graph begin. This can take up to several minutes.",
}
_READY = "The server is fired up and ready to roll!"


class _Server:
    """A server process of which only what a boot asks is there."""

    def __init__(self, code: int | None = None, owns_port: bool = True) -> None:
        self._code = code
        self._owns_port = owns_port

    def poll(self) -> int | None:
        return self._code

    def owns_port(self, port: int) -> bool:
        return self._owns_port


class _Case:
    """A boot over a log that was written beforehand."""

    def __init__(self, folder: Path, *lines: str) -> None:
        self.log = folder / "server.log"
        self.log.write_text("".join(f"[2026-11-29 15:03:50{line}\n" for line in lines))
        self.folder = folder
        self.stop = Event()
        self.stages: list[Stage] = []

    def boot(
        self,
        server: _Server | None = None,
        *,
        timeouts: Mapping[str, float] | None = None,
        boot_timeout_s: float = 60.0,
        tells_stages: bool = True,
    ) -> Boot:
        plan = _with_limit(trial_plan(self.folder, stage_timeouts_s=timeouts or {}), boot_timeout_s)
        launch = Launch(Command(("x",)), None, 1, "http://127.0.0.1:1", self.log, None, tells_stages)
        follower = LogFollower(LogTail(self.log), self.stages.append)
        return Boot(cast(ServerProcess, server or _Server()), follower, plan, launch, self.stop)


def _with_limit(plan: TrialPlan, boot_timeout_s: float) -> TrialPlan:
    server = plan.server.model_copy(update={"boot_timeout_s": boot_timeout_s})
    return plan.model_copy(update={"server": server})


def _both_ranks(stage: Stage) -> list[str]:
    return [f" TP{rank}] {_STAGES[stage]}" for rank in (0, 1)]


@pytest.mark.parametrize(
    "stage", [Stage.INIT_DISTRIBUTED, Stage.LOAD_WEIGHTS, Stage.KV_POOL, Stage.GRAPH_CAPTURE]
)
def test_silence_is_borne_as_long_as_the_stage_is_given(stage: Stage, tmp_path: Path) -> None:
    case = _Case(tmp_path, f"] {_STAGES[Stage.START]}", *_both_ranks(stage))
    with pytest.raises(Hung) as ending:
        case.boot(timeouts={stage: 0.15}).wait_until_ready()
    assert ending.value.stage is stage
    assert str(stage) in ending.value.sentence


def test_the_slowest_rank_says_where_a_boot_is_stuck(tmp_path: Path) -> None:
    ahead = [f" TP1] {_STAGES[stage]}" for stage in (Stage.LOAD_WEIGHTS, Stage.KV_POOL)]
    case = _Case(tmp_path, f"] {_STAGES[Stage.START]}", *_both_ranks(Stage.LOAD_WEIGHTS), *ahead)
    with pytest.raises(Hung) as ending:
        case.boot(timeouts={Stage.LOAD_WEIGHTS: 0.15}).wait_until_ready()
    assert ending.value.stage is Stage.LOAD_WEIGHTS


def test_a_rank_that_never_spoke_is_at_the_start(tmp_path: Path) -> None:
    case = _Case(tmp_path, f"] {_STAGES[Stage.START]}", f" TP1] {_STAGES[Stage.LOAD_WEIGHTS]}")
    with pytest.raises(Hung) as ending:
        case.boot(timeouts={Stage.START: 0.15}).wait_until_ready()
    assert ending.value.stage is Stage.START


def test_whole_boot_has_a_limit_even_if_it_talks(tmp_path: Path) -> None:
    case = _Case(tmp_path, f"] {_STAGES[Stage.START]}")
    with pytest.raises(Hung, match=r"not ready after boot_timeout_s = 0\.2 s, at stage start"):
        case.boot(boot_timeout_s=0.2).wait_until_ready()


def test_quiet_log_level_is_no_silence(tmp_path: Path) -> None:
    case = _Case(tmp_path)
    with pytest.raises(Hung, match="boot_timeout_s"):
        case.boot(timeouts={Stage.START: 0.05}, boot_timeout_s=0.3, tells_stages=False).wait_until_ready()


def test_dead_server_is_noticed_at_once(tmp_path: Path) -> None:
    with pytest.raises(Died):
        _Case(tmp_path).boot(_Server(code=-9)).wait_until_ready()


def test_last_words_of_a_dead_server_are_read(tmp_path: Path) -> None:
    case = _Case(tmp_path)

    class _Dying(_Server):
        def poll(self) -> int | None:
            case.log.write_text(f"[2026-11-29 15:03:50 TP0] {_STAGES[Stage.LOAD_WEIGHTS]}\n")
            return -9

    with pytest.raises(Died):
        case.boot(_Dying()).wait_until_ready()
    assert case.stages == [Stage.LOAD_WEIGHTS]


def test_server_that_said_it_is_lost_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boot, "DEATH_THROES_S", 0.1)
    taken = "ERROR:    [Errno 98] error while attempting to bind on address: address already in use"
    with pytest.raises(Died):
        _Case(tmp_path, f"] {taken}").boot().wait_until_ready()


def test_request_to_stop_ends_the_wait(tmp_path: Path) -> None:
    case = _Case(tmp_path)
    case.stop.set()
    with pytest.raises(Asked):
        case.boot().wait_until_ready()


def test_ready_line_is_false_while_another_owns_the_port(tmp_path: Path) -> None:
    case = _Case(tmp_path, f"] {_READY}")
    with pytest.raises(Hung):
        case.boot(_Server(owns_port=False), boot_timeout_s=0.2).wait_until_ready()


def test_ready_line_hidden_by_the_log_level_is_replaced_by_health(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class _Healthy:
        status_code = 200

    def healthy(url: str, **more: Any) -> _Healthy:
        asked.append(url)
        return _Healthy()

    monkeypatch.setattr(boot, "_ASK_HEALTH_EVERY_S", 0.05)
    monkeypatch.setattr(httpx, "get", healthy)
    monkeypatch.setattr(boot, "ready_generation", lambda *args, **more: None)
    assert _Case(tmp_path).boot().wait_until_ready() < 30
    assert asked == ["http://127.0.0.1:1/health"]


def test_first_token_has_a_patience_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def generate(url: str, timeout: float, **more: Any) -> None:
        given.append(timeout)

    monkeypatch.setattr(boot, "ready_generation", generate)
    _Case(tmp_path, f"] {_READY}").boot(timeouts={Stage.READY: 7.0}).wait_until_ready()
    assert given == [7.0]


def test_what_was_learned_replaces_the_floor(tmp_path: Path) -> None:
    plan = trial_plan(tmp_path, stage_timeouts_s={"load_weights": 33.0})
    assert longest_silence_s(plan, Stage.LOAD_WEIGHTS) == 33.0
    assert longest_silence_s(plan, Stage.KV_POOL) == FLOOR_S[Stage.KV_POOL]


def test_measuring_is_patient_by_itself_unless_the_plan_says_how_much(tmp_path: Path) -> None:
    assert measuring_patience(trial_plan(tmp_path)).first_token_s > 100
    told = measuring_patience(trial_plan(tmp_path, stage_timeouts_s={"measure": 4.0}))
    assert (told.first_token_s, told.stall_s) == (4.0, 4.0)
