"""The file that init writes: valid for every kind of machine, with the user's own command as its baseline."""

from __future__ import annotations

import json
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest

from autotune.check import StudyCheck, check_study
from autotune.machine import Machine
from autotune.spec import StudySpec
from autotune.starting import NoOwnServerError, find_own_server, first_study, write_study
from trials.flags import CatalogueError, FlagCatalogue
from trials.gpus import GpuCard
from trials.problems import SettingError
from trials.rules import rules_for

FLAGS = Path(__file__).parents[2] / "trials" / "flags" / "flags-0.5.23.json"
MOE = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "num_experts": 128,
    "moe_intermediate_size": 1536,
    "torch_dtype": "bfloat16",
}
DENSE = {
    "architectures": ["Qwen3ForCausalLM"],
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "intermediate_size": 17408,
    "torch_dtype": "bfloat16",
}


def machine(count: int, memory_mib: int, capability: tuple[int, int], links: str | None) -> Machine:
    cards = (GpuCard(index, "Card", f"GPU-{index}", memory_mib, capability) for index in range(count))
    return Machine(tuple(cards), links)


SM120_BOX = machine(8, 97_887, (12, 0), "PCIe host bridge, PCIe across sockets")
H200_BOX = machine(8, 143_771, (9, 0), "NVLink")
ONE_CARD = machine(1, 24_564, (8, 9), None)
MACHINES = {
    "sm120": SM120_BOX,
    "h200": H200_BOX,
    "one": ONE_CARD,
    "two": machine(2, 24_564, (8, 9), "PCIe switch"),
    "six": machine(6, 81_559, (8, 0), "NVLink"),
    "unseen": Machine(),
}


@pytest.fixture(autouse=True)
def catalogue(monkeypatch: pytest.MonkeyPatch) -> FlagCatalogue:
    """The flags of 0.5.23, whatever is installed here."""
    found = FlagCatalogue.from_dump(json.loads(FLAGS.read_text()))
    monkeypatch.setattr("autotune.starting.own_server.load_catalogue", lambda *_: found)
    monkeypatch.setattr("autotune.check.load_catalogue", lambda *_: found)
    return found


def model(folder: Path, config: dict[str, Any], weights_gib: float | None = None) -> Path:
    place = folder / "The Model"
    place.mkdir()
    (place / "config.json").write_text(json.dumps(config))
    if weights_gib is not None:
        with (place / "model.safetensors").open("wb") as file:
            file.truncate(int(weights_gib * (1 << 30)))  # sparse: takes no room
    return place


def written(folder: Path, on: Machine, **what: Any) -> StudySpec:
    own = find_own_server(folder, **what)
    file = folder / "study.toml"
    write_study(first_study(own, on), file)
    return StudySpec.load(file)


def checked(spec: StudySpec, folder: Path, cards: int | None) -> StudyCheck:
    found = check_study(spec, folder, lambda _: None)
    assert rules_for(spec.server, cards)(dict(found.baseline or {})) is None
    return found


def values(spec: StudySpec, name: str) -> list[Any]:
    parameter = spec.space.parameters.get(name)
    return list(parameter.values or ()) if parameter else []


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("config", [MOE, DENSE], ids=["moe", "dense"])
def test_the_file_passes_check_on_every_machine(name: str, config: dict[str, Any], tmp_path: Path) -> None:
    on = MACHINES[name]
    command = f"sglang serve --model-path {shlex.quote(str(model(tmp_path, config)))} --port 8000"
    if on.count in (2, 8):
        command += f" --tp-size {on.count}"
    spec = written(tmp_path, on, command=command)
    found = checked(spec, tmp_path, on.count)
    assert found.problems == []
    assert found.command[:2] == ("sglang", "serve")
    assert found.baseline
    assert spec.name == "the-model-night"


