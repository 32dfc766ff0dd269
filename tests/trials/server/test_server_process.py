"""ServerProcess: how a server is started, watched, and told from others on the same port."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trials.boot_log.wording import STOPS_SERVER
from trials.command import Command
from trials.process_table import look_up
from trials.server import ServerProcess, ServerStartError

SLEEP = "import time; time.sleep(60)"
_NO_PID = 1 << 30


def test_server_has_its_own_session_no_input_our_mark_and_a_log(launch: Any) -> None:
    server = launch(
        "import os, sys; print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()));"
        "print(os.environ['AUTOTUNE_MARK'], os.environ['EXTRA'], file=sys.stderr)",
        EXTRA="yes",
    )
    assert launch.exit_code(server) == 0
    lines = list(server.tail().rest())
    assert lines[0].startswith("# autotune started this server at ")
    assert lines[1:] == ["True ''", f"{launch.mark} yes"]


def test_log_of_an_earlier_boot_is_kept(launch: Any) -> None:
    for _ in range(2):
        assert launch.exit_code(launch("print('hello')")) == 0
    assert launch.log.read_text().count("hello") == 2


@pytest.mark.parametrize(
    ("program", "code"),
    [("raise SystemExit(2)", 2), ("import os; os.kill(os.getpid(), 9)", -9), ("import os; os.abort()", -6)],
)
def test_exit_code_is_seen_without_giving_the_pid_away(launch: Any, program: str, code: int) -> None:
    server = launch(program)
    assert launch.exit_code(server) == code
    assert server.poll() == code
    assert look_up(server.pid) is not None, "the dead launcher must keep its pid until the stop"
    assert launch.stop(server).exit_code == code
    assert look_up(server.pid) is None, "the stop must fetch the exit code"
    assert server.poll() == code


def test_running_server_has_no_exit_code(launch: Any) -> None:
    server = launch(SLEEP)
    assert server.poll() is None
    assert server.session == server.pid == os.getsid(server.pid)


def test_mark_outlives_a_process_that_renames_itself(launch: Any) -> None:
    server = launch("import os; print(os.environ['SPT_NOENV'])")
    assert launch.exit_code(server) == 0
    assert list(server.tail().rest())[-1] == "1"


# What cannot be started at all.


def test_command_that_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ServerStartError, match=r"^the server command '/no/such/python' was not found; write"):
        ServerProcess.start(Command(("/no/such/python",)), log_path=tmp_path / "server.log", mark="m")


def test_command_that_may_not_run_is_one_sentence(tmp_path: Path) -> None:
    script = tmp_path / "serve"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(ServerStartError, match=r"may not be run; make it executable"):
        ServerProcess.start(Command((str(script),)), log_path=tmp_path / "server.log", mark="m")


def test_log_on_a_full_disk_is_said_before_anything_is_started(tmp_path: Path) -> None:
    sign = tmp_path / "started"
    with pytest.raises(ServerStartError, match=r"^the disk is full, the server's log /dev/full cannot be"):
        ServerProcess.start(Command(("/bin/touch", str(sign))), log_path=Path("/dev/full"), mark="m")
    assert not sign.exists()


def test_log_below_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ServerStartError, match=r"cannot be written \(.*\); choose a folder"):
        ServerProcess.start(Command(("/bin/true",)), log_path=tmp_path / "file" / "log", mark="m")


# Whose port it is.

LISTEN = (
    f"import os, socket\ns = socket.create_server((os.environ['HOST'], int(os.environ['PORT'])))\n{SLEEP}"
)


@pytest.fixture
def port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_own_listener_is_recognised(launch: Any, port: int, host: str) -> None:
    server = launch(LISTEN, HOST=host, PORT=str(port))
    launch.wait_for(lambda: server.owns_port(port))
    assert not server.owns_port(port + 1)


def test_listener_of_a_child_in_another_session_is_ours(launch: Any, port: int) -> None:
    child = f"subprocess.Popen([sys.executable, '-S', '-c', {LISTEN!r}], start_new_session=True)"
    server = launch(f"import subprocess, sys; {child}", HOST="127.0.0.1", PORT=str(port))
    assert launch.exit_code(server) == 0
    launch.wait_for(lambda: server.owns_port(port))


def test_port_held_by_a_stranger_is_not_ours(launch: Any) -> None:
    server = launch(SLEEP)
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        assert not server.owns_port(stranger.getsockname()[1])


def test_port_that_a_stranger_shares_with_us_is_not_ours(launch: Any, port: int) -> None:
    reuse = "s = socket.socket(); s.setsockopt(1, socket.SO_REUSEPORT, 1)"
    bind = "s.bind(('127.0.0.1', int(os.environ['PORT']))); s.listen(); print('up', flush=True)"
    program = f"import os, socket; {reuse}; {bind}; {SLEEP}"
    server = launch(program, PORT=str(port))
    launch.wait_for(lambda: server.owns_port(port))
    environment = {"PORT": str(port)}
    with subprocess.Popen([sys.executable, "-S", "-c", program], env=environment, stdout=-1) as stranger:
        assert stranger.stdout is not None
        stranger.stdout.readline()
        shared = server.owns_port(port)
        stranger.kill()
    assert not shared


def test_nobody_listening_is_not_ours(launch: Any, port: int) -> None:
    assert not launch(SLEEP).owns_port(port)


def test_strangers_are_live_processes_of_others(launch: Any) -> None:
    server = launch(f"print('up', flush=True); {SLEEP}")
    launch.wait_until_it_says("up")
    assert server.strangers([server.pid, os.getpid(), _NO_PID]) == {os.getpid()}


def test_log_says_when_the_server_is_being_ended(launch: Any) -> None:
    server = launch(f"print('up', flush=True); {SLEEP}")
    launch.wait_until_it_says("up")
    launch.stop(server)
    assert launch.log.read_text().splitlines()[-1].startswith(STOPS_SERVER)


def test_log_of_a_server_that_ended_by_itself_says_nothing_of_the_kind(launch: Any) -> None:
    server = launch("print('done')")
    launch.exit_code(server)
    launch.stop(server)
    assert STOPS_SERVER not in launch.log.read_text()


def test_kill_spares_no_grace_and_leaves_the_proof_to_the_stop(launch: Any) -> None:
    server = launch(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True);"
        + SLEEP
    )
    launch.wait_until_it_says("deaf")
    server.kill()
    assert launch.exit_code(server) == -9
    assert STOPS_SERVER in launch.log.read_text(), "its end must not be taken for its own"
    assert launch.stop(server).proven
