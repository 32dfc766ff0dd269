"""Every scenario through a whole trial on the real SGLang, with a table of verdicts and times."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.sglang_cpu.environment import SglangCpu
from tests.sglang_cpu.real_trials import QUICK, RealTrial, real_plan, run_for_real
from tests.sglang_cpu.running_server import speculative_server
from tests.sglang_cpu.scenarios import SCENARIOS, Scenario
from trials.outcome import EnvironmentFailed, SettingsFailed
from trials.ports import fresh_port

pytestmark = [pytest.mark.sglang_all, pytest.mark.timeout(900)]

OUT = Path(__file__).parent / "out"
STOP_LIMIT_S = 60.0


@dataclass
class Table:
    """The table as it grows: written after every row, so that a run that is cut short leaves one."""

    rows: list[str] = field(default_factory=list)

    def add(self, scenario: Scenario, trial: RealTrial) -> None:
        right = "" if trial.verdict == scenario.expected else " **WRONG**"
        told = next(iter(_said(trial)), "").replace("|", "/")
        self.rows.append(
            f"| {scenario.name} | {scenario.expected} | {trial.verdict}{right} "
            f"| {trial.boot_s:.0f} | {trial.stop_s:.1f} | {told} |"
        )
        head = "| scenario | expected | got | boot s | stop s | what it says |\n|---|---|---|---|---|---|\n"
        OUT.mkdir(exist_ok=True)
        (OUT / "scenarios.md").write_text(head + "\n".join(self.rows) + "\n")


@pytest.fixture(scope="session")
def table() -> Table:
    return Table()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario(
    scenario: Scenario,
    sglang_cpu: SglangCpu,
    table: Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = real_plan(
        sglang_cpu,
        tmp_path,
        model=scenario.model,
        draft=scenario.draft,
        args=scenario.fixed,
        env=scenario.env,
        bench=scenario.bench or QUICK,
        stage_timeouts_s=scenario.stage_timeouts_s,
    )
    with _holder(scenario.port_held, sglang_cpu, tmp_path) as port:
        if port is not None:
            monkeypatch.setattr("trials.port_book.fresh_port", lambda used: port)
        trial = run_for_real(scenario.settings, plan, scenario.strike)
    table.add(scenario, trial)
    assert trial.verdict == scenario.expected
    assert trial.stop_s < STOP_LIMIT_S
    assert trial.outcome.ran == scenario.ran
    assert scenario.says in "\n".join(_said(trial))


@contextmanager
def _holder(by_whom: str | None, sglang: SglangCpu, folder: Path) -> Iterator[int | None]:
    """Somebody who holds a port while the block runs."""
    match by_whom:
        case None:
            yield None
        case "a mute listener":
            with socket.create_server(("127.0.0.1", fresh_port(()))) as listener:
                yield listener.getsockname()[1]
        case _:
            with speculative_server(sglang, folder) as server:
                yield server.port


def _said(trial: RealTrial) -> tuple[str, ...]:
    if isinstance(trial.outcome, SettingsFailed | EnvironmentFailed):
        return (trial.outcome.failure.summary, *trial.outcome.failure.evidence)
    return trial.outcome.warnings
