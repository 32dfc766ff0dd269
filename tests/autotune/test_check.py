from __future__ import annotations

from pathlib import Path

import pytest

from autotune.check import check_study, combinations, refusals
from autotune.search import SearchSpace
from autotune.spec import StudySpec
from trials.flags import CatalogueError, Flag, FlagCatalogue
from trials.settings import Settings

SPEC = """\
[study]
name = "n"
trials = 5
until = "07:00"
[server]
command = ["python"]
model_path = "org/model"
args = ["--colour", "red", "--api-key", "sesame", "--port", "8000"]
[space]
cuda_graph_max_bs = [128, 512]
"flag.page-size" = [1, 64]
[[known_good]]
cuda_graph_max_bs = 512
"flag.page-size" = 1
"""
FLAGS = ("--model-path", "--api-key", "--host", "--port", "--cuda-graph-max-bs")


def catalogue(*more: str) -> FlagCatalogue:
    return FlagCatalogue(
        tuple(Flag((name,), name.strip("-").replace("-", "_")) for name in (*FLAGS, *more)), version="0.5.23"
    )


def load(folder: Path) -> StudySpec:
    file = folder / "study.toml"
    file.write_text(SPEC)
    return StudySpec.load(file)


def test_flags_that_the_server_does_not_know_are_named_with_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autotune.check.load_catalogue", lambda *_: catalogue())
    problems = [str(problem) for problem in check_study(load(tmp_path), tmp_path, lambda _: None).problems]
    assert any("study.toml:8: [server] args: " in line and "--colour" in line for line in problems)
    assert any("study.toml:11: [space] flag.page-size: " in line for line in problems)


def test_the_plan_of_a_good_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.check.load_catalogue", lambda *_: catalogue("--colour", "--page-size"))
    checked = check_study(load(tmp_path), tmp_path, lambda _: None)
    assert checked.problems == []
    assert checked.combinations == 4
    assert checked.budget == "5 trials, until 07:00, whichever comes first"
    assert checked.baseline == {"cuda_graph_max_bs": 512, "flag.page-size": 1}
    assert "8000" in checked.command
    assert "sesame" not in checked.command


def test_a_server_that_cannot_be_asked_is_a_problem_and_the_plan_is_still_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> FlagCatalogue:
        raise CatalogueError("there is no python here")

    monkeypatch.setattr("autotune.check.load_catalogue", refuse)
    checked = check_study(load(tmp_path), tmp_path, lambda _: None)
    assert "study.toml:6: [server] command: there is no python here" in str(checked.problems[0])
    assert [tunable.name for tunable in checked.tunables] == ["cuda_graph_max_bs", "flag.page-size"]


def test_details_of_speculation_count_only_with_it() -> None:
    space = SearchSpace.from_dict(
        {
            "cuda_graph_max_bs": [128, 512],
            "speculative_algorithm": ["off", "EAGLE3"],
            "speculative_num_steps": [1, 2, 3],
            "speculative_eagle_topk": [1, 2],
            "speculative_num_draft_tokens": [2, 4],
        }
    )
    # off: 1; topk 1: 3 steps, draft tokens tied to them; topk 2: 3 steps x 2 draft tokens
    assert combinations(space) == 2 * (1 + 3 + 3 * 2)


def test_a_range_without_a_step_has_no_end() -> None:
    assert combinations(SearchSpace.from_dict({"mem_fraction_static": {"low": 0.7, "high": 0.9}})) is None


def test_refusals_are_grouped_by_reason_with_their_share() -> None:
    def forbidden(settings: Settings) -> str | None:
        size = settings["cuda_graph_max_bs"]
        return f"{size} does not fit" if size in (256, 512) else None

    space = SearchSpace.from_dict({"cuda_graph_max_bs": [64, 128, 256, 512]})
    (refusal,) = refusals(space, forbidden)
    assert refusal.share == pytest.approx(0.5, abs=0.05)
    assert refusal.reason in ("256 does not fit", "512 does not fit")
