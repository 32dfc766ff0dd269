"""Rules about back ends that depend on each other, as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trials.rules.rule import BACKENDS_OVER_ALL_GPUS, Combination, Rule
from trials.settings import SettingValue

Needs = Callable[[Combination], bool]


@dataclass(frozen=True)
class Dependence:
    """``flag.FLAG = VALUE`` works only when ``needs`` holds.

    Attributes:
        source: Where this was seen.
    """

    flag: str
    value: SettingValue
    needs: Needs
    sentence: str
    source: str

    def broken(self, combination: Combination) -> str | None:
        if combination.flag(self.flag) != self.value or self.needs(combination):
            return None
        return f"flag.{self.flag} {self.value} {self.sentence}"


def _attention_dp_over_all(combination: Combination) -> bool:
    layout = combination.layout
    return layout is None or layout.adp == layout.tp


def _attention_dp(combination: Combination) -> bool:
    layout = combination.layout
    return layout is None or layout.adp > 1


def _experts_whole_or_everywhere(combination: Combination) -> bool:
    layout = combination.layout
    return layout is None or layout.ep in (1, layout.tp)


def _has_experts(combination: Combination) -> bool:
    return combination.model.heads is None or combination.model.experts is not None


def _runner(*allowed: str) -> Needs:
    return lambda combination: combination.flag("moe-runner-backend") in (None, "auto", *allowed)


_A2A = "moe-a2a-backend"

DEPENDENCES = (
    Dependence(
        _A2A,
        "flashinfer",
        _attention_dp_over_all,
        "needs attention data parallelism over all GPUs (adp = tp)",
        "assertion in 0.5.23",
    ),
    Dependence(
        _A2A,
        "flashinfer",
        _runner(
            "flashinfer_cutlass",
            "flashinfer_cutedsl",
            "flashinfer_trtllm",
            "flashinfer_trtllm_routed",
            "deep_gemm",
        ),
        "needs a flashinfer or deep_gemm moe-runner-backend",
        "assertion in 0.5.23",
    ),
    Dependence(
        _A2A,
        "flashinfer_megamoe",
        _attention_dp_over_all,
        "needs attention data parallelism over all GPUs (adp = tp)",
        "assertion in 0.5.23",
    ),
    Dependence(
        _A2A,
        "flashinfer_megamoe",
        _runner("flashinfer_megamoe"),
        "needs moe-runner-backend flashinfer_megamoe",
        "assertion in 0.5.23",
    ),
    Dependence(_A2A, "deepep_v2", _runner("deep_gemm"), "needs moe-runner-backend deep_gemm", "0.5.23"),
    Dependence(_A2A, "pplx", _attention_dp, "needs attention data parallelism (adp of 2 or more)", "0.5.23"),
    Dependence(_A2A, "pplx", _runner("deep_gemm"), "needs moe-runner-backend deep_gemm", "0.5.23"),
    *(
        Dependence(
            _A2A, backend, _has_experts, "moves experts' tokens, and the model has no experts", "0.5.23"
        )
        for backend in BACKENDS_OVER_ALL_GPUS
    ),
    *(
        Dependence(
            "moe-runner-backend",
            runner,
            _experts_whole_or_everywhere,
            "needs ep 1 or ep = tp",
            "assertion in 0.5.23",
        )
        for runner in ("flashinfer_cutlass", "flashinfer_cutedsl")
    ),
)

PCIE_IPC_TP = (2, 4, 8)


def _pcie_ipc_sizes(combination: Combination) -> str | None:
    layout = combination.layout
    if combination.settings.get("all_reduce") != "pcie_ipc" or layout is None or layout.tp in PCIE_IPC_TP:
        return None
    return f"all_reduce pcie_ipc works with tp 2, 4 or 8, not {layout.tp}: NCCL would run instead"


def _pcie_ipc_type(combination: Combination) -> str | None:
    dtype = combination.flag("dtype") or combination.model.dtype
    if combination.settings.get("all_reduce") != "pcie_ipc" or dtype not in ("float16", "half", "float32"):
        return None
    return f"all_reduce pcie_ipc reduces bfloat16 only, and the model runs in {dtype}: NCCL would run instead"


def _pcie_ipc_deterministic(combination: Combination) -> str | None:
    if combination.settings.get("all_reduce") != "pcie_ipc":
        return None
    if combination.flag("enable-deterministic-inference") is not True:
        return None
    return "all_reduce pcie_ipc is left off with deterministic inference: NCCL would run instead"


BACKEND_RULES = (
    *(Rule(f"{case.flag} {case.value}", case.source, case.broken) for case in DEPENDENCES),
    Rule("pcie_ipc sizes", "0.5.23 builds its channels for 2, 4 and 8 ranks only", _pcie_ipc_sizes),
    Rule("pcie_ipc type", "0.5.23: the kernels serve bf16 only", _pcie_ipc_type),
    Rule("pcie_ipc deterministic", "0.5.23: its tactic depends on the shape", _pcie_ipc_deterministic),
)
