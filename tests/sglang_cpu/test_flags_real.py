"""The catalogue against the real SGLang 0.5.23."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.sglang_cpu.environment import SglangCpu
from trials.command import build_command
from trials.flags import FlagCatalogue, from_help, load_catalogue
from trials.settings import ServerPlan, Settings

pytestmark = pytest.mark.sglang

HIDDEN_FROM_HELP = {"--forward-pass-metrics-worker-id", "--forward-pass-metrics-ipc-name"}
LIST = Path(__file__).parents[1] / "trials" / "flags" / "flags-0.5.23.json"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flags")


@pytest.fixture
def plan(sglang_cpu: SglangCpu) -> ServerPlan:
    return ServerPlan(
        command=sglang_cpu.command,
        model_path=sglang_cpu.model("tiny-copy"),
        draft_model_path=sglang_cpu.model("tiny-copy-eagle3"),
        env=sglang_cpu.env,
    )


@pytest.fixture
def catalogue(plan: ServerPlan, cache: Path) -> FlagCatalogue:
    return load_catalogue(plan, cache)


def test_the_servers_answer_is_the_list_that_the_quick_tests_use(catalogue: FlagCatalogue) -> None:
    assert catalogue.version == "0.5.23"
    assert catalogue.flags == FlagCatalogue.from_dump(json.loads(LIST.read_text())).flags


def test_it_lists_its_variables_and_speculative_algorithms(catalogue: FlagCatalogue) -> None:
    assert catalogue.environment is not None
    assert catalogue.speculative_algorithms is not None
    assert "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE" in catalogue.environment
    assert {"EAGLE", "EAGLE3", "NEXTN", "NGRAM", "STANDALONE"} <= set(catalogue.speculative_algorithms)


def test_the_entry_script_leads_to_the_same_interpreter(
    sglang_cpu: SglangCpu, plan: ServerPlan, cache: Path, catalogue: FlagCatalogue
) -> None:
    script = str(sglang_cpu.python.with_name("sglang"))
    assert load_catalogue(plan.model_copy(update={"command": (script, "serve")}), cache) == catalogue
    assert len(list(cache.iterdir())) == 1


def test_its_help_says_the_same_as_its_parser(plan: ServerPlan, catalogue: FlagCatalogue) -> None:
    read = from_help(_run(plan, "--help").stdout)
    assert [(flag.names, flag.negative, flag.takes, flag.deprecated) for flag in read.flags] == [
        (flag.names, flag.negative, flag.takes, flag.deprecated)
        for flag in catalogue.flags
        if flag.name not in HIDDEN_FROM_HELP
    ]
    choices = {flag.name: set(flag.choices or ()) for flag in catalogue.flags}
    assert {flag.name: set(flag.choices or ()) for flag in read.flags}.items() <= choices.items()


def test_what_we_call_ambiguous_the_server_refuses(plan: ServerPlan, catalogue: FlagCatalogue) -> None:
    refused = _run(plan, "--model-path", "m", "--cuda-graph-max-bs", "8")
    assert refused.returncode == 2
    assert "ambiguous option: --cuda-graph-max-bs" in refused.stderr
    assert catalogue.match("--cuda-graph-max-bs") is None


def test_the_real_parser_accepts_every_command_that_we_build(
    plan: ServerPlan, catalogue: FlagCatalogue
) -> None:
    common: Settings = {
        "mem_fraction_static": 0.3,
        "cuda_graph_max_bs": 64,
        "max_running_requests": 8,
        "chunked_prefill_size": 2048,
        "flag.attention-backend": "torch_native",
        "flag.lora-strict-loading": False,
        "flag.cuda-graph-bs-decode": "1 2 4",
    }
    speculation: Settings = {
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 2,
        "speculative_num_draft_tokens": 6,
    }
    layouts = ("tp2-ep2", "tp4-adp2", "tp2-dp2")
    ways = ("default", "nccl", "pcie_ipc", "flashinfer_fusion", "torch_symm_mem", "nccl_symm_mem", "mscclpp")
    trials = [{"layout": layout, **common, **speculation} for layout in layouts]
    trials += [{"all_reduce": way} for way in ways]
    commands = [build_command(settings, plan, catalogue, port=31000).argv[3:] for settings in trials]
    assert _parsed_by_the_server(plan, commands) == len(trials)


_PARSE_ALL = """
import argparse, json, sys
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser()
ServerArgs.add_cli_args(parser)
print("PARSED", len([parser.parse_args(argv) for argv in json.load(sys.stdin)]))
"""


def _parsed_by_the_server(plan: ServerPlan, commands: list[tuple[str, ...]]) -> int:
    assert plan.command is not None
    answer = subprocess.run(
        [plan.command[0], "-c", _PARSE_ALL],
        input=json.dumps(commands),
        env=dict(plan.env),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return int(answer.stdout.rpartition("PARSED ")[2])


def _run(plan: ServerPlan, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*(plan.command or ()), *words], env=dict(plan.env), capture_output=True, text=True, check=False
    )
