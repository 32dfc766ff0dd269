"""The fixed prompts whose greedy answers are compared. Plain text: everybody sees the same tokens."""

from __future__ import annotations

ANSWER_TOKENS = 64

PROMPTS = (
    "A short history of the lighthouse. The first ones were open fires on hills beside a harbour. Later",
    "def is_prime(n: int) -> bool:\n    # Return True if n is a prime number.\n",
    "Question: A train travels 180 km in 2.5 hours. What is its average speed?\nAnswer: Let us compute it",
    "Der Unterschied zwischen Wetter und Klima besteht darin, dass",
    "User: My bicycle chain keeps falling off. What can I do?\nAssistant: There are several causes. First,",
    "请解释一下为什么海水是咸的。\n海水之所以是咸的,主要是因为",
    '{"name": "lemon cake", "servings": 8, "ingredients": [{"item": "flour", "grams": 250}, {"item":',
    "In the valley, the right to water has been shared out by the hour since 1430. A family does not own a "
    "spring; it owns the water from four in the morning until half past seven on every ninth day. The hours "
    "are written on notched sticks that are cut lengthwise, one half for the family and one for the commune, "
    "so that nobody can add a notch alone. When tourism came, hotels bought hours rather than land, and the "
    "meadows dried. In one sentence: the text is about",
)
