"""Rules about speculative decoding."""

from __future__ import annotations

from trials.rules.rule import Combination, Rule

_NEED_A_DRAFT = ("EAGLE3", "STANDALONE", "DFLASH")
_DRAFT_INSIDE = ("EAGLE", "NEXTN")
MODELS_WITH_DRAFT_INSIDE = frozenset(
    {
        "BailingMoeForCausalLM",
        "BailingMoeV2ForCausalLM",
        "BailingMoeV2_5ForCausalLM",
        "DeepseekV32ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV4ForCausalLM",
        "Glm4MoeForCausalLM",
        "Glm4MoeLiteForCausalLM",
        "GlmMoeDsaForCausalLM",
        "HYV3ForCausalLM",
        "HYV4ForCausalLM",
        "MistralLarge3ForCausalLM",
        "PixtralForConditionalGeneration",
        "Qwen4ExpForConditionalGeneration",
    }
)
"""0.5.23 takes the draft layer of these from the target's own checkpoint."""
_NO_ATTENTION_DP = ("NGRAM", "STANDALONE")
_TREE_ATTENTION_WITH_PAGES = ("flashinfer", "fa3", "triton")
_ATTENTION_FLAGS = ("attention-backend", "decode-attention-backend", "prefill-attention-backend")


def tree_capacity(steps: int, topk: int) -> int:
    """Most draft tokens that a tree can have, its root included.

    The first step proposes topk tokens and every later one topk for each of the topk that were kept, so the
    candidates are topk + (steps - 1) x topk^2; 0.5.23 picks draft tokens - 1 of them with ``torch.topk``
    (``organize_draft_results``), and a server that finds fewer dies in warm-up with "selected index k out of
    range".
    """
    return topk + (steps - 1) * topk**2 + 1


def _no_draft(combination: Combination) -> str | None:
    algorithm = combination.algorithm
    if algorithm is None or combination.has_draft is not False:
        return None
    inside = combination.model.architecture in MODELS_WITH_DRAFT_INSIDE
    known_to_lack = combination.model.architecture is not None and not inside
    if algorithm in _NEED_A_DRAFT or (algorithm in _DRAFT_INSIDE and known_to_lack):
        return f"{algorithm} needs a draft model; write draft_model_path under [speculation]"
    return None


def _too_many_draft_tokens(combination: Combination) -> str | None:
    steps, topk, tokens = _tree(combination)
    if steps is None or topk is None or tokens is None or topk == 1:
        return None
    most = tree_capacity(int(steps), int(topk))
    if tokens <= most:
        return None
    return f"speculative_num_draft_tokens {tokens:g}: {steps:g} steps of topk {topk:g} give at most {most}"


def _too_few_draft_tokens(combination: Combination) -> str | None:
    tokens = combination.number("speculative_num_draft_tokens")
    if combination.algorithm is None or tokens is None or tokens >= 2:
        return None
    return f"speculative_num_draft_tokens {tokens:g} drafts nothing: one of them is the token that is certain"


def _incomplete_tree(combination: Combination) -> str | None:
    algorithm = combination.algorithm
    steps, topk, tokens = _tree(combination)
    if algorithm is None or algorithm == "NGRAM":
        return None
    if steps is None and (
        topk is not None or (tokens is not None and algorithm in ("EAGLE", "EAGLE3", "NEXTN"))
    ):
        return (
            "speculative_eagle_topk and speculative_num_draft_tokens need speculative_num_steps beside them"
        )
    if topk is not None and topk > 1 and tokens is None:
        return f"speculative_eagle_topk {topk:g} needs speculative_num_draft_tokens beside it"
    return None


def _attention_dp(combination: Combination) -> str | None:
    layout, algorithm = combination.layout, combination.algorithm
    if layout is None or layout.adp == 1 or algorithm not in _NO_ATTENTION_DP:
        return None
    return f"{algorithm} speculation does not work with attention data parallelism (layout {layout})"


def _tree_on_trtllm(combination: Combination) -> str | None:
    topk = combination.number("speculative_eagle_topk")
    if combination.algorithm is None or topk is None or topk == 1:
        return None
    for flag in _ATTENTION_FLAGS:
        if combination.flag(flag) == "trtllm_mha":
            return f"flag.{flag} trtllm_mha works with speculative_eagle_topk 1 only, not {topk:g}"
    return None


def _tree_with_pages(combination: Combination) -> str | None:
    topk, page, backend = (
        combination.number("speculative_eagle_topk"),
        combination.flag("page-size"),
        combination.flag("attention-backend"),
    )
    if combination.algorithm is None or topk is None or topk == 1 or backend is None:
        return None
    if not isinstance(page, int) or page == 1 or backend in _TREE_ATTENTION_WITH_PAGES:
        return None
    return (
        f"speculative_eagle_topk {topk:g} with page size {page} does not work on attention backend {backend}"
    )


def _tree(combination: Combination) -> tuple[float | None, float | None, float | None]:
    return (
        combination.number("speculative_num_steps"),
        combination.number("speculative_eagle_topk"),
        combination.number("speculative_num_draft_tokens"),
    )


SPECULATION_RULES = (
    Rule("draft model", "these algorithms load a draft model of their own", _no_draft),
    Rule("tree size", "see tree_capacity", _too_many_draft_tokens),
    Rule("empty draft", "the verified tokens include the one that is certain", _too_few_draft_tokens),
    Rule("whole tree", "0.5.23 asserts that topk and draft tokens come with steps", _incomplete_tree),
    Rule("attention dp", "refused by 0.5.23 for n-gram and standalone drafts", _attention_dp),
    Rule("tree on trtllm_mha", "refused by 0.5.23: the kernel verifies chains only", _tree_on_trtllm),
    Rule(
        "tree with pages",
        "refused by 0.5.23: only flashinfer, fa3 and triton verify a tree over pages",
        _tree_with_pages,
    ),
)
