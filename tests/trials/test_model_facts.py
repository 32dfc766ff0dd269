"""What is read out of a model's config.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trials.model_facts import ModelFacts

MLA_MOE = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "text_config": {
        "num_attention_heads": 64,
        "num_key_value_heads": 64,
        "kv_lora_rank": 512,
        "n_routed_experts": 384,
        "moe_intermediate_size": 2048,
        "intermediate_size": 18432,
        "max_position_embeddings": 262144,
        "torch_dtype": "bfloat16",
    },
}
GQA_FP8_MOE = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "num_experts": 128,
    "moe_intermediate_size": 1536,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}


def test_latent_attention_and_experts_inside_a_model_with_pictures() -> None:
    assert ModelFacts.from_config(MLA_MOE) == ModelFacts(
        architecture="KimiK25ForConditionalGeneration",
        heads=64,
        kv_heads=None,
        experts=384,
        expert_width=2048,
        width=18432,
        dtype="bfloat16",
        context=262144,
    )


def test_grouped_heads_and_quantised_blocks() -> None:
    facts = ModelFacts.from_config(GQA_FP8_MOE)
    assert (facts.heads, facts.kv_heads, facts.experts, facts.block) == (64, 4, 128, 128)


def test_a_model_without_groups_has_a_key_head_per_head() -> None:
    facts = ModelFacts.from_config({"num_attention_heads": 32})
    assert facts.kv_heads == 32
    assert facts.experts is None


def test_a_local_folder(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(GQA_FP8_MOE))
    assert ModelFacts.read(str(tmp_path)) == ModelFacts.from_config(GQA_FP8_MOE)


def test_a_repository_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    repository = tmp_path / "hub" / "models--org--model"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc")
    (repository / "snapshots" / "abc").mkdir(parents=True)
    (repository / "snapshots" / "abc" / "config.json").write_text(json.dumps(GQA_FP8_MOE))
    assert ModelFacts.read("org/model") == ModelFacts.from_config(GQA_FP8_MOE)


@pytest.mark.parametrize("content", ["not json", "[]"])
def test_what_cannot_be_read_is_unknown(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    assert ModelFacts.read(str(tmp_path)) is None
    assert ModelFacts.read(str(tmp_path / "nowhere")) is None
