"""``autotune init`` with the real SGLang: its own parser, its own model folders, its own running server."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from autotune.check import check_study
from autotune.spec import StudySpec
from autotune.starting import find_own_server, first_study, write_study
from autotune.starting.own_server import OwnServer
from tests.sglang_cpu.environment import SMALL, SMALL_FRACTION, SglangCpu, require_sglang_cpu
from trials.rules import rules_for

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def sglang_cpu() -> SglangCpu:
    return require_sglang_cpu()


def command(sglang_cpu: SglangCpu, *flags: str) -> str:
    variables = (f"{name}={value}" for name, value in sglang_cpu.env.items())
    model = ("--model-path", sglang_cpu.model("tiny-llama8"))
    return shlex.join(["env", *variables, *sglang_cpu.command, *model, *SMALL, *flags])


def written(own: OwnServer, folder: Path) -> StudySpec:
    file = folder / "study.toml"
    write_study(first_study(own), file)
    return StudySpec.load(file)


def test_a_real_command_becomes_a_study_that_check_accepts(sglang_cpu: SglangCpu, tmp_path: Path) -> None:
    text = command(sglang_cpu, "--mem-fraction-static", str(SMALL_FRACTION))
    draft = sglang_cpu.model("tiny-eagle3")
    spec = written(find_own_server(tmp_path, command=text, draft=draft), tmp_path)
    checked = check_study(spec, tmp_path, rules_for(spec.server, None))
    assert checked.problems == []
    assert checked.baseline is not None
    assert checked.baseline["mem_fraction_static"] == SMALL_FRACTION
    assert checked.baseline["max_running_requests"] == 8
    assert spec.space.parameters["speculative_algorithm"].values == ("off", "EAGLE3")
    assert {"--device", "cpu", "--context-length", "2048"} <= set(spec.server.args)
    assert checked.server.startswith("SGLang 0.5.")
