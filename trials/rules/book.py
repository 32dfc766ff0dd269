"""All rules, and the questions that are asked of them."""

from __future__ import annotations

from collections.abc import Callable

from trials.model_facts import ModelFacts
from trials.rules.backends import BACKEND_RULES
from trials.rules.fixed import fixed_settings
from trials.rules.layout import LAYOUT_RULES
from trials.rules.rule import UNKNOWN_MODEL, Combination, Rule
from trials.rules.sizes import SIZE_REMARKS, SIZE_RULES
from trials.rules.speculation import SPECULATION_RULES
from trials.settings import ServerPlan, Settings

RULES: tuple[Rule, ...] = (*LAYOUT_RULES, *SIZE_RULES, *SPECULATION_RULES, *BACKEND_RULES)
REMARKS: tuple[Rule, ...] = SIZE_REMARKS
"""Combinations that work and waste something; never a reason to forbid."""


def forbidden(
    settings: Settings,
    *,
    gpu_count: int | None,
    model: ModelFacts | None,
    has_draft: bool | None = None,
) -> str | None:
    """Why these settings cannot work, or None when no rule speaks against them.

    Args:
        gpu_count: Cards that the server may use, None when unknown.
        model: None when its config.json is not at hand.
        has_draft: Whether a draft model is configured, None when unknown.
    """
    combination = Combination(settings, gpu_count, model or UNKNOWN_MODEL, has_draft)
    sentences = (rule.broken(combination) for rule in RULES)
    return next((sentence for sentence in sentences if sentence is not None), None)


def rules_for(server: ServerPlan, cards: int | None = None) -> Callable[[Settings], str | None]:
    """``forbidden`` for one server: its cards, its model, its draft and its fixed arguments.

    Args:
        cards: Cards of the machine, None when unknown.
    """
    gpu_count = cards if server.gpus == "all" else len(server.gpus)
    model = ModelFacts.read(server.model_path)
    fixed = fixed_settings(server.args)
    has_draft = server.draft_model_path is not None or "flag.speculative-draft-model-path" in fixed
    return lambda settings: forbidden(
        {**fixed, **settings}, gpu_count=gpu_count, model=model, has_draft=has_draft
    )


def remarks(settings: Settings) -> list[str]:
    """What these settings waste."""
    combination = Combination(settings)
    return [sentence for rule in REMARKS if (sentence := rule.broken(combination)) is not None]
