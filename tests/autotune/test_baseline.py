from __future__ import annotations

from pathlib import Path

import pytest

from autotune.baseline import baseline_settings, known_good_settings, server_default
from autotune.spec import SpecError, StudySpec
from trials.flags import Flag, FlagCatalogue

TEXT = """\
[study]
name = "n"
trials = 5
[server]
model_path = "org/model"
[speculation]
draft_model_path = "org/draft"
[space]
cuda_graph_max_bs = [128, 512]
speculative_algorithm = ["off", "EAGLE3"]
speculative_num_steps = [1, 2]
"flag.schedule-conservativeness" = [0.3, 1.0]
"""
CATALOGUE = FlagCatalogue(
    flags=(
        Flag(names=("--schedule-conservativeness",), dest="schedule_conservativeness", default="1.0"),
        Flag(names=("--cuda-graph-max-bs",), dest="cuda_graph_max_bs", default="None"),
        Flag(names=("--page-size",), dest="page_size", default="'auto'"),
    )
)


def load(folder: Path, known_good: str) -> StudySpec:
    file = folder / "study.toml"
    file.write_text(TEXT + known_good)
    return StudySpec.load(file)


def test_without_known_good_every_tunable_is_unset(tmp_path: Path) -> None:
    assert baseline_settings(load(tmp_path, ""), CATALOGUE) == {}


def test_missing_keys_take_the_servers_default_where_the_space_has_it(tmp_path: Path) -> None:
    spec = load(tmp_path, "[[known_good]]\ncuda_graph_max_bs = 512\n")
    assert baseline_settings(spec, CATALOGUE) == {
        "cuda_graph_max_bs": 512,
        "speculative_algorithm": "off",
        "flag.schedule-conservativeness": 1.0,
    }


def test_a_key_without_a_usable_default_is_named_with_the_line_to_add(tmp_path: Path) -> None:
    known_good = '[[known_good]]\nspeculative_algorithm = "EAGLE3"\n'
    with pytest.raises(SpecError) as caught:
        known_good_settings(load(tmp_path, known_good), CATALOGUE)
    sentences = [str(problem) for problem in caught.value.problems]
    assert any(
        "cuda_graph_max_bs: is missing" in line and "cuda_graph_max_bs = 128" in line for line in sentences
    )
    assert any("speculative_num_steps = 1" in line for line in sentences)
    assert len(sentences) == 2


def test_details_of_a_speculation_that_is_off_do_not_count(tmp_path: Path) -> None:
    known_good = (
        '[[known_good]]\ncuda_graph_max_bs = 512\nspeculative_algorithm = "off"\nspeculative_num_steps = 2\n'
    )
    assert "speculative_num_steps" not in baseline_settings(load(tmp_path, known_good), CATALOGUE)


@pytest.mark.parametrize(
    "setting, default",
    [
        ("flag.schedule-conservativeness", 1.0),
        ("flag.page-size", "auto"),
        ("flag.unknown", None),
        ("cuda_graph_max_bs", None),
        ("layout", "tp1"),
        ("env.A", None),
    ],
)
def test_server_defaults(setting: str, default: object) -> None:
    assert server_default(setting, CATALOGUE) == default
