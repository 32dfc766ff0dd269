"""The prompts that are measured with: built in, or from the user's file."""

from trials.prompts.deck import Deck
from trials.prompts.reader import Prompt, PromptFileError, load_prompts

__all__ = ["Deck", "Prompt", "PromptFileError", "load_prompts"]
