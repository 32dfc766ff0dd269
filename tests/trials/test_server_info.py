"""Reading what a running server says about itself, in the wording of several releases."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from trials.outcome import BootReport
from trials.server_info import ServerInfo, complete_report, parse_server_info, read_server_info

_CURRENT: dict[str, Any] = {
    "version": "0.5.23",
    "tp_size": 8,
    "internal_states": [
        {
            "effective_max_running_requests_per_dp": 48,
            "memory_usage": {
                "weight": 71.2,
                "kvcache": 9.5,
                "startup_available": 6.25,
                "token_capacity": 220000,
                "graph": {"decode": 1.5, "target_verify": 0.5},
            },
        }
    ],
}
_OLDER: dict[str, Any] = {
    "version": "0.5.9",
    "internal_states": [
        {"memory_usage": {"weight": 71.2, "kvcache": 9.5, "token_capacity": 1, "graph": 2.0}}
    ],
}


def test_current_release() -> None:
    info = parse_server_info(_CURRENT)
    assert info.version == "0.5.23"
    assert info.args["tp_size"] == 8
    assert info.max_running_requests == 48
    assert info.memory == {
        "weights_gib": 71.2,
        "kv_gib": 9.5,
        "kv_tokens": 220000,
        "left_gib": 6.25,
        "graphs_gib": 2.0,
    }


def test_graph_memory_as_one_number() -> None:
    assert parse_server_info(_OLDER).memory["graphs_gib"] == 2.0


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"internal_states": []},
        {"internal_states": [None]},
        {"internal_states": {"a": 1}},
        {"internal_states": [{"memory_usage": [1]}]},
        {"internal_states": [{"memory_usage": {"weight": "much", "token_capacity": [], "graph": "x"}}]},
    ],
)
def test_nothing_said_is_nothing_known(answer: dict[str, Any]) -> None:
    info = parse_server_info(answer)
    assert info.memory == {}
    assert info.version is None


def test_the_log_is_believed_before_the_server() -> None:
    report = complete_report(BootReport(weights_gib=70.0, boot_s=3.0), parse_server_info(_CURRENT))
    assert report.weights_gib == 70.0
    assert report.kv_tokens == 220000
    assert report.boot_s == 3.0


def test_no_server_gives_an_empty_answer() -> None:
    assert read_server_info("http://127.0.0.1:9", timeout_s=1).args == {}


@contextmanager
def answering(body: bytes, *, drips: bool = False) -> Iterator[str]:
    """A server that gives every request the same body, or a space every 50 ms before it, for ever."""
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
                while drips and not over.wait(0.05):
                    try:
                        connection.sendall(b" ")
                    except OSError:
                        break
                else:
                    connection.sendall(body)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.1)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            thread.join(10)


@pytest.mark.parametrize("body", [b"[1, 2, 3]", b"7", b"null", b'"words"', b"<html>"])
def test_what_is_no_json_object_says_nothing(body: bytes) -> None:
    with answering(body) as url:
        assert read_server_info(url, timeout_s=5) == ServerInfo()


def test_an_answer_that_never_ends_is_given_up() -> None:
    begun = time.monotonic()
    with answering(b"{}", drips=True) as url:
        assert read_server_info(url, timeout_s=0.5) == ServerInfo()
    assert time.monotonic() - begun < 5
