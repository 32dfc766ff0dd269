"""What is needed to start a server, and the ways in which it never starts."""

from __future__ import annotations

import errno
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.trials.conftest import CatalogueOf
from tests.trials.trial_runs import Record, trial_plan
from trials import attempt, port_book, run_trial
from trials.attempt import Attempt
from trials.gpus import GpuProbe, GpuProbeError, GpuSample
from trials.launch import BOX_STATE_VARIABLE, prepare
from trials.no_gpus import NoGpus
from trials.outcome import AnyOutcome, EnvironmentFailed, FailureKind, SettingsFailed, Stage
from trials.port_book import PortBook
from trials.ports import NoFreePortError
from trials.settings import ServerPlan, Settings, TrialPlan
from trials.timeline import Timeline

_SETTINGS: Settings = {"mem_fraction_static": 0.86}


def _plan(folder: Path, *command: str, **more: Any) -> TrialPlan:
    server = ServerPlan(command=command or ("/nowhere/sglang",), model_path="some/model", **more)
    return trial_plan(folder).model_copy(update={"server": server})


def _attempt(
    plan: TrialPlan,
    catalogue_of: CatalogueOf,
    *,
    settings: Settings = _SETTINGS,
    probe: GpuProbe | None = None,
) -> AnyOutcome:
    record = Record()
    catalogue = catalogue_of("0.5.23")
    timeline = Timeline(record)
    one = Attempt(settings, plan, catalogue, probe or NoGpus(), record, timeline, Event(), None, 1)
    outcome = one.run()
    assert record.boots == []
    return outcome


def _assert_never_started(outcome: AnyOutcome, words: str) -> None:
    assert isinstance(outcome, EnvironmentFailed)
    assert (outcome.failure.kind, outcome.failure.stage) == (FailureKind.ENVIRONMENT, Stage.ARGUMENTS)
    assert words in outcome.failure.summary
    assert outcome.failure.evidence == (outcome.failure.summary,)
    assert outcome.stop_proven


def test_command_that_is_not_there(tmp_path: Path, catalogue_of: CatalogueOf) -> None:
    _assert_never_started(_attempt(_plan(tmp_path), catalogue_of), "'/nowhere/sglang' was not found")


def test_command_that_is_not_there_is_noticed_when_its_flags_are_asked(tmp_path: Path) -> None:
    outcome = run_trial(_SETTINGS, _plan(tmp_path), Record(), Event())
    assert isinstance(outcome, EnvironmentFailed)
    assert outcome.boots == 0
    assert "/nowhere/sglang" in outcome.failure.summary


def test_log_that_cannot_be_written(tmp_path: Path, catalogue_of: CatalogueOf) -> None:
    plan = _plan(tmp_path)
    plan.folder.touch()
    _assert_never_started(_attempt(plan, catalogue_of), "server.log cannot be written")


def test_study_folder_that_cannot_be_written(tmp_path: Path, catalogue_of: CatalogueOf) -> None:
    plan = _plan(tmp_path / "study")
    (tmp_path / "study" / "ports.used").mkdir()
    _assert_never_started(_attempt(plan, catalogue_of), "cannot be written (Is a directory)")


def test_full_disk_is_said_before_anything_else(
    tmp_path: Path, catalogue_of: CatalogueOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: PortBook) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(port_book.PortBook, "take", full)
    monkeypatch.setattr(attempt, "full_disk", lambda folder: f"the disk of {folder} is full")
    _assert_never_started(_attempt(_plan(tmp_path), catalogue_of), f"the disk of {tmp_path} is full")


def test_no_port_is_left(tmp_path: Path, catalogue_of: CatalogueOf, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(avoid: set[int]) -> int:
        raise NoFreePortError("no free port is left for a server")

    monkeypatch.setattr(port_book, "fresh_port", none_left)
    _assert_never_started(_attempt(_plan(tmp_path), catalogue_of), "no free port is left")


class _LostCard(NoGpus):
    def sample(self) -> list[GpuSample]:
        raise GpuProbeError("GPU 3 is lost")


def test_card_that_is_gone_before_the_boot(tmp_path: Path, catalogue_of: CatalogueOf) -> None:
    _assert_never_started(_attempt(_plan(tmp_path), catalogue_of, probe=_LostCard()), "GPU 3 is lost")


def test_setting_that_the_server_cannot_express_is_its_own_fault(
    tmp_path: Path, catalogue_of: CatalogueOf
) -> None:
    outcome = _attempt(_plan(tmp_path), catalogue_of, settings={"flag.no-such-flag": 1})
    assert isinstance(outcome, SettingsFailed)
    assert outcome.failure.kind is FailureKind.INVALID_SETTINGS
    assert "no-such-flag" in outcome.failure.summary


def test_every_boot_has_its_own_log_and_port(tmp_path: Path, catalogue_of: CatalogueOf) -> None:
    plan = trial_plan(tmp_path)
    first, second = (prepare(_SETTINGS, plan, catalogue_of("0.5.23"), boot) for boot in (1, 2))
    assert (first.log_path.name, second.log_path.name) == ("server.log", "server-2.log")
    assert first.port != second.port
    assert first.url == f"http://127.0.0.1:{first.port}"
    assert str(first.port) in first.command.argv
    assert first.command.env[BOX_STATE_VARIABLE] == str(tmp_path / "box")


@pytest.mark.parametrize("args", [("--api-key", "k1"), ("--api-key=k1",)])
def test_key_of_the_servers_own_arguments_is_used(
    args: tuple[str, ...], tmp_path: Path, catalogue_of: CatalogueOf
) -> None:
    plan = _plan(tmp_path, args=args)
    assert prepare(_SETTINGS, plan, catalogue_of("0.5.23"), 1).api_key == "k1"


def test_port_is_never_handed_out_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    avoided: list[set[int]] = []

    def lowest(avoid: set[int]) -> int:
        avoided.append(set(avoid))
        return max(avoid, default=20_000) + 1

    monkeypatch.setattr(port_book, "fresh_port", lowest)
    assert PortBook(tmp_path).take() == 20_001
    assert PortBook(tmp_path).take() == 20_002
    assert avoided == [set(), {20_001}]


def test_port_book_survives_a_torn_line(tmp_path: Path) -> None:
    (tmp_path / "ports.used").write_text("20001\n200x\n20003")
    assert PortBook(tmp_path).take() not in (20_001, 20_003)
