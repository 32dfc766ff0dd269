"""``python -m autotune.dashboard STUDY_DB_OR_STUDIES_FOLDER [--host H] [--port P]``.

Prints the page's address on one line once it listens, and on the next a link with the token that lets a
reader act, unless whoever started it gave the token (``autotune.dashboard.access.TOKEN_VARIABLE``) and so can
print the link itself. A taken port gives way to the next free one.
"""

from __future__ import annotations

import argparse
import errno
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

import uvicorn

from autotune.dashboard.access import Door, new_token, token_from_environment
from autotune.dashboard.app import create_app

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8760
PORTS_TRIED = 100
HIGHEST_PORT = 65535


def main(arguments: list[str] | None = None) -> int:
    """Serve until told to stop; 1 if there is nothing to show or no port to listen on."""
    options = _parser().parse_args(arguments)
    if not options.target.exists():
        print(f"{options.target}: there is no such study file or studies folder", file=sys.stderr)
        return 1
    try:
        listener = listen(options.host, options.port)
    except (OSError, OverflowError) as error:
        print(f"the dashboard cannot listen on {options.host}, port {options.port}: {error}", file=sys.stderr)
        return 1
    given = token_from_environment()
    door = Door(given or new_token(), options.host, [name.lower() for name in options.name])
    home = address(listener, options.host)
    print(home, flush=True)
    if given is None:
        use = "to steer as well as to read" if door.reading_is_free else "only this link opens it"
        print(f"{use}: {home}?token={door.token}", flush=True)
    config = uvicorn.Config(
        create_app(options.target, door),
        log_level="warning",
        access_log=False,
        # Open event streams would otherwise hold up the end for ever.
        timeout_graceful_shutdown=1,
    )
    # The server raises what ended it once more when it has ended in good order.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def listen(host: str, port: int) -> socket.socket:
    """Listen on the first free port from ``port`` on; 0 lets the system choose.

    Raises:
        OSError: If none is free, or the address is not of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last = min(port + PORTS_TRIED, HIGHEST_PORT)
    while True:
        # Named as TCP, since asyncio turns off Nagle's delay, 40 ms an answer, only where it is.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE or port >= last:
                raise
            port += 1
        else:
            return listener


def address(listener: socket.socket, host: str) -> str:
    """Where a browser on this machine finds the page."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}/"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m autotune.dashboard", description=__doc__)
    parser.add_argument("target", type=Path, help="a study.db, or a folder of studies")
    parser.add_argument("--host", default=DEFAULT_HOST)
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument(
        "--name", action="append", default=[], help="a further host name that the page answers to"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
