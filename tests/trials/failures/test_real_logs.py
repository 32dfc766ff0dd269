"""Every log of a real SGLang 0.5.23 has its right verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from trials.failures import MachineFacts, diagnose_file

_LOGS = Path(__file__).parents[1] / "logs" / "sglang-0.5.23-cpu"

_VERDICTS = {
    "dp_attention": "invalid_settings warm_up settings",
    "fail_attn_default_cpu": "healthy",
    "fail_attn_fa3_cpu": "unsupported_kernel kv_pool settings",
    "fail_bad_choice": "invalid_settings arguments settings",
    "fail_ctx_too_long": "invalid_settings arguments settings",
    "fail_cuda_graph_max_bs": "invalid_settings arguments settings",
    "fail_deepep_cpu": "environment load_weights environment",
    "fail_device_cuda": "environment init_distributed environment",
    "fail_eagle3_no_draft": "invalid_settings kv_pool settings",
    "fail_ep_gt_tp": "invalid_settings arguments settings",
    "fail_ep_tp1": "invalid_settings arguments settings",
    "fail_maxtokens_1": "kv_pool_too_small kv_pool settings",
    "fail_maxtokens_huge": "healthy",
    "fail_maxtokens_neg": "invalid_settings kv_pool settings",
    "fail_memfrac_5": "oom_kv_pool kv_pool settings",
    "fail_memfrac_neg": "kv_pool_too_small kv_pool settings",
    "fail_memfrac_tiny": "kv_pool_too_small kv_pool settings",
    "fail_model_empty_dir": "model arguments environment",
    "fail_model_missing": "model arguments environment",
    "fail_no_device": "environment arguments environment",
    "fail_port_in_use": "environment warm_up environment",
    "fail_port_priv": "invalid_settings warm_up settings",
    "fail_spec_bogus": "invalid_settings arguments settings",
    "fail_tp3_heads": "invalid_settings init_distributed settings",
    "fail_unknown_arg": "invalid_settings arguments settings",
    "freeze_scheduler": "hang ready settings",
    "good_boot": "healthy",
    "kill_detok_serving": "unknown ready environment",
    "kill_parent_sigint_idle": "healthy",
    "kill_parent_sigkill": "healthy",
    "kill_parent_sigkill_boot": "unknown warm_up environment",
    "kill_parent_sigkill_boot_early": "unknown start environment",
    "kill_parent_sigterm_boot": "unknown warm_up environment",
    "kill_parent_sigterm_boot_early": "unknown start environment",
    "kill_parent_sigterm_idle": "healthy",
    "kill_parent_sigterm_load": "healthy",
    "kill_scheduler_boot": "unknown warm_up environment",
    "kill_scheduler_boot_early": "unknown start environment",
    "kill_scheduler_serving": "unknown ready environment",
    "moe_ep2": "unknown warm_up environment",
    "moe_tp2": "healthy",
    "orphan_sigterm_boot_early": "unknown warm_up environment",
    "port_in_use_by_sglang": "environment warm_up environment",
    "retract": "healthy",
    "spec_eagle3_amx": "healthy",
    "spec_ngram_amx": "healthy",
    "tp2": "healthy",
}


def test_every_log_has_a_verdict_here() -> None:
    assert {path.name.removesuffix(".log.gz") for path in _LOGS.iterdir()} == set(_VERDICTS)


@pytest.mark.parametrize(("name", "verdict"), _VERDICTS.items())
def test_verdict_on_a_real_log(name: str, verdict: str) -> None:
    failure = diagnose_file(_LOGS / f"{name}.log.gz").failure
    found = "healthy" if failure is None else f"{failure.kind} {failure.stage} {failure.at_fault}"
    assert found == verdict


@pytest.mark.parametrize(("rose", "kind"), [(True, "oom_host"), (False, "environment"), (None, "unknown")])
@pytest.mark.parametrize(
    "name", ["kill_scheduler_boot_early", "kill_scheduler_serving", "kill_detok_serving"]
)
def test_a_killed_child_is_out_of_memory_only_where_the_kernel_counted_it(
    name: str, rose: bool | None, kind: str
) -> None:
    failure = diagnose_file(_LOGS / f"{name}.log.gz", facts=MachineFacts(oom_kills_rose=rose)).failure
    assert failure is not None
    assert failure.kind == kind


def test_an_unknown_failure_quotes_the_first_exception() -> None:
    failure = diagnose_file(_LOGS / "moe_ep2.log.gz").failure
    assert failure is not None
    assert "index -1 is out of bounds for dimension 1 with size 8" in failure.summary
    assert any("TP1 EP1" in line for line in failure.evidence)


def test_a_torn_log_says_where_it_ends() -> None:
    failure = diagnose_file(_LOGS / "kill_parent_sigkill_boot_early.log.gz").failure
    assert failure is not None
    assert "ends at stage start" in failure.summary


def test_the_refusal_of_a_tiny_fraction_gives_the_bound() -> None:
    failure = diagnose_file(_LOGS / "fail_memfrac_tiny.log.gz").failure
    assert failure is not None
    assert [(remedy.setting, remedy.direction, remedy.bound) for remedy in failure.remedies] == [
        ("mem_fraction_static", "raise", 0.004)
    ]