def test_the_users_own_command_is_the_baseline(tmp_path: Path) -> None:
    command = (
        "NCCL_MIN_NCHANNELS=8 numactl -N 0 python -m sglang.launch_server --model-path org/kimi \\\n"
        " --tp 8 --mem-fraction-static 0.885 --cuda-graph-max-bs-decode 384 --max-running-requests 40 "
        "--speculative-algorithm EAGLE3 --speculative-draft-model-path org/draft --speculative-num-steps 7 "
        "--speculative-eagle-topk 3 --speculative-num-draft-tokens 20 --trust-remote-code "
        "--disable-custom-all-reduce"
    )
    spec = written(tmp_path, SM120_BOX, command=command)
    found = checked(spec, tmp_path, 8)
    assert found.problems == []
    assert found.baseline == {
        "layout": "tp8",
        "mem_fraction_static": 0.885,
        "cuda_graph_max_bs": 384,
        "max_running_requests": 40,
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 7,
        "speculative_eagle_topk": 3,
        "speculative_num_draft_tokens": 20,
        "all_reduce": "nccl",
    }
    assert spec.server.env == {"NCCL_MIN_NCHANNELS": "8"}
    assert spec.server.args == ("--trust-remote-code",)
    assert spec.server.command == ("numactl", "-N", "0", "python", "-m", "sglang.launch_server")
    assert spec.server.draft_model_path == "org/draft"


def test_pcie_cards_of_sm120_get_pcie_ipc_and_the_reason_for_what_is_left_out(tmp_path: Path) -> None:
    spec = written(tmp_path, SM120_BOX, command="sglang serve --model-path org/m --tp-size 8")
    assert values(spec, "all_reduce") == ["default", "pcie_ipc"]
    assert "# left out: flashinfer_fusion: its kernels are for SM90 and SM10X" in spec.text
    assert "# left out: torch_symm_mem: torch has tables for SM90 and SM100 only" in spec.text
    assert "# left out: nccl: SGLang turns its own all-reduce off" in spec.text


def test_cards_with_fast_links_get_what_is_made_for_them(tmp_path: Path) -> None:
    spec = written(tmp_path, H200_BOX, command="sglang serve --model-path org/m --tp-size 8")
    assert values(spec, "all_reduce") == ["default", "nccl", "flashinfer_fusion", "torch_symm_mem"]


def test_pcie_ipc_is_left_out_where_its_kernels_do_not_fit(tmp_path: Path) -> None:
    path = model(tmp_path, {**DENSE, "torch_dtype": "float16"})
    spec = written(tmp_path, SM120_BOX, command=f"sglang serve --model-path '{path}' --tp-size 8")
    assert "pcie_ipc" not in values(spec, "all_reduce")
    assert "# left out: pcie_ipc: reduces bfloat16 only, and the model runs in float16" in spec.text


def test_layouts_divide_heads_and_experts_and_hold_the_weights(tmp_path: Path) -> None:
    path = model(tmp_path, MOE, weights_gib=220)
    spec = written(tmp_path, H200_BOX, command=f"sglang serve --model-path '{path}' --tp-size 8")
    assert values(spec, "layout") == ["tp8", "tp8-ep8", "tp8-adp2", "tp8-adp4", "tp4-dp2", "tp2-dp4"]
    memory: Any = spec.space.parameters["mem_fraction_static"].distribution
    assert memory.low == pytest.approx(0.50)


def test_a_dense_model_has_no_experts_to_divide(tmp_path: Path) -> None:
    path = model(tmp_path, DENSE, weights_gib=28)
    spec = written(tmp_path, ONE_CARD, command=f"sglang serve --model-path '{path}'")
    assert values(spec, "layout") == ["tp1"]
    assert "all_reduce" not in spec.space.parameters


def test_without_a_draft_there_is_no_speculation(tmp_path: Path) -> None:
    spec = written(tmp_path, H200_BOX, command="sglang serve --model-path org/m --tp-size 8")
    assert "speculative_algorithm" not in spec.space.parameters


