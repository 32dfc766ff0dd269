"""What counts as the same, and what as a difference."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from autotune.export import FORMATS
from autotune.machine import Machine
from autotune.passport import Passport, PassportError
from autotune.verify import verify
from tests.autotune.export.test_export_formats import EXPORTED
from trials.gpus import GpuCard
from trials.outcome import (
    BootReport,
    CommandRecord,
    Completed,
    Failure,
    FailureKind,
    Interrupted,
    Measurement,
    SettingsFailed,
    Stage,
)
from trials.secrets import HIDDEN

BOOT = BootReport(weights_gib=71.2, kv_tokens=200_000)
CARDS = tuple(GpuCard(index, "RTX PRO 6000", f"GPU-{index}", 97_887, (12, 0)) for index in range(8))
HERE = Machine(CARDS, "PCIe host bridge", "580.1")


def passport(**changes: Any) -> Passport:
    recorded = dataclasses.replace(EXPORTED, **{"boot": BOOT, **changes})
    return Passport.parse(FORMATS["json"].write(recorded), "p.json")


def ran(*tok_s: float, boot: BootReport = BOOT, **changes: Any) -> Completed:
    measurements = tuple(
        Measurement(
            level=level,
            running=level,
            decode_tok_s=value,
            decode_tok_s_ci95=(value * 0.99, value * 1.01),
            requests=3,
            output_tokens=384,
            seconds=3.0,
            stopped_by="time",
        )
        for level, value in zip((1, 8), tok_s, strict=False)
    )
    return Completed(measurements=measurements, boot=boot, server_version="0.5.23", **changes)


def names(outcome: Completed, **changes: Any) -> list[str]:
    return [finding.about for finding in verify(passport(**changes), outcome, HERE).differences]


def test_a_boot_within_the_intervals_is_a_match() -> None:
    found = verify(passport(), ran(128.5, 425.0), HERE)
    assert found.matches
    assert found.sentence == "Match: all 5 figures that decide agree, the least sure to within 4.8%."
    assert {finding.agrees for finding in found.findings} == {True}


@pytest.mark.parametrize(
    ("outcome", "about"),
    [
        (ran(118.0, 425.0), "tok/s at 1 stream"),
        (ran(131.0, 480.0), "tok/s at 8 streams"),
        (ran(131.0, 425.0, boot=BootReport(weights_gib=73.0, kv_tokens=200_000)), "weights per GPU, GiB"),
        (ran(131.0, 425.0, boot=BootReport(weights_gib=71.2, kv_tokens=190_000)), "KV tokens"),
        (ran(131.0, 425.0, ran={"layout": "tp4"}), "what ran"),
    ],
)
def test_what_decides(outcome: Completed, about: str) -> None:
    assert names(outcome) == [about]
    assert about in verify(passport(), outcome, HERE).sentence


def test_a_noisy_machine_is_given_more_room() -> None:
    assert names(ran(124.0, 420.0)) == ["tok/s at 1 stream"]
    assert names(ran(124.0, 420.0), boot_noise=0.06) == []


def test_another_driver_explains_and_does_not_decide() -> None:
    elsewhere = Machine(CARDS[:4], "NVLink", "590.0")
    found = verify(passport(), ran(131.0, 420.0), elsewhere)
    assert found.matches
    assert [finding.about for finding in found.findings if finding.agrees is False] == [
        "GPUs",
        "links",
        "driver",
    ]


def started(*flags: str, program: tuple[str, ...] = ("python", "-m", "sglang.launch_server")) -> Completed:
    words = ("--model-path", "org/model", "--trust-remote-code", "--json-model-override-args", '{"a": 1}')
    return ran(131.0, 420.0, command=CommandRecord(argv=(*program, *words, *flags)))


def test_a_recorded_command_that_its_settings_do_not_make_is_no_match() -> None:
    found = verify(passport(), started("--tp-size", "4", "--host", "127.0.0.1", "--port", "17001"), HERE)
    assert [(one.about, one.recorded, one.found) for one in found.differences] == [
        ("command", "--tp-size 8", "--tp-size 4")
    ]


def test_program_address_and_order_are_no_difference() -> None:
    inside = ("docker", "run", "--gpus", "all", "--entrypoint", "python3", "my/image:1")
    same = ("--port", "17001", "--tp-size", "8", "--host", "127.0.0.1")
    assert verify(passport(), started(*same), HERE).matches
    server = {"model_path": "org/model", "image": "my/image:1"}
    assert verify(passport(server=server), started(*same, program=inside), HERE).matches
    left_out = passport(left_out=("--stream-interval", "1"))
    assert verify(left_out, started(*same, "--stream-interval", "1"), HERE).matches


def test_another_release_may_name_a_flag_otherwise() -> None:
    found = verify(passport(versions={"sglang": "0.6"}), started("--tensor-parallel-size", "8"), HERE)
    assert found.matches
    assert found.sentence.endswith("; what else differs: SGLang, command.")


def test_what_nobody_knows_is_neither_a_match_nor_a_difference() -> None:
    found = verify(passport(boot=None), ran(131.0), Machine())
    unknown = {finding.about for finding in found.findings if finding.agrees is None}
    assert unknown == {
        *("GPUs", "links", "driver", "weights per GPU, GiB", "KV tokens", "tok/s at 8 streams"),
    }
    assert found.matches


def test_another_copy_of_the_model_differs(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    versions = {"model": "config 0, 1 weight files of 9.0 GiB 0"}
    server = {"model_path": str(tmp_path)}
    assert names(ran(131.0, 420.0), versions=versions, server=server) == ["model"]


def test_a_command_that_does_not_run_here_is_no_match() -> None:
    failure = Failure(
        kind=FailureKind.OOM_WEIGHTS, stage=Stage.LOAD_WEIGHTS, summary="no room", at_fault="settings"
    )
    found = verify(passport(), SettingsFailed(failure=failure), HERE)
    assert not found.matches
    assert found.sentence == "No match: it did not run here: no room"
    assert "interrupted" in verify(passport(), Interrupted(), HERE).sentence


def test_simulated_numbers_say_so() -> None:
    assert "SIMULATED" in verify(passport(simulated=True), ran(131.0, 420.0), HERE).sentence


def test_hidden_variables_come_from_the_environment() -> None:
    server = {"model_path": "m", "env": {"HF_TOKEN": HIDDEN, "NCCL_X": "1"}}
    assert passport(server=server).runnable_server.env == {"NCCL_X": "1"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the text: Invalid JSON"),
        ("[]", "the text: "),
        (json.dumps({"passport": 2}), "passport: Input should be 1"),
    ],
)
def test_what_is_no_passport(text: str, sentence: str) -> None:
    with pytest.raises(PassportError, match=f"p.json is no passport .{sentence}"):
        Passport.parse(text, "p.json")
