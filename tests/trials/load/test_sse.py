"""Responses and events are read the same however the network cuts them."""

from __future__ import annotations

import pytest

from trials.load.sse import EventSplitter, MalformedResponseError, ResponseBody

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}".encode() + b"\r\n" + data + b"\r\n"


def events_of(pieces: list[bytes]) -> list[bytes]:
    body, events = ResponseBody(), EventSplitter()
    found = [event for piece in pieces for event in events.feed(body.feed(piece))]
    assert body.ended
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 10_000])
def test_any_cut_gives_the_same_events(size: int) -> None:
    whole = HEAD + chunk(b'data: {"a": 1}\n\n') + chunk(b'data: {"b": "\xc3\xa9"}\n\ndata: [DO')
    whole += chunk(b"NE]\n\n") + b"0\r\n\r\n"
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    assert events_of(pieces) == [b'{"a": 1}', b'{"b": "\xc3\xa9"}', b"[DONE]"]


def test_a_chunk_extension_and_an_upper_case_size_are_read() -> None:
    data = b"data: " + b"x" * 4 + b"\n\n"
    assert events_of([HEAD + b"C;note=1\r\n" + data + b"\r\n0\r\n\r\n"]) == [b"xxxx"]


def test_comments_names_and_carriage_returns_are_no_data() -> None:
    body = b": keep-alive\n\nevent: note\r\ndata: one\r\n\r\ndata: two\ndata: lines\n\nid: 7\n\n"
    assert EventSplitter().feed(body) == [b"one", b"two\nlines"]


def test_a_counted_body_ends_with_its_length() -> None:
    body = ResponseBody()
    assert body.feed(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 5\r\n\r\nhel") == b"hel"
    assert (body.status, body.ended) == (400, False)
    assert body.feed(b"lo") == b"lo"
    assert body.ended


def test_an_empty_counted_body_has_ended() -> None:
    body = ResponseBody()
    body.feed(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")
    assert body.ended


def test_a_body_without_length_ends_with_the_connection() -> None:
    body = ResponseBody()
    assert body.feed(b"HTTP/1.0 200 OK\r\n\r\nall that comes") == b"all that comes"
    assert not body.framed
    assert not body.ended


@pytest.mark.parametrize(
    "data",
    [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 OK\r\n\r\n", HEAD + b"zz\r\nhello\r\n"],
    ids=["another protocol", "no status", "no chunk size"],
)
def test_what_is_no_response_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedResponseError):
        ResponseBody().feed(data)


def test_what_is_no_event_is_refused() -> None:
    with pytest.raises(MalformedResponseError, match="Internal Server Error"):
        EventSplitter().feed(b"Internal Server Error\n\n")
