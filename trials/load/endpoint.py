"""Where the server under test listens, and how a request to it is written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Endpoint:
    """An SGLang server's base address."""

    host: str
    port: int
    tls: bool = False
    prefix: str = ""
    api_key: str | None = None

    @classmethod
    def parse(cls, url: str, api_key: str | None = None) -> Endpoint:
        """Read an address such as ``http://127.0.0.1:30000``.

        Raises:
            ValueError: If it is no http or https address.
        """
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            port = parts.port
        except ValueError:
            raise _no_address(url) from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise _no_address(url)
        tls = parts.scheme == "https"
        prefix = parts.path.rstrip("/").removesuffix("/v1")
        return cls(parts.hostname, port or (443 if tls else 80), tls, prefix, api_key)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{self.prefix}"

    def request_bytes(self, path: str, payload: Any = None, method: str = "POST") -> bytes:
        """A whole HTTP/1.1 request, ready to be written to a connection of its own."""
        body = b"" if payload is None else json.dumps(payload).encode()
        headers = {
            "Host": f"{self.host}:{self.port}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
        }
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{method} {self.prefix}{path} HTTP/1.1\r\n{head}\r\n".encode() + body


def _no_address(url: str) -> ValueError:
    example = "http://127.0.0.1:30000, with a port from 1 to 65535"
    return ValueError(f"{url!r} is no server address; write one like {example}")
