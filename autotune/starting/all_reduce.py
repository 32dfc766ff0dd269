"""Which ways of all-reduce a machine's connections allow."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.starting.line import Line, Setup
from trials.rules.backends import PCIE_IPC_TP
from trials.settings import Layout
from trials.translation import ALL_REDUCE

_PCIE_IPC = "pcie_ipc"
_REFUSED_ON_SM120 = {
    "flashinfer_fusion": "flashinfer_fusion: its kernels are for SM90 and SM10X; these cards are SM120",
    "torch_symm_mem": "torch_symm_mem: torch has tables for SM90 and SM100 only; these cards are SM120",
}
_CUSTOM_OVER_PCIE_UP_TO = 2
"""On more cards without NVLink SGLang turns its own all-reduce off."""


def all_reduce_line(setup: Setup) -> list[Line]:
    """The line, or none: one GPU reduces nothing, and flags that no setting stands for stay as they are."""
    own = setup.own("all_reduce")
    most = max((setup.machine.count or 1), Layout.parse(str(setup.own("layout") or "tp1")).tp)
    if own is None or most == 1:
        return []
    ways, comments = [str(own)], []
    for way, reason in _others(setup, most):
        if reason:
            comments.append(f"left out: {reason}")
        elif way not in ways:
            ways.append(way)
    if setup.machine.links is None:
        comments.append("how the cards are connected is not known here")
    return [Line("all_reduce", ways, own, tuple(comments))]


def _others(setup: Setup, tp: int) -> list[tuple[str, str]]:
    """Ways to add, each with the reason to leave it out, which is empty for none."""
    machine = setup.machine
    ways: list[tuple[str, str]] = []
    custom_is_off = machine.over_pcie and tp > _CUSTOM_OVER_PCIE_UP_TO
    same = "nccl: SGLang turns its own all-reduce off on more than two PCIe cards, so default is NCCL"
    ways.append(("nccl", same if custom_is_off and setup.own("all_reduce") == "default" else ""))
    if machine.over_pcie:
        ways.append((_PCIE_IPC, _no_pcie_ipc(setup, tp)))
    elif machine.links is not None and setup.own("all_reduce") != "default":
        ways.append(("default", ""))
    if machine.is_sm120:
        ways += _REFUSED_ON_SM120.items()
    elif machine.has_fused_all_reduce and not machine.over_pcie:
        ways += [(way, _no_flag(way, setup)) for way in _REFUSED_ON_SM120]
    return ways


def _no_pcie_ipc(setup: Setup, tp: int) -> str:
    way = ALL_REDUCE[_PCIE_IPC]
    known = setup.catalogue.environment if setup.catalogue else None
    if known is not None and not known.issuperset(way.env):
        return f"{_PCIE_IPC}: {setup.catalogue.server_name if setup.catalogue else ''} does not have it"
    if tp not in PCIE_IPC_TP:
        return f"{_PCIE_IPC}: works with 2, 4 or 8 GPUs, not {tp}"
    if setup.model is not None and setup.model.dtype in ("float16", "float32"):
        return f"{_PCIE_IPC}: reduces bfloat16 only, and the model runs in {setup.model.dtype}"
    return ""


def _no_flag(way: str, setup: Setup) -> str:
    flags: Sequence[Sequence[str]] = [names for names, _ in ALL_REDUCE[way].flags]
    if setup.catalogue is None or any(setup.catalogue.first_of(names) for names in flags):
        return ""
    return f"{way}: {setup.catalogue.server_name} does not have it"
