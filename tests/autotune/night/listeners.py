"""A webhook's other end: a local HTTP server that keeps what it is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Listener:
    """Keeps the bodies of all posts.

    Attributes:
        url: Its address.
        bodies: What was posted, in order.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.bodies: list[dict[str, Any]] = []


@contextmanager
def listening(answer: Callable[[int], int] = lambda count: 200) -> Iterator[Listener]:
    """Listen; ``answer`` gives the status of the n-th post, counted from 1."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            listener.bodies.append(json.loads(body))
            self.send_response(answer(len(listener.bodies)))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener = Listener(f"http://127.0.0.1:{server.server_port}/hook")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield listener
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
