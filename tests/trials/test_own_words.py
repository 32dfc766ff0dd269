"""Reading a command back is the inverse of writing it, on three releases."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

from trials.flags import FlagCatalogue
from trials.own_words import OwnWords, read_back
from trials.problems import SettingError
from trials.settings import Settings
from trials.translation import translate

CatalogueOf = Callable[[str], FlagCatalogue]
DRAFT = "/models/draft"
COMMANDS: tuple[Settings, ...] = (
    {"layout": "tp8", "speculative_algorithm": "off", "all_reduce": "default"},
    {
        "layout": "tp8-ep8",
        "mem_fraction_static": 0.88,
        "cuda_graph_max_bs": 512,
        "max_running_requests": 48,
        "chunked_prefill_size": 4096,
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 4,
        "speculative_num_draft_tokens": 8,
        "all_reduce": "nccl",
    },
    {"layout": "tp8-adp2", "speculative_algorithm": "off", "all_reduce": "flashinfer_fusion"},
    {"layout": "tp4-dp2", "speculative_algorithm": "off", "all_reduce": "torch_symm_mem"},
    {"layout": "tp2", "speculative_algorithm": "off", "all_reduce": "nccl_symm_mem"},
)


def read(text: str, catalogue: FlagCatalogue, env: dict[str, str] | None = None) -> OwnWords:
    return read_back(shlex.split(text), env or {}, catalogue)


@pytest.mark.parametrize("release", ["0.5.9", "0.5.18", "0.5.23"])
@pytest.mark.parametrize("settings", COMMANDS)
def test_what_was_written_is_read_back(settings: Settings, release: str, catalogue_of: CatalogueOf) -> None:
    catalogue = catalogue_of(release)
    speculative = settings["speculative_algorithm"] != "off"
    written = translate(settings, catalogue, DRAFT)
    words = ("--model-path", "org/model", "--trust-remote-code", *written.words)
    own = read_back(words, {**written.env, "NCCL_X": "1"}, catalogue)
    assert own.settings == settings
    assert own.args == ("--trust-remote-code",)
    assert own.env == {"NCCL_X": "1"}
    assert own.model_path == "org/model"
    assert own.draft_model_path == (DRAFT if speculative else None)


def test_pcie_ipc_is_known_by_its_variable(catalogue_of: CatalogueOf) -> None:
    env = {"SGLANG_ENABLE_PCIE_IPC_ALLREDUCE": "1"}
    for flags in ("--disable-custom-all-reduce", ""):
        own = read(f"--model-path m {flags}", catalogue_of("0.5.23"), env)
        assert own.settings["all_reduce"] == "pcie_ipc"
        assert own.env == {}
        assert own.args == ()


def test_all_reduce_flags_that_no_setting_stands_for_are_passed_through(catalogue_of: CatalogueOf) -> None:
    own = read("--flashinfer-allreduce-fusion-backend trtllm", catalogue_of("0.5.23"))
    assert "all_reduce" not in own.settings
    assert own.args == ("--flashinfer-allreduce-fusion-backend", "trtllm")


def test_short_and_joined_forms(catalogue_of: CatalogueOf) -> None:
    own = read("--model=m --tp 4 --mem-fraction-static=0.8 --port=1 --host h", catalogue_of("0.5.18"))
    assert own.settings["layout"] == "tp4"
    assert own.settings["mem_fraction_static"] == 0.8
    assert own.model_path == "m"
    assert own.args == ("--port=1", "--host", "h")


def test_of_a_flag_that_is_given_twice_the_last_one_counts(catalogue_of: CatalogueOf) -> None:
    own = read("--model-path m --tp-size 2 --tensor-parallel-size 8", catalogue_of("0.5.23"))
    assert own.settings["layout"] == "tp8"
    assert own.args == ()


def test_a_model_may_stand_without_its_flag(catalogue_of: CatalogueOf) -> None:
    own = read("org/model --served-model-name a", catalogue_of("0.5.23"))
    assert own.model_path == "org/model"
    assert own.args == ("--served-model-name", "a")


def test_a_flag_that_the_server_does_not_know_is_named(catalogue_of: CatalogueOf) -> None:
    with pytest.raises(SettingError, match="--mem-fraction-statics; the nearest is --mem-fraction-static"):
        read("--model-path m --mem-fraction-statics 0.8", catalogue_of("0.5.23"))


def test_sizes_that_are_no_numbers_are_named(catalogue_of: CatalogueOf) -> None:
    with pytest.raises(SettingError, match="--tp-size takes a whole number, not 'eight'"):
        read("--model-path m --tp-size eight", catalogue_of("0.5.23"))
