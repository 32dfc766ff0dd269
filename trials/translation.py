"""Settings -> flags and environment of THIS server, decided by what its catalogue has, not by a version."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trials.flag_words import words_of
from trials.flags import FlagCatalogue
from trials.flags.catalogue import dashed
from trials.problems import SettingError
from trials.settings import (
    ENV_PREFIX,
    FLAG_PREFIX,
    SPECULATION_OFF,
    SPECULATIVE_DETAILS,
    Layout,
    Settings,
    SettingValue,
)

PLAIN_FLAGS: Mapping[str, tuple[str, ...]] = {
    "mem_fraction_static": ("--mem-fraction-static",),
    # The plain name works up to 0.5.19; from 0.5.20 only the one for decode is left.
    "cuda_graph_max_bs": ("--cuda-graph-max-bs", "--cuda-graph-max-bs-decode"),
    "max_running_requests": ("--max-running-requests",),
    "chunked_prefill_size": ("--chunked-prefill-size",),
}
SPECULATIVE_FLAGS: Mapping[str, tuple[str, ...]] = {
    "speculative_algorithm": ("--speculative-algorithm",),
    "speculative_num_steps": ("--speculative-num-steps",),
    "speculative_eagle_topk": ("--speculative-eagle-topk",),
    "speculative_num_draft_tokens": ("--speculative-num-draft-tokens",),
}
DRAFT_MODEL_FLAGS = ("--speculative-draft-model-path",)
DRAFTLESS_ALGORITHMS = ("NGRAM",)
TP_FLAGS = ("--tp-size", "--tensor-parallel-size")
EP_FLAGS = ("--ep-size", "--expert-parallel-size")
DP_FLAGS = ("--dp-size", "--data-parallel-size")
ATTENTION_DP_FLAGS = ("--attn-dp-size", "--attention-data-parallel-size")
DP_ATTENTION_FLAGS = ("--enable-dp-attention",)


@dataclass(frozen=True)
class AllReduce:
    """How one way of all-reduce is asked for.

    Attributes:
        flags: Alternatives of (names, value), the first that the server has is used; empty: no flag.
        env: Variables that switch it on.
    """

    flags: tuple[tuple[tuple[str, ...], SettingValue], ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


NO_CUSTOM_ALL_REDUCE = (("--disable-custom-all-reduce",), True)
ALL_REDUCE: Mapping[str, AllReduce] = {
    "default": AllReduce(),
    "custom": AllReduce(),
    "nccl": AllReduce((NO_CUSTOM_ALL_REDUCE,)),
    # SGLang asks the custom all-reduce first: with it off, what runs is this one or NCCL.
    "pcie_ipc": AllReduce((NO_CUSTOM_ALL_REDUCE,), {"SGLANG_ENABLE_PCIE_IPC_ALLREDUCE": "1"}),
    "flashinfer_fusion": AllReduce(
        (
            (("--flashinfer-allreduce-fusion-backend",), "auto"),
            (("--enable-flashinfer-allreduce-fusion",), True),
        )
    ),
    "torch_symm_mem": AllReduce(((("--enable-torch-symm-mem",), True),)),
    "nccl_symm_mem": AllReduce(((("--enable-symm-mem",), True),)),
    "mscclpp": AllReduce(((("--enable-mscclpp",), True),)),
}


@dataclass(frozen=True)
class Translation:
    """Words for the command line and variables for the environment."""

    words: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


def translate(
    settings: Settings, catalogue: FlagCatalogue, draft_model_path: str | None = None
) -> Translation:
    """Put settings into the server's own words.

    Raises:
        SettingError: If the server cannot express one of them.
    """
    words: list[str] = []
    env: dict[str, str] = {}
    for setting in sorted(settings, key=_place):
        part = _translate_one(setting, settings, catalogue, draft_model_path)
        words += part.words
        env |= part.env
    return Translation(tuple(words), env)


_ORDER = ("layout", *PLAIN_FLAGS, "all_reduce", *SPECULATIVE_FLAGS)


def _place(setting: str) -> tuple[int, str]:
    return (_ORDER.index(setting) if setting in _ORDER else len(_ORDER), setting)


def _translate_one(
    setting: str, settings: Settings, catalogue: FlagCatalogue, draft_model_path: str | None
) -> Translation:
    value = settings[setting]
    if setting in PLAIN_FLAGS:
        return Translation(words_of(setting, PLAIN_FLAGS[setting], value, catalogue))
    if setting.startswith(FLAG_PREFIX):
        return Translation(words_of(setting, (dashed(setting.removeprefix(FLAG_PREFIX)),), value, catalogue))
    if setting.startswith(ENV_PREFIX):
        return Translation(env={setting.removeprefix(ENV_PREFIX): _variable(value)})
    if setting == "speculative_algorithm":
        return Translation(_speculation(settings, catalogue, draft_model_path))
    if setting in SPECULATIVE_DETAILS:
        return Translation()  # written beside the algorithm, and only when there is one
    composite = _COMPOSITES.get(setting)
    if composite is None:
        raise SettingError(setting, unknown_setting(setting))
    return composite(value, catalogue)


def _layout(value: SettingValue, catalogue: FlagCatalogue) -> Translation:
    try:
        layout = Layout.parse(str(value))
    except ValueError as error:
        raise SettingError("layout", str(error)) from error
    words = words_of("layout", TP_FLAGS, layout.tp, catalogue)
    if layout.ep > 1:
        words += words_of("layout", EP_FLAGS, layout.ep, catalogue)
    if layout.dp > 1:
        words += words_of("layout", DP_FLAGS, layout.dp, catalogue)
    if layout.adp > 1 and catalogue.first_of(ATTENTION_DP_FLAGS):
        words += words_of("layout", ATTENTION_DP_FLAGS, layout.adp, catalogue)
    elif layout.adp > 1:
        words += words_of("layout", DP_FLAGS, layout.adp, catalogue)
        words += words_of("layout", DP_ATTENTION_FLAGS, True, catalogue)
    return Translation(words)


def _all_reduce(value: SettingValue, catalogue: FlagCatalogue) -> Translation:
    way = ALL_REDUCE.get(str(value))
    if way is None:
        raise SettingError("all_reduce", f"all_reduce knows no {value!r}; {_nearest(str(value), ALL_REDUCE)}")
    for variable in way.env:
        if catalogue.environment is not None and variable not in catalogue.environment:
            raise SettingError(
                "all_reduce", f"all_reduce {value}: {catalogue.server_name} does not know {variable}"
            )
    if not way.flags:
        return Translation(env=way.env)
    known = [flag for flag in way.flags if catalogue.first_of(flag[0])]
    names, argument = (known or list(way.flags))[0]
    return Translation(words_of("all_reduce", names, argument, catalogue), way.env)


_COMPOSITES: Mapping[str, Callable[[SettingValue, FlagCatalogue], Translation]] = {
    "layout": _layout,
    "all_reduce": _all_reduce,
}
SETTING_NAMES = (*PLAIN_FLAGS, *_COMPOSITES, *SPECULATIVE_FLAGS)


def _speculation(
    settings: Settings, catalogue: FlagCatalogue, draft_model_path: str | None
) -> tuple[str, ...]:
    setting = "speculative_algorithm"
    algorithm = str(settings[setting])
    if algorithm == SPECULATION_OFF:
        return ()
    _check_algorithm(algorithm, catalogue)
    words = words_of(setting, SPECULATIVE_FLAGS[setting], algorithm, catalogue)
    if draft_model_path is not None and algorithm not in DRAFTLESS_ALGORITHMS:
        words += words_of(setting, DRAFT_MODEL_FLAGS, draft_model_path, catalogue)
    for detail, value in speculative_details(settings).items():
        words += words_of(detail, SPECULATIVE_FLAGS[detail], value, catalogue)
    return words


def speculative_details(settings: Mapping[str, SettingValue]) -> Settings:
    """The details of speculation as the server gets them.

    With topk 1 the draft is a chain and has steps + 1 tokens (SGLang replaces any other number);
    n-gram speculation has no steps and no tree.
    """
    details = {name: settings[name] for name in SPECULATIVE_DETAILS if name in settings}
    if settings.get("speculative_algorithm") in DRAFTLESS_ALGORITHMS:
        return {name: value for name, value in details.items() if name == "speculative_num_draft_tokens"}
    steps = details.get("speculative_num_steps")
    if steps is None:
        return details
    topk = details.setdefault("speculative_eagle_topk", 1)
    if topk == 1:
        details["speculative_num_draft_tokens"] = int(steps) + 1
    return details


def _check_algorithm(algorithm: str, catalogue: FlagCatalogue) -> None:
    known = catalogue.speculative_algorithms
    if known is not None and algorithm.upper() not in known:
        sentence = f"{catalogue.server_name} has no {algorithm!r}; {_nearest(algorithm.upper(), known)}"
        raise SettingError("speculative_algorithm", f"speculative_algorithm: {sentence}")


def unknown_setting(name: str) -> str:
    """Why ``name`` is no setting, with the nearest one that is."""
    near = difflib.get_close_matches(name, SETTING_NAMES, n=1, cutoff=0.6)
    hint = near[0] if near else f'"{FLAG_PREFIX}{name.replace("_", "-")}" for a flag of the server'
    return f"{name} is no setting; write {hint}"


def _nearest(text: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    near = difflib.get_close_matches(text, list(known), n=1, cutoff=0.5)
    return f"the nearest is {near[0]!r}" if near else f"it takes {', '.join(known)}"


def _variable(value: SettingValue) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
