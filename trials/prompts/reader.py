"""Reads prompts from JSONL: texts, chats or recorded lengths. Errors name the file and the line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

BUILTIN = "builtin"


class PromptFileError(ValueError):
    """The prompts file cannot be used; the sentence names the file, the line and what to write."""


@dataclass(frozen=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """One conversation to be answered.

    Attributes:
        messages: The chat, at least one message; empty where only lengths were recorded.
        prompt_tokens: Recorded length of the prompt: built-in text of that length takes its place.
        output_tokens: Recorded length of the answer, None for the study's own.
    """

    messages: tuple[Message, ...] = ()
    prompt_tokens: int | None = None
    output_tokens: int | None = None


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore")

    output_tokens: Annotated[int, Field(ge=2)] | None = None


class _TextLine(_Line):
    prompt: Annotated[str, Field(min_length=1)]


class _ChatMessage(BaseModel):
    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "user", "assistant"]
    content: str


class _ChatLine(_Line):
    messages: Annotated[list[_ChatMessage], Field(min_length=1)]


class _LengthLine(_Line):
    prompt_tokens: Annotated[int, Field(ge=1)]
    output_tokens: Annotated[int, Field(ge=2)]


_AnyLine: TypeAlias = _TextLine | _ChatLine | _LengthLine

_SHAPES: dict[str, type[_AnyLine]] = {
    "prompt": _TextLine,
    "messages": _ChatLine,
    "prompt_tokens": _LengthLine,
}
_EXPECTED = '{"prompt": ...}, {"messages": [...]} or {"prompt_tokens": N, "output_tokens": N}'


def load_prompts(source: str = BUILTIN, base: Path = Path()) -> tuple[Prompt, ...]:
    """Read the study's prompts: ``builtin``, or the path of a JSONL file (relative to ``base``).

    Raises:
        PromptFileError: If the file is missing, empty, or has a line that is none of the three shapes.
    """
    if source == BUILTIN:
        return _read(resources.files(__package__).joinpath("builtin.jsonl").read_text("utf-8"), BUILTIN)
    path = base / source
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptFileError(f"{path}: cannot be read as prompts ({error})") from None
    return _read(text, str(path))


def _read(text: str, name: str) -> tuple[Prompt, ...]:
    prompts = tuple(
        _prompt(line, f"{name} line {number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    )
    if not prompts:
        raise PromptFileError(f"{name}: no prompts in it; write one {_EXPECTED} a line")
    return prompts


def _prompt(line: str, where: str) -> Prompt:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise PromptFileError(f"{where}: not JSON ({error}); write {_EXPECTED}") from None
    shape = next((s for key, s in _SHAPES.items() if isinstance(value, dict) and key in value), None)
    if shape is None:
        raise PromptFileError(f"{where}: neither a prompt, a chat nor lengths; write {_EXPECTED}")
    try:
        return _as_prompt(shape.model_validate(value))
    except ValidationError as error:
        first: Any = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise PromptFileError(f"{where}: {key}: {first['msg']}; write {_EXPECTED}") from None


def _as_prompt(line: _AnyLine) -> Prompt:
    match line:
        case _TextLine():
            return Prompt((Message("user", line.prompt),), output_tokens=line.output_tokens)
        case _ChatLine():
            messages = tuple(Message(message.role, message.content) for message in line.messages)
            return Prompt(messages, output_tokens=line.output_tokens)
        case _LengthLine():
            return Prompt(prompt_tokens=line.prompt_tokens, output_tokens=line.output_tokens)
