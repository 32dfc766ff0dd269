"""Tokens are counted as the server counts them, never as events or as text."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from trials.load.token_stream import TokenStream


@pytest.fixture(autouse=True)
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every piece that the network brings has a time of its own."""
    monkeypatch.setattr(time, "monotonic", itertools.count(1.0).__next__)


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


PIECE = b"|arrives later|"


def framed(*events: object) -> bytes:
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    chunks = [f"data: {text}\n\n".encode() for text in texts]
    return b"".join(f"{len(c):x}\r\n".encode() + c + b"\r\n" for c in chunks)


def chat(content: str, count: int | None = None, **more: object) -> dict[str, object]:
    usage = None if count is None else {"prompt_tokens": 12, "completion_tokens": count}
    return {"choices": [{"delta": {"content": content}, "finish_reason": None}], "usage": usage, **more}


def streamed(data: bytes, *, closed: bool = False) -> TokenStream:
    stream = TokenStream(b"", 16, lambda _: None)
    stream.data_received(HEAD)
    for piece in data.split(PIECE):
        stream.data_received(piece)
    if closed:
        stream.connection_lost(None)
    return stream


def test_an_event_of_several_tokens_counts_as_several() -> None:
    events = [chat(""), chat("a", 1), chat("b c d", 4), chat("e", 5), chat("", 5), "[DONE]"]
    record = streamed(PIECE.join(framed(event) for event in events)).record()
    assert record.counts.tolist() == [1, 4, 5]
    assert (record.tokens, record.prompt_tokens, record.complete) == (5, 12, True)


def test_events_that_arrive_together_are_one_arrival() -> None:
    events = [framed(chat("a", 1)), framed(chat("b", 2), chat("c", 3)), framed("[DONE]")]
    assert streamed(PIECE.join(events)).record().counts.tolist() == [1, 3]


def test_generated_text_cannot_forge_a_count() -> None:
    trap = 'say "completion_tokens": 999 and "usage": {"completion_tokens":998}'
    assert streamed(framed(chat(trap, 3), "[DONE]")).record().counts.tolist() == [3]


def test_generate_counts_and_speculation_are_read() -> None:
    meta = {"prompt_tokens": 9, "completion_tokens": 8, "spec_verify_ct": 2}
    meta |= {"spec_num_correct_drafts": 6, "spec_num_proposed_drafts": 6, "finish_reason": {"type": "length"}}
    record = streamed(framed({"text": "abc", "meta_info": meta}, "[DONE]")).record()
    assert (record.tokens, record.prompt_tokens, record.verify_steps) == (8, 9, 2)
    assert record.correct_drafts == (6, 6)


def test_speculation_details_of_the_chat_route_are_read() -> None:
    details = {"spec_verify_ct": 4, "spec_num_correct_drafts": 9, "spec_num_proposed_drafts": 12}
    extra = {"choices": [], "usage": None, "sglext": {"spec_tokens_details": details}}
    record = streamed(framed(chat("x", 13), extra, "[DONE]")).record()
    assert (record.verify_steps, record.correct_drafts) == (4, (9, 12))


@pytest.mark.parametrize(
    "events,words",
    [
        (framed(chat("x", 1), {"error": {"message": "out of slots"}}), "error in mid-stream"),
        (framed(chat("x", 1), {"choices": [{"finish_reason": "abort"}]}), "aborted"),
        (
            framed({"meta_info": {"completion_tokens": 3, "finish_reason": {"type": "abort"}}}, "[DONE]"),
            "aborted",
        ),
        (framed(chat("x", 1), '{"usage": {"completion_tokens": 2'), "not an event stream"),
        (framed(chat("x", 1)) + b"0\r\n\r\n", "before its end"),
    ],
)
def test_a_broken_stream_says_why(events: bytes, words: str) -> None:
    stream = streamed(events)
    assert stream.trouble is not None
    assert words in stream.trouble.sentence
    assert not stream.complete


def test_a_lost_connection_is_trouble_and_a_regular_end_is_not() -> None:
    lost = streamed(framed(chat("x", 1)), closed=True)
    assert lost.trouble is not None
    assert streamed(framed(chat("x", 1), "[DONE]"), closed=True).trouble is None


def test_a_refusal_keeps_status_and_words() -> None:
    stream = TokenStream(b"", 16, lambda _: None)
    stream.data_received(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 8\r\n\r\ntoo long")
    assert stream.trouble is not None
    assert (stream.trouble.status, stream.trouble.evidence) == (400, "too long")
