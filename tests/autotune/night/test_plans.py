"""The plan of a trial, and the baseline's answers that a resumed night still compares with."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.night.plans import Plans, cache_folder
from tests.autotune.night.nights import write_study
from trials.settings import ReferenceAnswer, TrialPlan

_ANSWERS = (
    ReferenceAnswer(prompt="ä", prompt_ids=(1,), token_ids=(2, 3), logprobs=(-0.5, -0.25), text="öü"),
)


def _plan(plans: Plans, number: int) -> TrialPlan:
    return plans.plan(number, hopeless_below=40.0, soak_above=90.0, stage_timeouts_s={"kv_pool": 60.0})


def test_a_plan_names_its_trial(tmp_path: Path) -> None:
    spec = write_study(tmp_path)
    plan = _plan(Plans(spec, tmp_path, "uuid"), 7)
    assert plan.mark == "uuid:7"
    assert plan.folder == tmp_path / "trials" / "0007"
    assert plan.folder.is_dir()
    assert plan.workspace == tmp_path
    assert (plan.server, plan.bench, plan.limits) == (spec.server, spec.bench, spec.limits)
    assert (plan.hopeless_below, plan.soak_above, plan.stage_timeouts_s) == (40.0, 90.0, {"kv_pool": 60.0})


def test_the_reference_outlives_the_runner(tmp_path: Path) -> None:
    spec = write_study(tmp_path)
    plans = Plans(spec, tmp_path, "uuid")
    assert not plans.has_reference
    assert _plan(plans, 0).reference == ()
    plans.keep_reference(_ANSWERS)
    assert _plan(plans, 1).reference == _ANSWERS
    later = Plans(spec, tmp_path, "uuid")
    assert later.has_reference
    assert _plan(later, 2).reference == _ANSWERS
    assert [path.name for path in tmp_path.glob("reference*")] == ["reference.json"]


def test_a_reference_that_the_power_cut_off_is_collected_again(tmp_path: Path) -> None:
    (tmp_path / "reference.json").write_text('[{"prompt": "ab')
    assert not Plans(write_study(tmp_path), tmp_path, "uuid").has_reference


def test_catalogues_are_kept_outside_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "sglang-autotune"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "sglang-autotune"
