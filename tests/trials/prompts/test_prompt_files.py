"""Prompts files: three shapes, and errors that name file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from trials.prompts import Prompt, PromptFileError, load_prompts
from trials.prompts.reader import Message


def written(folder: Path, text: str) -> tuple[Prompt, ...]:
    (folder / "mine.jsonl").write_text(text, "utf-8")
    return load_prompts("mine.jsonl", folder)


def test_texts_chats_and_lengths_are_read(tmp_path: Path) -> None:
    prompts = written(
        tmp_path,
        '{"prompt": "Grüße"}\n\n'
        '{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]}\n'
        '{"prompt_tokens": 800, "output_tokens": 90, "id": "kept out"}\n',
    )
    assert prompts == (
        Prompt((Message("user", "Grüße"),)),
        Prompt((Message("system", "Be brief."), Message("user", "Hi"))),
        Prompt(prompt_tokens=800, output_tokens=90),
    )


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert written(tmp_path, '\ufeff{"prompt": "Hi"}\n') == (Prompt((Message("user", "Hi"),)),)


@pytest.mark.parametrize(
    "line,words",
    [
        ("{broken", "not JSON"),
        ('["a list"]', "neither a prompt"),
        ('{"text": "wrong key"}', "neither a prompt"),
        ('{"prompt": ""}', "prompt"),
        ('{"messages": []}', "messages"),
        ('{"messages": [{"role": "robot", "content": "x"}]}', "messages.0.role"),
        ('{"prompt_tokens": 10}', "output_tokens"),
        ('{"prompt_tokens": "ten", "output_tokens": 5}', "prompt_tokens"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(PromptFileError, match=r"mine\.jsonl line 2: ") as caught:
        written(tmp_path, f'{{"prompt": "fine"}}\n{line}\n')
    assert words in str(caught.value)
    assert '{"prompt": ...}' in str(caught.value)


def test_missing_and_empty_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(PromptFileError, match="cannot be read"):
        load_prompts("absent.jsonl", tmp_path)
    with pytest.raises(PromptFileError, match="no prompts in it"):
        written(tmp_path, "\n\n")


def test_the_built_in_set_is_large_and_varied() -> None:
    prompts = load_prompts()
    texts = [" ".join(message.content for message in prompt.messages) for prompt in prompts]
    assert len(prompts) >= 200
    assert len(set(texts)) == len(texts)
    assert sum(len(prompt.messages) > 1 for prompt in prompts) >= 15
    assert sum("```" in text for text in texts) >= 8
    assert sum(not text.isascii() for text in texts) >= 40
