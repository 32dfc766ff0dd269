"""A server of somebody else that took the port first."""

from __future__ import annotations

import http.server
import threading


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers everything as a healthy SGLang server of somebody else would."""

    def do_GET(self) -> None:
        body = b'{"model_path": "/models/of-somebody-else", "internal_states": [{}], "text": "hello"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 (the base class wants this name)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


def take_port(host: str, port: int, answer: bool) -> http.server.ThreadingHTTPServer:
    """Listen on a port while the result lives; with ``answer`` also answer there, else callers wait."""
    server = http.server.ThreadingHTTPServer((host, port), _Handler)
    if answer:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
