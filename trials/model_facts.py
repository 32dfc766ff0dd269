"""What a model's config.json says about how it can be divided."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CONFIG = "config.json"
_EXPERT_KEYS = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
_EXPERT_WIDTH_KEYS = ("moe_intermediate_size", "expert_intermediate_size")


@dataclass(frozen=True)
class ModelFacts:
    """Sizes that parallel layouts must divide; None where the config does not say.

    Attributes:
        architecture: SGLang's class for the model, e.g. ``DeepseekV3ForCausalLM``.
        heads: Attention heads.
        kv_heads: Heads of keys and values, None with latent attention, where they are not divided.
        experts: Routed experts of a layer, None for a dense model.
        expert_width: ``moe_intermediate_size``.
        width: ``intermediate_size`` of the dense layers.
        block: Rows of a quantised block, which no division may cut.
        dtype: Type of the activations.
        context: Longest sequence, tokens.
    """

    architecture: str | None = None
    heads: int | None = None
    kv_heads: int | None = None
    experts: int | None = None
    expert_width: int | None = None
    width: int | None = None
    block: int | None = None
    dtype: str | None = None
    context: int | None = None

    @classmethod
    def read(cls, model_path: str) -> ModelFacts | None:
        """Read a local folder, or a repository that is in the Hugging Face cache; None when it is neither."""
        folder = model_folder(model_path)
        if folder is None:
            return None
        try:
            content = json.loads((folder / _CONFIG).read_text())
        except (OSError, ValueError):
            return None
        return cls.from_config(content) if isinstance(content, dict) else None

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> ModelFacts:
        """Build from the content of config.json; of a model with pictures its language part counts."""
        text = config.get("text_config") or config.get("llm_config") or config
        quantised = config.get("quantization_config") or text.get("quantization_config") or {}
        blocks = quantised.get("weight_block_size")
        heads = _number(text, "num_attention_heads")
        latent = text.get("kv_lora_rank") is not None
        return cls(
            architecture=next(iter(config.get("architectures") or ()), None),
            heads=heads,
            kv_heads=None if latent else _number(text, "num_key_value_heads") or heads,
            experts=_number(text, *_EXPERT_KEYS),
            expert_width=_number(text, *_EXPERT_WIDTH_KEYS),
            width=_number(text, "intermediate_size"),
            block=blocks[0] if blocks else None,
            dtype=text.get("dtype") or text.get("torch_dtype") or config.get("torch_dtype"),
            context=_number(text, "max_position_embeddings"),
        )


def _number(config: Mapping[str, Any], *names: str) -> int | None:
    values = (config.get(name) for name in names)
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def model_folder(model_path: str) -> Path | None:
    """Where a model lies on this disk: its own folder, or its place in the Hugging Face cache; else None."""
    local = Path(model_path).expanduser()
    if (local / _CONFIG).is_file():
        return local
    repository = _cache() / f"models--{model_path.replace('/', '--')}"
    try:
        revision = (repository / "refs" / "main").read_text().strip()
    except OSError:
        return None
    cached = repository / "snapshots" / revision
    return cached if (cached / _CONFIG).is_file() else None


def _cache() -> Path:
    home = os.environ.get("HF_HOME", str(Path.home() / ".cache" / "huggingface"))
    return Path(os.environ.get("HF_HUB_CACHE", str(Path(home) / "hub")))