@pytest.mark.parametrize(
    ("draft", "algorithm"), [("org/m-EAGLE-3", "EAGLE3"), ("org/m-eagle", "EAGLE"), ("org/draft", "EAGLE3")]
)
def test_a_draft_brings_speculation(draft: str, algorithm: str, tmp_path: Path) -> None:
    spec = written(tmp_path, H200_BOX, command="sglang serve --model-path org/m --tp-size 8", draft=draft)
    assert values(spec, "speculative_algorithm") == ["off", algorithm]
    assert spec.server.draft_model_path == draft
    assert checked(spec, tmp_path, 8).problems == []


def test_a_model_with_a_draft_layer_is_hinted_at(tmp_path: Path) -> None:
    path = model(tmp_path, {**MOE, "architectures": ["Glm4MoeForCausalLM"]})
    spec = written(tmp_path, H200_BOX, command=f"sglang serve --model-path '{path}' --tp-size 8")
    assert "# this model may bring a draft layer of its own; to try it: speculative_algorithm" in spec.text


def test_the_installed_server_and_a_model_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.starting.own_server.shutil.which", lambda name: f"/bin/{name}")
    spec = written(tmp_path, SM120_BOX, model="org/m")
    assert spec.server.command == ("sglang", "serve")
    assert checked(spec, tmp_path, 8).problems == []


def test_a_machine_without_sglang_gets_a_file_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> FlagCatalogue:
        raise CatalogueError("not here")

    monkeypatch.setattr("autotune.starting.own_server.load_catalogue", nothing)
    spec = written(tmp_path, SM120_BOX, model="org/m")
    assert "# Note: no SGLang could be asked here: correct [server] command." in spec.text


def test_a_container_command_keeps_image_and_variables(tmp_path: Path) -> None:
    command = (
        "docker run --gpus all -e NCCL_X=1 --env HF_HOME=/hub -v /hub:/hub --ipc=host "
        "lmsysorg/sglang:v0.5.23 python3 -m sglang.launch_server --model-path org/m --tp-size 8"
    )
    spec = written(tmp_path, H200_BOX, command=command)
    assert spec.server.image == "lmsysorg/sglang:v0.5.23"
    assert spec.server.env == {"NCCL_X": "1", "HF_HOME": "/hub"}
    assert "# Note: mounts, ports and cards of the container's own command were left out." in spec.text


def test_a_file_with_secrets_is_for_its_owner_alone(tmp_path: Path) -> None:
    written(tmp_path, H200_BOX, command="sglang serve --model-path org/m --api-key sesame")
    assert stat.S_IMODE((tmp_path / "study.toml").stat().st_mode) == 0o600


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    written(tmp_path, ONE_CARD, command="sglang serve --model-path org/m")
    with pytest.raises(FileExistsError):
        written(tmp_path, ONE_CARD, command="sglang serve --model-path org/other")
    assert "org/m" in (tmp_path / "study.toml").read_text()


@pytest.mark.parametrize(
    ("command", "kind", "sentence"),
    [
        ("", NoOwnServerError, "has no program"),
        ("--model-path x", NoOwnServerError, "has no program"),
        ("sglang serve --port 1", NoOwnServerError, "names no model"),
        ("sglang serve --model-path 'x", SettingError, "cannot be read"),
        ("sglang serve --model-path x --modle y", SettingError, "no flag --modle"),
    ],
)
def test_commands_that_say_nothing(
    command: str, kind: type[Exception], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=sentence):
        find_own_server(tmp_path, command=command)


def test_nothing_to_start_from(tmp_path: Path) -> None:
    with pytest.raises(NoOwnServerError, match="--command"):
        find_own_server(tmp_path)
    with pytest.raises(NoOwnServerError, match="no SGLang answers"):
        find_own_server(tmp_path, url="http://127.0.0.1:9")
