"""What a server's warnings mean for the settings: the table of wordings, releases 0.4.6 to 0.5.23."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from trials.settings import Layout, Settings, SettingValue

Said: TypeAlias = re.Match[str]


@dataclass(frozen=True)
class Meaning:
    """One kind of warning.

    Attributes:
        pattern: Found in the warning.
        sentence: What it means for the user; groups of the pattern may be named in braces.
        setting: The setting that it overrules, None when it only explains.
        asked: Values of that setting that it overrules; None: any.
        used: The value used instead, from the settings and the match.
    """

    pattern: re.Pattern[str]
    sentence: str
    setting: str | None = None
    asked: tuple[SettingValue, ...] | None = None
    used: Callable[[Settings, Said], SettingValue] | None = None

    def overrules(self, settings: Mapping[str, SettingValue]) -> bool:
        if self.setting is None or self.setting not in settings:
            return False
        return self.asked is None or settings[self.setting] in self.asked


def attention_groups(settings: Mapping[str, SettingValue]) -> int:
    layout = settings.get("layout")
    return 1 if layout is None else Layout.parse(str(layout)).adp


def _running(settings: Settings, said: Said) -> SettingValue:
    """The warning counts per attention group; the flag counts over all of them."""
    return int(said["now"]) * attention_groups(settings)


def _all_reduce(asked: tuple[str, ...], used: str, pattern: str, sentence: str) -> Meaning:
    return Meaning(re.compile(pattern), sentence, "all_reduce", asked, lambda settings, said: used)


_CUSTOM = ("default", "custom")
_CUSTOM_OFF = r"[Cc]ustom ?[Aa]ll-?[Rr]educe\w* is disabled (?:because|due to) "

MEANINGS: Final = (
    _all_reduce(
        _CUSTOM,
        "nccl",
        _CUSTOM_OFF + r"it's not supported on more than two PCIe-only GPUs",
        "custom all-reduce was disabled: more than two PCIe-only GPUs",
    ),
    _all_reduce(_CUSTOM, "nccl", _CUSTOM_OFF + r"(?P<why>[^.:]+)", "custom all-reduce was disabled: {why}"),
    _all_reduce(
        _CUSTOM,
        "nccl",
        r"Setup Custom allreduce failed",
        "custom all-reduce could not be set up; NCCL was used",
    ),
    _all_reduce(
        ("pcie_ipc",),
        "nccl",
        r"Setup FlashInfer PCIe-IPC allreduce failed with (?P<why>.*?)\.?$",
        "the PCIe-IPC all-reduce could not be set up ({why}); NCCL was used",
    ),
    _all_reduce(
        ("pcie_ipc",),
        "nccl",
        r"this FlashInfer build has no pcie_ipc_comm",
        "the installed FlashInfer has no PCIe-IPC all-reduce; NCCL was used",
    ),
    _all_reduce(
        ("pcie_ipc",),
        "nccl",
        r"PCIe-IPC workspace .*failed: (?P<why>.*?); reductions stay on NCCL",
        "the PCIe-IPC all-reduce got no workspace ({why}); NCCL was used",
    ),
    _all_reduce(
        ("pcie_ipc",),
        "nccl",
        r"PCIe-IPC all-reduce serves bf16 only; (?P<dtype>\S+) reductions stay on NCCL",
        "the PCIe-IPC all-reduce takes bf16 only, the model reduces {dtype}; NCCL was used",
    ),
    _all_reduce(
        ("pcie_ipc",),
        "nccl",
        r"leaving PCIe-IPC all-reduce off",
        "deterministic inference leaves the PCIe-IPC all-reduce off; NCCL was used",
    ),
    _all_reduce(
        ("torch_symm_mem",),
        "default",
        r"TorchSymmMemCommunicator: (?P<why>.*?)(?:, communicator is not available|\.|$)",
        "torch symmetric memory was not used: {why}",
    ),
    _all_reduce(
        ("mscclpp",),
        "default",
        r"PyMscclpp (?P<why>is unavailable|is disabled|did not produce any usable)",
        "the server could not use MSCCL++",
    ),
    _all_reduce(
        ("flashinfer_fusion",),
        "default",
        r"(?i)skipping allreduce fusion|disabling flashinfer allreduce fusion|allreduce fusion disabled",
        "FlashInfer all-reduce fusion was switched off by the server",
    ),
    Meaning(
        re.compile(r"max_running_requests was reduced from the requested (?P<before>\d+) to (?P<now>\d+)"),
        "max_running_requests reduced to {now}: the KV pool holds no more",
        "max_running_requests",
        None,
        _running,
    ),
    Meaning(
        re.compile(r"[Mm]ixed chunked prefill (?:is|are) disabled"),
        "mixed chunked prefill was switched off: this kind of speculation does not support it",
        "flag.enable-mixed-chunk",
        (True,),
        lambda settings, said: False,
    ),
    Meaning(
        re.compile(r"chunked prefill size is adjusted from (?P<before>\d+) to (?P<now>\d+)"),
        "attention data parallelism divides the chunked prefill size: {before} became {now} per group",
    ),
    Meaning(
        re.compile(r"Max running requests is reset to (?P<now>\d+) for speculative decoding"),
        "max_running_requests was not set, so speculation set it to {now}",
    ),
    Meaning(
        re.compile(r"KV pool holds (?P<tokens>\d+) tokens, fewer than --context-length (?P<context>\d+)"),
        "the KV pool holds {tokens} tokens, fewer than the context length {context}: "
        "long requests will be refused or cut short",
    ),
)


def meanings_of(notices: Sequence[str]) -> list[tuple[Meaning, Said]]:
    """The first meaning of every warning that has one."""
    found = []
    for notice in notices:
        pairs = ((meaning, meaning.pattern.search(notice)) for meaning in MEANINGS)
        first = next(((meaning, said) for meaning, said in pairs if said is not None), None)
        if first is not None:
            found.append(first)
    return found
