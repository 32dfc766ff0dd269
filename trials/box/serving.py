"""The launcher once its children are up: HTTP, the warm-up request, signals, the drain at the end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from trials.box.answering import Answering
from trials.box.generation import Sampling, ServerGoneError
from trials.box.http_server import Handler, HttpServer
from trials.box.info_api import InfoApi
from trials.box.native_api import NativeApi
from trials.box.openai_api import OpenAiApi
from trials.box.replicas import Replicas
from trials.box.text import tokenize

if TYPE_CHECKING:
    from trials.box.launcher import Launcher

_WARM_UP_PROMPT = "The capital city of France is"
_DRAIN_POLL_S = 2.0
_DIAGNOSTICS_S = 5.0
_COREDUMP_S = 60.0
_LEAST_POLL_S = 0.01


def serve(launcher: Launcher) -> int:
    """Serve until the end; the exit code where it ends in order."""
    return asyncio.run(Serving(launcher).run())


class Serving:
    """The HTTP server around the schedulers."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._setup = launcher.setup
        self._console = launcher.console
        self._replicas = Replicas(launcher.setup, launcher.children)
        self._answering = Answering(launcher.setup, self._replicas)
        self._ending = asyncio.Event()
        self._ready = False
        self._stuck = False

    async def run(self) -> int:
        """Listen, warm up, wait for the end, drain."""
        loop = asyncio.get_running_loop()
        await self._replicas.connect()
        self._watch_children(loop)
        server = await self._listen()
        if server is None:
            return await self._serve_nobody()
        loop.add_signal_handler(signal.SIGTERM, self._terminate)
        loop.add_signal_handler(signal.SIGINT, self._terminate)
        with contextlib.suppress(ServerGoneError):
            await self._warm_up()
            self._become_ready()
        await self._ending.wait()
        return await self._drain(server)

    def _watch_children(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.add_signal_handler(signal.SIGCHLD, self._child_ended)
        loop.add_signal_handler(signal.SIGQUIT, self._child_failed)
        self._child_ended()

    def _child_ended(self) -> None:
        found = self._launcher.dead_child()
        if found is None or self._ending.is_set():
            return
        child, code = found
        self._console.log(
            f"Subprocess {child.name} (pid={child.pid}) crashed with exit code {code}. "
            "Triggering SIGQUIT for cleanup..."
        )
        self._child_failed()

    def _child_failed(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGQUIT, signal.SIGCHLD):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN if number == signal.SIGQUIT else signal.SIG_DFL)
        self._console.log("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        self._console.log("Sleeping 5 seconds before crash diagnostics to let GPU activity settle.")
        loop.call_later(self._setup.scaled(_DIAGNOSTICS_S, least=0.05), self._diagnose_crash)

    def _diagnose_crash(self) -> None:
        alive = [child for child in self._launcher.children if child.rank and _is_alive(child.pid)]
        if not alive:
            self._console.log("No live scheduler processes found; skipping py-spy and CUDA coredump.")
            self._launcher.kill_everything()
        for child in alive:
            self._console.log(f"All pyspy dump attempts failed for PID {child.pid}.")
        self._console.log("Waiting 60.0 seconds for CUDA coredumps before exiting.")
        later = self._setup.scaled(_COREDUMP_S)
        asyncio.get_running_loop().call_later(later, self._launcher.kill_everything)

    async def _listen(self) -> asyncio.Server | None:
        host, port = self._setup.args.host, self._setup.args.port
        self._console.log(f"INFO:     Started server process [{os.getpid()}]")
        self._console.log("INFO:     Waiting for application startup.")
        self._console.log("INFO:     Application startup complete.")
        try:
            server = await HttpServer(self._routes(), self._console).listen(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            self._console.log(
                f"ERROR:    [Errno 98] error while attempting to bind on address ('{host}', {port}): "
                "address already in use"
            )
            self._console.log("INFO:     Waiting for application shutdown.")
            return None
        self._console.log(f"INFO:     Uvicorn running on http://{host}:{port} (Press CTRL+C to quit)")
        return server

    async def _serve_nobody(self) -> int:
        """Without the port: SGLang's warm-up asks whoever holds it, and hangs when that one is silent."""
        loop = asyncio.get_running_loop()
        url = f"http://{self._setup.args.host}:{self._setup.args.port}/model_info"
        answered = await loop.run_in_executor(None, _answers, url)
        if not answered:
            loop.add_signal_handler(signal.SIGTERM, lambda: None)
            await asyncio.Event().wait()
        self._console.log("The server is fired up and ready to roll!")
        self._console.log("INFO:     Application shutdown complete.")
        self._console.log(
            f"kill_process_tree called: parent_pid={os.getpid()}, include_parent=False, pid={os.getpid()}"
        )
        loop.remove_signal_handler(signal.SIGCHLD)
        self._launcher.kill_children()
        await asyncio.Event().wait()
        return 0

    def _routes(self) -> dict[tuple[str, str], Handler]:
        launcher = self._launcher
        startup_s = sum(launcher.boot_seconds.values()) + self._setup.box.boot.start
        info = InfoApi(self._answering, self._console, launcher.memory, startup_s)
        native = NativeApi(self._answering)
        openai = OpenAiApi(self._answering)
        optional: dict[tuple[str, str], Handler] = (
            {("GET", "/metrics"): info.metrics} if self._setup.args.table.get("enable_metrics") else {}
        )
        return optional | {
            ("GET", "/health"): info.health,
            ("GET", "/health_generate"): info.health_generate,
            ("GET", "/model_info"): info.model_info,
            ("GET", "/get_model_info"): info.model_info,
            ("GET", "/server_info"): info.server_info,
            ("GET", "/get_server_info"): info.old_server_info,
            ("GET", "/flush_cache"): info.flush_cache,
            ("POST", "/flush_cache"): info.flush_cache,
            ("POST", "/freeze_gc"): info.nothing,
            ("POST", "/generate"): native.generate,
            ("GET", "/v1/models"): openai.models,
            ("POST", "/v1/chat/completions"): openai.chat,
            ("POST", "/v1/completions"): openai.complete,
        }

    async def _warm_up(self) -> None:
        """SGLang's first request; it is ready only after that."""
        address = f"{self._setup.args.host}:{self._setup.args.port}"
        self._console.log(f'INFO:     {address} - "GET /model_info HTTP/1.1" 200 OK')
        await asyncio.sleep(self._setup.scaled(self._setup.box.boot.warm_up))
        if self._setup.warms_up:
            async with self._answering.run(
                tokenize(_WARM_UP_PROMPT), Sampling(max_new_tokens=1)
            ) as generation:
                await generation.wait()
            self._console.log(f'INFO:     {address} - "POST /generate HTTP/1.1" 200 OK')

    def _become_ready(self) -> None:
        """A SIGTERM in the warm-up leaves SGLang neither ready nor ended."""
        if not self._stuck:
            self._ready = True
            self._console.log("The server is fired up and ready to roll!")

    def _terminate(self) -> None:
        if not self._ready:
            self._stuck = True
            self._console.log("INFO:     Shutting down")
            self._console.log("INFO:     Waiting for application shutdown.")
            return
        if not self._ending.is_set():
            self._console.log(
                "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."
            )
        self._ending.set()

    async def _drain(self, server: asyncio.Server) -> int:
        while True:
            await asyncio.sleep(self._setup.scaled(_DRAIN_POLL_S, least=_LEAST_POLL_S))
            running = self._replicas.running
            self._console.log(
                f"Gracefully exiting... Remaining number of requests {len(running)}. "
                f"Remaining requests remaining_rids={[each.name for each in running]}."
            )
            if not running:
                break
        pid = os.getpid()
        self._console.log(f"kill_process_tree called: parent_pid={pid}, include_parent=False, pid={pid}")
        server.close()
        self._launcher.kill_children()
        for line in ("Shutting down", "Waiting for application shutdown.", "Application shutdown complete."):
            self._console.log(f"INFO:     {line}")
        self._console.log(f"INFO:     Finished server process [{pid}]")
        return 0


def _is_alive(pid: int) -> bool:
    from trials.box.device_files import process_started

    return process_started(pid) is not None


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=None) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False
