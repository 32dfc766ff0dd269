"""ServerProcess.stop: whatever a server's processes do, none is left, and nobody else is touched."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from trials.gpus import GpuProcess
from trials.process_table import OsProcess, look_up
from trials.stopping import StopPolicy

pytestmark = pytest.mark.slow

SLEEP = "import time; time.sleep(60)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); {SLEEP}"
ENDLESS = StopPolicy(grace_s=60, settle_s=60, release_s=60, poll_s=0.02)


def deaf_server(launch: Any) -> Any:
    server = launch(DEAF)
    launch.wait_until_it_says("deaf")
    return server


def test_polite_server_may_clean_up(launch: Any) -> None:
    server = launch(
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *a: (print('bye'), sys.exit(0)));"
        f"print('up', flush=True); {SLEEP}"
    )
    launch.wait_until_it_says("up")
    proof = launch.stop(server, policy=StopPolicy(settle_s=0.05))
    assert (proof.proven, proof.exit_code, proof.left_behind) == (True, 0, "")
    assert "bye" in launch.log.read_text()


def test_deaf_server_is_killed(launch: Any) -> None:
    server = deaf_server(launch)
    proof = launch.stop(server)
    assert (proof.proven, proof.exit_code) == (True, -9)
    assert not launch.lives(server.pid)


def test_server_that_was_paused_is_killed(launch: Any) -> None:
    server = launch(SLEEP)
    os.kill(server.pid, signal.SIGSTOP)
    assert launch.stop(server).proven
    assert not launch.lives(server.pid)


def test_second_stop_changes_nothing(launch: Any) -> None:
    server = launch(SLEEP)
    first, second = launch.stop(server), launch.stop(server)
    assert (first.proven, first.exit_code) == (second.proven, second.exit_code) == (True, -15)


# In a hurry.


def test_now_does_not_ask_first(launch: Any) -> None:
    server = launch(
        "import signal, time; signal.signal(signal.SIGTERM, lambda *a: print('asked', flush=True));"
        "print('up', flush=True)\nwhile True: time.sleep(60)"
    )
    launch.wait_until_it_says("up")
    proof = launch.stop(server, policy=ENDLESS, now=True)
    assert (proof.proven, proof.exit_code) == (True, -9)
    assert "asked" not in launch.log.read_text()


def test_hurry_in_the_middle_ends_the_grace(launch: Any) -> None:
    server = deaf_server(launch)
    hurry = threading.Event()
    threading.Timer(0.2, hurry.set).start()
    assert launch.stop(server, policy=ENDLESS, hurry=hurry).proven
    assert not launch.lives(server.pid)


def test_interrupted_stop_leaves_no_orphan(launch: Any) -> None:
    class Interrupt:
        def is_set(self) -> bool:
            raise KeyboardInterrupt

    server = deaf_server(launch)
    with pytest.raises(KeyboardInterrupt):
        launch.stop(server, policy=ENDLESS, hurry=Interrupt())
    launch.wait_for(lambda: not launch.lives(server.pid))


# Processes that spread.


def test_orphans_in_the_session_of_a_dead_launcher_are_killed(launch: Any) -> None:
    server = launch(f"import os\nif os.fork() == 0: exec({DEAF!r})")
    launch.wait_until_it_says("deaf")
    assert launch.exit_code(server) == 0
    (orphan,) = [p for p in server._family.living() if p.pid != server.pid]
    assert orphan.parent != server.pid
    proof = launch.stop(server)
    assert (proof.proven, proof.exit_code) == (True, 0)
    assert not launch.lives(orphan.pid)


def test_daemon_that_left_the_session_is_found_by_its_mark(launch: Any) -> None:
    server = launch.daemon()
    pid = launch.daemon_pid()
    assert launch.exit_code(server) == 0
    assert os.getsid(pid) != server.session
    assert launch.stop(server).proven
    assert not launch.lives(pid)


def test_daemon_that_loses_session_and_mark_is_remembered(launch: Any) -> None:
    server = launch.daemon(
        "while not os.path.exists('go'): time.sleep(0.01)\nos.execve('/bin/sleep', ['sleep', '60'], {})"
    )
    pid = launch.daemon_pid()
    server.owns_port(1)
    (launch.folder / "go").write_text("")
    launch.wait_for(lambda: look_up(pid).mark is None)  # type: ignore[union-attr]
    assert launch.stop(server).proven
    assert not launch.lives(pid)


def test_children_that_are_born_during_the_stop_are_killed(launch: Any) -> None:
    breed = "while True:\n    if os.fork() == 0: time.sleep(60)\n    time.sleep(0.03)"
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    server = launch(f"import os, signal, time; {ignore}; print('up', flush=True)\n{breed}")
    launch.wait_until_it_says("up")
    assert launch.stop(server, policy=StopPolicy(grace_s=0.5, settle_s=0.05, poll_s=0.02)).proven
    assert server._family.living() == []


def test_zombie_children_do_not_hold_up_the_proof(launch: Any) -> None:
    server = launch(f"import os\nif os.fork() == 0: os._exit(3)\nprint('up', flush=True); {SLEEP}")
    launch.wait_until_it_says("up")
    assert launch.stop(server).proven


def test_process_whose_first_thread_has_ended_still_lives(launch: Any) -> None:
    server = launch(
        "import ctypes, signal, threading, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "threading.Thread(target=time.sleep, args=(60,)).start(); print('up', flush=True);"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    launch.wait_until_it_says("up")
    launch.wait_for(lambda: Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    assert server.poll() is None
    assert launch.lives(server.pid)
    assert launch.stop(server).proven
    assert not launch.lives(server.pid)


def run_runner(launch: Any, program: str) -> str:
    """What a program prints that is itself a runner, in a process that bears the mark."""
    preamble = (
        "import ctypes, os, subprocess, sys; from pathlib import Path; from trials.command import Command;"
        "from trials.no_gpus import NoGpus; from trials.server import ServerProcess;"
        "from trials.process_table import snapshot;"
        "mark, sleep, log = os.environ['AUTOTUNE_MARK'], ('/bin/sleep', '60'), Path('runner-server.log');"
    )
    run = subprocess.run(
        [sys.executable, "-c", preamble + program],
        env={**os.environ, "AUTOTUNE_MARK": launch.mark},
        cwd=launch.folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def test_zombies_that_are_handed_to_the_runner_are_fetched(launch: Any) -> None:
    # What happens to a runner that is the first process of a container: orphans become its children.
    become_their_parent = "ctypes.CDLL(None).prctl(36, 1);"
    server = "('/bin/sh', '-c', 'sleep 60 & sleep 60 & echo; exit 0')"
    said = run_runner(
        launch,
        f"{become_their_parent} server = ServerProcess.start(Command({server}), log_path=log, mark=mark);"
        "server._child.wait(); print(len(server._family.living()), server.stop(NoGpus(), {}).proven);"
        "print([p for p in snapshot().values() if p.parent == os.getpid()])",
    )
    assert said == "2 True\n[]\n"


# Processes that are not ours.


def test_foreign_processes_are_never_signalled(launch: Any) -> None:
    server = launch(SLEEP)
    environments = [{}, {"AUTOTUNE_MARK": f"{launch.mark}1"}, {"NOT_AUTOTUNE_MARK": launch.mark}]
    strangers = [
        subprocess.Popen([sys.executable, "-S", "-c", SLEEP, launch.mark], env=env, start_new_session=new)
        for env in environments
        for new in (False, True)
    ]
    try:
        assert launch.stop(server).proven
        assert [stranger.poll() for stranger in strangers] == [None] * len(strangers)
    finally:
        for stranger in strangers:
            stranger.kill()
            stranger.wait()


def test_runner_that_bears_the_mark_itself_is_spared_and_so_are_its_other_children(launch: Any) -> None:
    said = run_runner(
        launch,
        "other = subprocess.Popen(sleep, env={}, start_new_session=True);"
        "server = ServerProcess.start(Command(sleep), log_path=log, mark=mark);"
        "print(server.stop(NoGpus(), {}).proven, other.poll()); other.kill()",
    )
    assert said == "True None\n"


def test_pid_that_was_given_to_another_is_not_signalled(launch: Any) -> None:
    server = launch(SLEEP)
    now = look_up(server.pid)
    assert now is not None
    earlier = OsProcess(now.pid, now.parent, now.session, now.started - 1, dead=False)
    earlier.send(signal.SIGKILL)
    time.sleep(0.05)
    assert server.poll() is None
    now.send(signal.SIGKILL)
    assert launch.exit_code(server) == -9


# Ports.


def test_socket_that_lives_on_elsewhere_is_named(launch: Any) -> None:
    # The server hands its listening socket to a process that is not of its family: this one.
    path = str(launch.folder / "handover")
    with socket.socket(socket.AF_UNIX) as meeting:
        meeting.bind(path)
        meeting.listen()
        server = launch(
            "import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.socket(socket.AF_UNIX);"
            f"c.connect({path!r}); socket.send_fds(c, [b'x'], [s.fileno()]); {SLEEP}"
        )
        connection, _ = meeting.accept()
        with connection:
            _, (descriptor,), _, _ = socket.recv_fds(connection, 1, 1)
    with socket.socket(fileno=descriptor) as handed_over:
        port = handed_over.getsockname()[1]
        proof = launch.stop(server, policy=launch.brief)
    assert not proof.proven
    assert proof.left_behind.startswith(f"Port {port} is still open: find its holder with `ss -ltnp`")


def test_port_that_a_stranger_held_all_along_does_not_spoil_the_proof(launch: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        server = launch(SLEEP)
        assert not server.owns_port(stranger.getsockname()[1])
        assert launch.stop(server).proven


# A container.


def test_container_is_asked_about_the_port_and_removed(launch: Any) -> None:
    calls = []

    class Container:
        def owns_port(self, port: int) -> bool:
            return port == 30_000

        def remove(self) -> None:
            calls.append("removed")

    server = launch(SLEEP, Container())
    assert server.owns_port(30_000)
    assert not server.owns_port(30_001)
    assert launch.stop(server).proven
    assert calls == ["removed"]


# A process that nothing ends.


def test_process_that_survives_is_named_with_what_it_holds(
    launch: Any, probe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = launch(SLEEP)
    probe.holders = [GpuProcess(3, server.pid, 20_480, None)]
    # No user can make a process that survives SIGKILL, so the signal is lost on its way.
    with monkeypatch.context() as patch:
        patch.setattr(OsProcess, "send", lambda self, number: None)
        proof = launch.stop(server, policy=launch.brief)
    assert (proof.proven, proof.exit_code) == (False, None)
    assert proof.left_behind.startswith(f"Process {server.pid} (")
    assert "still runs after SIGKILL, holding 20,480 MiB on GPU 3: run `kill -9" in proof.left_behind
