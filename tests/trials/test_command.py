"""Settings -> command line, against what three releases accept."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import pytest

from trials.command import SettingError, build_command, user_endpoint
from trials.flags import FlagCatalogue
from trials.settings import ServerPlan, Settings, SettingValue

CatalogueOf = Callable[[str], FlagCatalogue]
RELEASES = ("0.5.9", "0.5.18", "0.5.23")
PLAN = ServerPlan(command=("sglang", "serve"), model_path="/models/m", draft_model_path="/models/d")
SPECULATION: Settings = {
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 4,
    "speculative_num_draft_tokens": 8,
}


def words(settings: Settings, catalogue: FlagCatalogue, plan: ServerPlan = PLAN) -> list[str]:
    """What the settings add to the command."""
    argv = build_command(settings, plan, catalogue, port=31000).argv
    bare = build_command({}, plan, catalogue, port=31000).argv
    return list(argv[len(bare) - 4 : -4])


def test_the_frame_of_a_command(catalogue_of: CatalogueOf) -> None:
    plan = PLAN.model_copy(update={"args": ("--trust-remote-code",), "env": {"A": "1"}})
    command = build_command({"max_running_requests": 48}, plan, catalogue_of("0.5.23"), port=31000)
    assert command.argv == (
        *("sglang", "serve", "--model-path", "/models/m", "--trust-remote-code"),
        *("--max-running-requests", "48", "--host", "127.0.0.1", "--port", "31000"),
    )
    assert command.env == {"A": "1"}


@pytest.mark.parametrize(
    ("release", "flag"),
    [
        ("0.5.9", "--cuda-graph-max-bs"),
        ("0.5.18", "--cuda-graph-max-bs"),
        ("0.5.23", "--cuda-graph-max-bs-decode"),
    ],
)
def test_graph_size_has_the_name_that_the_server_knows(
    catalogue_of: CatalogueOf, release: str, flag: str
) -> None:
    assert words({"cuda_graph_max_bs": 128}, catalogue_of(release)) == [flag, "128"]


@pytest.mark.parametrize(
    ("layout", "old", "new"),
    [
        ("tp8", ["--tp-size", "8"], ["--tp-size", "8"]),
        ("tp8-ep4", ["--tp-size", "8", "--ep-size", "4"], ["--tp-size", "8", "--ep-size", "4"]),
        ("tp4-dp2", ["--tp-size", "4", "--dp-size", "2"], ["--tp-size", "4", "--dp-size", "2"]),
        (
            "tp8-adp2",
            ["--tp-size", "8", "--dp-size", "2", "--enable-dp-attention"],
            ["--tp-size", "8", "--attn-dp-size", "2"],
        ),
    ],
)
def test_layouts(catalogue_of: CatalogueOf, layout: str, old: list[str], new: list[str]) -> None:
    assert words({"layout": layout}, catalogue_of("0.5.9")) == old
    assert words({"layout": layout}, catalogue_of("0.5.18")) == old
    assert words({"layout": layout}, catalogue_of("0.5.23")) == new


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("default", []),
        ("custom", []),
        ("nccl", ["--disable-custom-all-reduce"]),
        ("pcie_ipc", ["--disable-custom-all-reduce"]),
        ("torch_symm_mem", ["--enable-torch-symm-mem"]),
        ("nccl_symm_mem", ["--enable-symm-mem"]),
        ("mscclpp", ["--enable-mscclpp"]),
    ],
)
def test_all_reduce(catalogue_of: CatalogueOf, release: str, value: str, expected: list[str]) -> None:
    assert words({"all_reduce": value}, catalogue_of(release)) == expected


def test_all_reduce_fusion_old_and_new(catalogue_of: CatalogueOf) -> None:
    settings: Settings = {"all_reduce": "flashinfer_fusion"}
    assert words(settings, catalogue_of("0.5.9")) == ["--enable-flashinfer-allreduce-fusion"]
    assert words(settings, catalogue_of("0.5.23")) == ["--flashinfer-allreduce-fusion-backend", "auto"]


def test_pcie_ipc_is_switched_on_by_a_variable(catalogue_of: CatalogueOf) -> None:
    command = build_command({"all_reduce": "pcie_ipc"}, PLAN, catalogue_of("0.5.23"), port=1)
    assert command.env == {"SGLANG_ENABLE_PCIE_IPC_ALLREDUCE": "1"}


def test_pcie_ipc_is_refused_where_the_server_lacks_the_variable(catalogue_of: CatalogueOf) -> None:
    older = FlagCatalogue(catalogue_of("0.5.18").flags, "0.5.18", environment=frozenset({"SGLANG_OTHER"}))
    with pytest.raises(SettingError, match=r"SGLang 0\.5\.18 does not know SGLANG_ENABLE_PCIE_IPC"):
        build_command({"all_reduce": "pcie_ipc"}, PLAN, older, port=1)


def test_speculation_names_algorithm_draft_and_details(catalogue_of: CatalogueOf) -> None:
    assert words(SPECULATION, catalogue_of("0.5.23")) == [
        *("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "/models/d"),
        *("--speculative-num-steps", "3", "--speculative-eagle-topk", "4"),
        *("--speculative-num-draft-tokens", "8"),
    ]


def test_off_writes_nothing_not_even_the_draft(catalogue_of: CatalogueOf) -> None:
    assert words({**SPECULATION, "speculative_algorithm": "off"}, catalogue_of("0.5.23")) == []


@pytest.mark.parametrize("tokens", [{}, {"speculative_num_draft_tokens": 16}])
def test_a_chain_has_one_draft_token_more_than_steps(catalogue_of: CatalogueOf, tokens: Settings) -> None:
    settings: Settings = {
        "speculative_algorithm": "EAGLE",
        "speculative_num_steps": 5,
        "speculative_eagle_topk": 1,
        **tokens,
    }
    assert words(settings, catalogue_of("0.5.23"))[-2:] == ["--speculative-num-draft-tokens", "6"]


def test_ngram_has_draft_tokens_only(catalogue_of: CatalogueOf) -> None:
    assert words({**SPECULATION, "speculative_algorithm": "NGRAM"}, catalogue_of("0.5.23")) == [
        *("--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", "8"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("flag.enable-metrics", True, ["--enable-metrics"]),
        ("flag.enable-metrics", False, []),
        ("flag.lora-strict-loading", True, ["--lora-strict-loading"]),
        ("flag.lora-strict-loading", False, ["--no-lora-strict-loading"]),
        ("flag.attention-backend", "fa3", ["--attention-backend", "fa3"]),
        ("flag.attention_backend", "fa3", ["--attention-backend", "fa3"]),
        ("flag.schedule-conservativeness", 0.3, ["--schedule-conservativeness", "0.3"]),
        ("flag.cuda-graph-bs-decode", "1 2 4", ["--cuda-graph-bs-decode", "1", "2", "4"]),
        ("flag.max-total-tokens", 8192.0, ["--max-total-tokens", "8192"]),
        ("flag.max-total-tokens", -5, ["--max-total-tokens", "-5"]),
        ("flag.served-model-name", "-odd", ["--served-model-name=-odd"]),
    ],
)
def test_any_flag(catalogue_of: CatalogueOf, name: str, value: SettingValue, expected: list[str]) -> None:
    assert words({name: value}, catalogue_of("0.5.23")) == expected


def test_any_variable(catalogue_of: CatalogueOf) -> None:
    settings: Settings = {"env.NCCL_P2P_DISABLE": "0", "env.SGLANG_X": True}
    command = build_command(settings, PLAN, catalogue_of("0.5.23"), port=1)
    assert command.env == {"NCCL_P2P_DISABLE": "0", "SGLANG_X": "1"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"flag.cuda-graph-max-bs": 8}, "ambiguous on SGLang 0.5.23; write --cuda-graph-max-bs-decode or"),
        (
            {"flag.atention-backend": "fa3"},
            "has no flag --atention-backend; the nearest is --attention-backend",
        ),
        ({"flag.attention-backend": "fa33"}, "does not take 'fa33'; the nearest is 'fa3'"),
        ({"flag.enable-metrics": "yes"}, "takes no value; write true or false instead of 'yes'"),
        ({"max_running_requests": 1.5}, "takes a whole number, not 1.5"),
        ({"mem_fraction_static": "much"}, "takes a number, not 'much'"),
        ({"mem_fraction_static": True}, "takes a number, not true"),
        ({"layout": "eight"}, "is not of the form"),
        ({"all_reduce": "ncl"}, "all_reduce knows no 'ncl'; the nearest is 'nccl'"),
        ({"mem_fraction": 0.8}, "mem_fraction is no setting; write mem_fraction_static"),
    ],
)
def test_what_the_server_cannot_express_is_refused(
    catalogue_of: CatalogueOf, settings: Settings, sentence: str
) -> None:
    with pytest.raises(SettingError) as refusal:
        build_command(settings, PLAN, catalogue_of("0.5.23"), port=1)
    assert sentence in str(refusal.value)
    assert refusal.value.setting == next(iter(settings))


def test_an_unknown_algorithm_is_refused_where_the_server_lists_them(catalogue_of: CatalogueOf) -> None:
    known = FlagCatalogue(catalogue_of("0.5.23").flags, speculative_algorithms=("EAGLE", "EAGLE3"))
    with pytest.raises(SettingError, match="has no 'EAGL3'; the nearest is 'EAGLE3'"):
        build_command({"speculative_algorithm": "EAGL3"}, PLAN, known, port=1)


def test_a_flag_in_args_and_settings_is_refused(catalogue_of: CatalogueOf) -> None:
    plan = PLAN.model_copy(update={"args": ("--tp", "4")})
    with pytest.raises(SettingError, match="--tp in args is also set by layout"):
        build_command({"layout": "tp8"}, plan, catalogue_of("0.5.23"), port=1)


@pytest.mark.parametrize(
    "args", [("--host", "0.0.0.0", "--port", "80", "--x"), ("--host=0.0.0.0", "--x", "--port=80")]
)
def test_the_users_endpoint_is_replaced_in_trials_and_kept_for_export(
    catalogue_of: CatalogueOf, args: tuple[str, ...]
) -> None:
    plan = PLAN.model_copy(update={"args": args})
    argv = build_command({}, plan, catalogue_of("0.5.23"), port=31000).argv
    assert argv[4:] == ("--x", "--host", "127.0.0.1", "--port", "31000")
    assert user_endpoint(args) == ("0.0.0.0", 80)


def test_a_port_that_is_no_number_is_refused() -> None:
    with pytest.raises(SettingError, match="--port in args takes a number, not 'http'"):
        user_endpoint(("--port", "http"))


def test_without_a_wish_the_export_listens_where_sglang_does() -> None:
    assert user_endpoint(("--trust-remote-code",)) == ("127.0.0.1", 30000)


def test_the_box_is_started_by_our_own_interpreter(catalogue_of: CatalogueOf) -> None:
    plan = ServerPlan(box="some-box", model_path="m")
    argv = build_command({}, plan, catalogue_of("0.5.23"), port=1).argv
    assert argv[:4] == (sys.executable, "-m", "trials.box", "some-box")


def test_chosen_cards_are_the_only_visible_ones(catalogue_of: CatalogueOf) -> None:
    plan = PLAN.model_copy(update={"gpus": (2, 3)})
    env = build_command({}, plan, catalogue_of("0.5.23"), port=1).env
    assert env == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "2,3"}


@pytest.mark.parametrize("release", RELEASES)
def test_a_whole_command_is_accepted_by_the_releases_own_parser(
    catalogue_of: CatalogueOf, release: str
) -> None:
    catalogue = catalogue_of(release)
    settings: Settings = {
        **SPECULATION,
        "mem_fraction_static": 0.88,
        "cuda_graph_max_bs": 128,
        "max_running_requests": 48,
        "chunked_prefill_size": 8192,
        "layout": "tp8-ep8-adp2",
        "all_reduce": "flashinfer_fusion",
        "flag.enable-metrics": True,
    }
    argv = build_command(settings, PLAN, catalogue, port=31000).argv
    parser = argparse.ArgumentParser(exit_on_error=False)
    for flag in catalogue.flags[1:]:
        nargs = {"one": None, "optional": "?", "many": "+"}.get(flag.takes)
        if flag.takes == "nothing":
            parser.add_argument(*flag.spellings, dest=flag.names[0], action="store_true")
        else:
            parser.add_argument(*flag.names, dest=flag.names[0], nargs=nargs, choices=flag.choices)
    parsed, unknown = parser.parse_known_args(argv[2:])
    assert unknown == []
    assert vars(parsed)["--mem-fraction-static"] == "0.88"
    assert vars(parsed)["--port"] == "31000"
