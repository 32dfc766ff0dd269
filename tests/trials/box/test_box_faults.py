"""Which faults strike in which boot."""

from __future__ import annotations

import random

import pytest

from trials.box.faults import FAULTS_VARIABLE, Fault, FaultError, faults_from_environment, faults_of_this_boot


def kinds(faults: list[Fault], boot: int = 1, arguments: dict[str, object] | None = None) -> list[str]:
    struck = faults_of_this_boot(faults, arguments or {}, boot, random.Random(1))
    return [fault.kind for fault in struck]


def test_one_boot_in_n() -> None:
    fault = Fault(kind="kernel_fault", every=3)
    assert [bool(kinds([fault], boot)) for boot in range(1, 7)] == [False, False, True] * 2


def test_probability() -> None:
    fault, rng = Fault(kind="hang", probability=0.25), random.Random(3)
    struck = sum(faults_of_this_boot([fault], {}, 1, rng).get("hang") is not None for _ in range(2000))
    assert 400 < struck < 600


def test_conditions_must_all_hold() -> None:
    fault = Fault(kind="hang", when={"graph_max_bs": 64, "all_reduce": "nccl"})
    assert kinds([fault], arguments={"graph_max_bs": 64, "all_reduce": "nccl"}) == ["hang"]
    assert kinds([fault], arguments={"graph_max_bs": 32, "all_reduce": "nccl"}) == []


def test_faults_of_one_stage_and_rank() -> None:
    struck = faults_of_this_boot([Fault(kind="hang", stage="kv_pool", rank=2)], {}, 1, random.Random(0))
    assert struck.at_stage("kv_pool", 2)
    assert not struck.at_stage("kv_pool", 0)
    assert not struck.at_stage("load_weights", 2)


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FAULTS_VARIABLE, raising=False)
    assert faults_from_environment() == ()
    monkeypatch.setenv(FAULTS_VARIABLE, '[{"kind": "slow_drip", "factor": 3}]')
    assert faults_from_environment() == (Fault(kind="slow_drip", factor=3),)
    for wrong in ('[{"kind": "earthquake"}]', "[", '[{"kind": "hang", "sometimes": 1}]'):
        monkeypatch.setenv(FAULTS_VARIABLE, wrong)
        with pytest.raises(FaultError, match=FAULTS_VARIABLE):
            faults_from_environment()
