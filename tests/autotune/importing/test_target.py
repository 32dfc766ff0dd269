"""When another study's boots count as this one's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autotune.importing.target import Target
from autotune.search import SpaceError
from db.rows import StudyRow

SPEC: dict[str, Any] = {
    "server": {
        "command": ["python", "-m", "sglang.launch_server"],
        "model_path": "org/model",
        "args": ["--port", "30000", "--trust-remote-code"],
    },
    "bench": {"levels": [1], "main_level": 1},
    "space_table": {"cuda_graph_max_bs": [64, 128], "layout": ["tp8", "tp8-ep8"]},
}
CARD = StudyRow(
    uuid="u",
    name="mine",
    simulated=False,
    spec_toml="",
    spec=SPEC,
    versions={"sglang": "0.5.23", "driver": "580"},
    gpus=[{"name": "RTX PRO 6000"}] * 8,
    created_at="2026-11-29T21:00:00.000Z",
)


def other(section: str, **changed: Any) -> StudyRow:
    return replace(CARD, spec={**SPEC, section: {**SPEC[section], **changed}})


@pytest.mark.parametrize(
    "card",
    [
        CARD,
        replace(CARD, name="another", versions={"sglang": "0.5.23", "driver": "590"}),
        other("server", args=["--trust-remote-code", "--host", "0.0.0.0"]),
        other("bench", levels=[1, 8]),
        other("space_table", cuda_graph_max_bs=[64]),
    ],
)
def test_what_does_not_matter(card: StudyRow) -> None:
    assert list(Target(CARD).differences(card)) == []


@pytest.mark.parametrize(
    "card, reason",
    [
        (other("server", model_path="org/else"), "model: org/else there, org/model here"),
        (other("server", draft_model_path="org/draft"), "draft model: org/draft there, unknown here"),
        (replace(CARD, versions={"sglang": None}), "SGLang: unknown there, 0.5.23 here"),
        (replace(CARD, gpus=[{"name": "H200"}]), "GPUs: 1x H200 there, 8x RTX PRO 6000 here"),
        (replace(CARD, simulated=True), "one is simulated, the other one"),
        (other("server", args=["--quantization", "fp8"]), "the fixed arguments or variables differ"),
        (other("server", env={"NCCL_ALGO": "Ring"}), "the fixed arguments or variables differ"),
        (other("bench", output_tokens=99), "it was measured with other text"),
        (other("space_table", all_reduce=["nccl"]), "it tuned all_reduce as well"),
    ],
)
def test_what_makes_it_a_weaker_prior(card: StudyRow, reason: str) -> None:
    assert list(Target(CARD).differences(card)) == [reason]


def test_settings_that_are_not_tuned_here_are_dropped() -> None:
    settings = {"cuda_graph_max_bs": 64, "layout": "tp8", "all_reduce": "nccl"}
    assert Target(CARD).fitting(settings) == {"cuda_graph_max_bs": 64, "layout": "tp8"}


@pytest.mark.parametrize("settings", [{"cuda_graph_max_bs": 64}, {"cuda_graph_max_bs": 65, "layout": "tp8"}])
def test_settings_that_do_not_fit_are_refused_by_name(settings: dict[str, Any]) -> None:
    with pytest.raises(SpaceError, match=r"layout is not known|cuda_graph_max_bs = 65"):
        Target(CARD).fitting(settings)
