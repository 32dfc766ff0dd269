"""ServerProcess against small programs that misbehave the way servers do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from trials.gpus import GpuCard, GpuProbeError, GpuProcess, GpuSample
from trials.marks import marked_processes, stop_marked
from trials.process_table import OsProcess, look_up
from trials.server import ServerProcess, ServerStartError
from trials.stopping import StopPolicy

QUICK = StopPolicy(grace_s=0.5, orphan_grace_s=0.1, settle_s=0.05, release_s=0.6, hurried_s=0.3, poll_s=0.02)
PATIENT = StopPolicy(grace_s=5.0, orphan_grace_s=0.1, settle_s=0.05, release_s=20.0, poll_s=0.02)
LONG_S = 60


@dataclass
class FakeCommand:
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)


class FakeProbe:
    """One card whose memory the test decides; a call may raise what the test put there."""

    def __init__(self, levels: Callable[[], int] = lambda: 10) -> None:
        self.levels = levels
        self.holders: list[GpuProcess] = []

    def cards(self) -> Sequence[GpuCard]:
        return [GpuCard(0, "Fake", "GPU-0", 1000, None)]

    def sample(self) -> Sequence[GpuSample]:
        return [GpuSample(0, self.levels())]

    def processes(self) -> Sequence[GpuProcess]:
        return self.holders

    def faults(self) -> Sequence[str]:
        return []

    def driver_version(self) -> str | None:
        return None

    def topology(self) -> str | None:
        return None

    def close(self) -> None:
        return None


IDLE = {0: 10}


class Launch:
    """Starts programs as servers and leaves none of them behind, whatever the test does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = f"test-{os.getpid()}-{folder.name}:1:1"
        self._servers: list[ServerProcess] = []

    def __call__(self, program: str, **env: str) -> ServerProcess:
        command = FakeCommand((sys.executable, "-S", "-c", program), env)
        server = ServerProcess.start(command, log_path=self.log, mark=self.mark)  # type: ignore[arg-type]
        self._servers.append(server)
        return server

    @property
    def log(self) -> Path:
        return self.folder / "trial" / "server.log"

    def pid_in(self, name: str) -> int:
        """A pid that the program wrote to a file of this name in its working folder."""
        path = self.folder / name
        wait_for(lambda: path.exists() and path.read_text().endswith("\n"))
        return int(path.read_text())

    def clean(self) -> None:
        for server in self._servers:
            server.stop(FakeProbe(), {}, now=True)
        stop_marked(self.mark, FakeProbe(), {}, policy=QUICK)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    launch = Launch(tmp_path)
    yield launch
    launch.clean()


def wait_for(condition: Callable[[], object], limit_s: float = 20.0) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def lives(pid: int) -> bool:
    process = look_up(pid)
    return process is not None and not process.dead


def exit_code(server: ServerProcess) -> int:
    wait_for(lambda: server.poll() is not None)
    code = server.poll()
    assert code is not None
    return code


SLEEP = f"import time; time.sleep({LONG_S})"
DEAF = f"import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep({LONG_S})"


def announce(folder: Path, name: str) -> str:
    """Program text that writes its pid to a file, in one step."""
    return (
        f"import os, time, signal; p = {str(folder / name)!r}\n"
        "open(p + '.new', 'w').write(f'{os.getpid()}\\n'); os.rename(p + '.new', p)\n"
    )


# --- starting and watching -------------------------------------------------------------------------


def test_server_has_its_own_session_no_input_our_mark_and_a_log(launch: Launch) -> None:
    server = launch(
        "import os, sys; print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()));"
        "print(os.environ['AUTOTUNE_MARK'], os.environ['EXTRA'], file=sys.stderr)",
        EXTRA="yes",
    )
    assert exit_code(server) == 0
    lines = list(server.tail().rest())
    assert lines[0].startswith("# autotune started this server at ")
    assert sorted(lines[1:]) == sorted(["True ''", f"{launch.mark} yes"])


@pytest.mark.parametrize(
    ("program", "code"),
    [("raise SystemExit(2)", 2), ("import os; os.kill(os.getpid(), 9)", -9), ("import os; os.abort()", -6)],
)
def test_exit_code_stays_the_same_before_and_after_the_stop(launch: Launch, program: str, code: int) -> None:
    server = launch(program)
    assert exit_code(server) == code
    assert server.poll() == code
    assert look_up(server.pid) is not None, "the dead launcher must keep its pid until the stop"
    proof = server.stop(FakeProbe(), IDLE, policy=QUICK)
    assert (proof.proven, proof.exit_code, proof.left_behind) == (True, code, "")
    assert look_up(server.pid) is None, "the stop must fetch the exit code"
    assert server.poll() == code


def test_running_server_has_no_exit_code(launch: Launch) -> None:
    server = launch(SLEEP)
    assert server.poll() is None
    assert server.session == server.pid == os.getsid(server.pid)


def test_command_that_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    command = FakeCommand(("/no/such/python",))
    with pytest.raises(ServerStartError, match=r"^the server command '/no/such/python' was not found; write"):
        ServerProcess.start(command, log_path=tmp_path / "server.log", mark="m")  # type: ignore[arg-type]


def test_command_that_may_not_run_is_one_sentence(tmp_path: Path) -> None:
    script = tmp_path / "serve"
    script.write_text("#!/bin/sh\n")
    command = FakeCommand((str(script),))
    with pytest.raises(ServerStartError, match=r"may not be run; make it executable"):
        ServerProcess.start(command, log_path=tmp_path / "server.log", mark="m")  # type: ignore[arg-type]


def test_log_on_a_full_disk_is_said_before_anything_is_started() -> None:
    command = FakeCommand((sys.executable, "-c", "raise SystemExit('must not run')"))
    with pytest.raises(ServerStartError, match=r"^the disk is full, the server's log /dev/full cannot be"):
        ServerProcess.start(command, log_path=Path("/dev/full"), mark="m")  # type: ignore[arg-type]


def test_log_below_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = FakeCommand((sys.executable, "-c", ""))
    with pytest.raises(ServerStartError, match=r"cannot be written \(.*\); choose a folder"):
        ServerProcess.start(command, log_path=tmp_path / "file" / "log", mark="m")  # type: ignore[arg-type]


# --- whose port ------------------------------------------------------------------------------------

LISTEN = "import socket, os, time; s = socket.create_server((HOST, int(os.environ['PORT']))); "


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_own_listener_is_recognised(launch: Launch, port: int, host: str) -> None:
    server = launch(LISTEN.replace("HOST", repr(host)) + f"time.sleep({LONG_S})", PORT=str(port))
    wait_for(lambda: server.owns_port(port))
    assert not server.owns_port(port + 1)


def test_listener_of_a_grandchild_in_another_session_is_ours(launch: Launch, port: int) -> None:
    inner = LISTEN.replace("HOST", "'127.0.0.1'") + f"time.sleep({LONG_S})"
    server = launch(
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', {inner!r}], start_new_session=True)",
        PORT=str(port),
    )
    assert exit_code(server) == 0
    wait_for(lambda: server.owns_port(port))


def test_port_held_by_a_stranger_is_not_ours(launch: Launch) -> None:
    server = launch(SLEEP)
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        assert not server.owns_port(stranger.getsockname()[1])


def test_nobody_listening_is_not_ours(launch: Launch, port: int) -> None:
    assert not launch(SLEEP).owns_port(port)


# --- stopping --------------------------------------------------------------------------------------


def test_polite_server_may_clean_up(launch: Launch) -> None:
    server = launch(
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *a: (print('bye'), sys.exit(0)));"
        f"print('up', flush=True); time.sleep({LONG_S})"
    )
    wait_for(lambda: "up" in launch.log.read_text())
    proof = server.stop(FakeProbe(), IDLE, policy=PATIENT)
    assert (proof.proven, proof.exit_code) == (True, 0)
    assert "bye" in launch.log.read_text()


def test_deaf_server_is_killed(launch: Launch) -> None:
    server = launch(DEAF)
    wait_for(lambda: "deaf" in launch.log.read_text())
    proof = server.stop(FakeProbe(), IDLE, policy=QUICK)
    assert (proof.proven, proof.exit_code) == (True, -9)


def test_stopped_server_is_killed(launch: Launch) -> None:
    server = launch(SLEEP)
    os.kill(server.pid, signal.SIGSTOP)
    assert server.stop(FakeProbe(), IDLE, policy=QUICK).proven
    assert not lives(server.pid)


def test_now_does_not_ask_first(launch: Launch) -> None:
    server = launch(
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *a: (print('asked', flush=True)));"
        f"print('up', flush=True)\nwhile True: time.sleep({LONG_S})"
    )
    wait_for(lambda: "up" in launch.log.read_text())
    proof = server.stop(FakeProbe(), IDLE, policy=PATIENT, now=True)
    assert (proof.proven, proof.exit_code) == (True, -9)
    assert "asked" not in launch.log.read_text()


def test_hurry_ends_the_grace(launch: Launch) -> None:
    server = launch(DEAF)
    wait_for(lambda: "deaf" in launch.log.read_text())
    hurry = threading.Event()
    threading.Timer(0.2, hurry.set).start()
    endless = StopPolicy(grace_s=LONG_S, settle_s=LONG_S, poll_s=0.02)
    assert server.stop(FakeProbe(), IDLE, policy=endless, hurry=hurry).proven
    assert not lives(server.pid)


def test_interrupted_stop_leaves_no_orphan(launch: Launch) -> None:
    server = launch(DEAF)
    wait_for(lambda: "deaf" in launch.log.read_text())

    class Interrupt:
        def is_set(self) -> bool:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        server.stop(FakeProbe(), IDLE, policy=PATIENT, hurry=Interrupt())
    wait_for(lambda: not lives(server.pid))


def test_orphans_of_a_dead_launcher_are_found(launch: Launch) -> None:
    server = launch(
        "import os\n"
        "if os.fork() == 0:\n    "
        + announce(launch.folder, "orphan").replace("\n", "\n    ")
        + "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    )
    orphan = launch.pid_in("orphan")
    assert exit_code(server) == 0
    assert look_up(orphan).parent != server.pid  # type: ignore[union-attr]
    proof = server.stop(FakeProbe(), IDLE, policy=QUICK)
    assert (proof.proven, proof.exit_code) == (True, 0)
    assert not lives(orphan)


DAEMON = """
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        {announce}
        {then}
    os._exit(0)
"""


def daemon(folder: Path, then: str = "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)") -> str:
    return DAEMON.format(announce=announce(folder, "daemon").replace("\n", "\n        "), then=then)


def test_daemon_that_left_the_session_is_found_by_its_mark(launch: Launch) -> None:
    server = launch(daemon(launch.folder))
    pid = launch.pid_in("daemon")
    assert exit_code(server) == 0
    assert os.getsid(pid) != server.session
    assert server.stop(FakeProbe(), IDLE, policy=QUICK).proven
    assert not lives(pid)


def test_daemon_that_loses_session_and_mark_is_remembered(launch: Launch) -> None:
    go = launch.folder / "go"
    strip = (
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
        f"        os.execve('/bin/sleep', ['sleep', '{LONG_S}'], {{}})"
    )
    server = launch(daemon(launch.folder, strip))
    pid = launch.pid_in("daemon")
    server.owns_port(1)
    go.write_text("")
    wait_for(lambda: look_up(pid).mark is None)  # type: ignore[union-attr]
    assert os.getsid(pid) != server.session
    assert server.stop(FakeProbe(), IDLE, policy=QUICK).proven
    assert not lives(pid)


def test_zombie_children_do_not_hold_up_the_proof(launch: Launch) -> None:
    server = launch(
        "import os, time\nif os.fork() == 0: os._exit(3)\nprint('up', flush=True); time.sleep(60)"
    )
    wait_for(lambda: "up" in launch.log.read_text())
    assert server.stop(FakeProbe(), IDLE, policy=PATIENT).proven


def test_foreign_processes_are_never_signalled(launch: Launch) -> None:
    server = launch(SLEEP)
    environments = [{}, {"AUTOTUNE_MARK": launch.mark + "1"}, {"NOT_" + "AUTOTUNE_MARK": launch.mark}]
    strangers = [
        subprocess.Popen([sys.executable, "-S", "-c", SLEEP, launch.mark], env=env, start_new_session=new)
        for env in environments
        for new in (False, True)
    ]
    try:
        assert server.stop(FakeProbe(), IDLE, policy=QUICK).proven
        assert [stranger.poll() for stranger in strangers] == [None] * len(strangers)
    finally:
        for stranger in strangers:
            stranger.kill()
            stranger.wait()


def test_pid_that_was_given_to_another_is_not_signalled(launch: Launch) -> None:
    server = launch(SLEEP)
    now = look_up(server.pid)
    assert now is not None
    OsProcess(now.pid, now.parent, now.session, now.started - 1, dead=False).send(signal.SIGKILL)
    time.sleep(0.05)
    assert server.poll() is None
    now.send(signal.SIGKILL)
    assert exit_code(server) == -9


def test_socket_that_lives_on_elsewhere_is_named(launch: Launch, port: int) -> None:
    # The server hands its listening socket to a process that is not of its family: this one.
    channel, far_end = socket.socketpair()
    os.set_inheritable(far_end.fileno(), True)
    path = launch.folder / "handover"
    with socket.socket(socket.AF_UNIX) as meeting:
        meeting.bind(str(path))
        meeting.listen()
        server = launch(
            LISTEN.replace("HOST", "'127.0.0.1'")
            + f"c = socket.socket(socket.AF_UNIX); c.connect({str(path)!r});"
            + f"socket.send_fds(c, [b'x'], [s.fileno()]); time.sleep({LONG_S})",
            PORT=str(port),
        )
        connection, _ = meeting.accept()
        _, (descriptor,), _, _ = socket.recv_fds(connection, 1, 1)
    channel.close()
    far_end.close()
    connection.close()
    proof = server.stop(FakeProbe(), IDLE, policy=QUICK)
    os.close(descriptor)
    assert not proof.proven
    assert proof.left_behind.startswith(f"Port {port} is still open: find its holder with `ss -ltnp`")


def test_port_that_a_stranger_held_all_along_does_not_spoil_the_proof(launch: Launch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        server = launch(SLEEP)
        assert not server.owns_port(stranger.getsockname()[1])
        assert server.stop(FakeProbe(), IDLE, policy=QUICK).proven


# --- memory ----------------------------------------------------------------------------------------


def test_memory_that_comes_back_late_is_waited_for(launch: Launch) -> None:
    server = launch(SLEEP)
    levels = iter([900, 900, 900])
    probe = FakeProbe(lambda: next(levels, 10 + 512))
    assert server.stop(probe, IDLE, policy=QUICK).proven
    assert next(levels, None) is None


def test_memory_must_stay_back_for_the_whole_settling_time(launch: Launch) -> None:
    server = launch(SLEEP)
    seen: list[float] = []
    high = {3, 6}

    def level() -> int:
        seen.append(time.monotonic())
        return 900 if len(seen) in high else 10

    assert server.stop(FakeProbe(level), IDLE, policy=StopPolicy(grace_s=1, settle_s=0.3, poll_s=0.05)).proven
    assert seen[-1] - seen[max(high) - 1] >= 0.3


def test_memory_that_never_comes_back_is_named_with_its_holder(launch: Launch) -> None:
    server = launch(SLEEP)
    probe = FakeProbe(lambda: 10 + 513)
    probe.holders = [GpuProcess(0, 4711, 513, "python train.py"), GpuProcess(1, 12, 5, "other card")]
    proof = server.stop(probe, IDLE, policy=QUICK)
    assert not proof.proven
    assert proof.exit_code == -15
    assert proof.left_behind == (
        "GPU 0 holds 523 MiB and held 10 MiB before the boot; it is held by pid 4711 (python train.py) 513 MiB: "
        "end that or wait until it has ended."
    )


def test_memory_without_a_holder_says_where_to_look(launch: Launch) -> None:
    proof = launch(SLEEP).stop(FakeProbe(lambda: 90_000), IDLE, policy=QUICK)
    assert "GPU 0 holds 90,000 MiB" in proof.left_behind
    assert "nvidia-smi --gpu-reset -i 0" in proof.left_behind


def test_card_that_vanished_is_named(launch: Launch) -> None:
    def gone() -> int:
        raise GpuProbeError("GPU 0 is lost")

    proof = launch(SLEEP).stop(FakeProbe(gone), IDLE, policy=QUICK)
    assert not proof.proven
    assert "GPU 0 is lost" in proof.left_behind


def test_hurried_stop_says_what_memory_it_did_not_wait_for(launch: Launch) -> None:
    server = launch(SLEEP)
    proof = server.stop(FakeProbe(lambda: 900), IDLE, policy=QUICK, now=True)
    assert not lives(server.pid)
    assert not proof.proven
    assert "GPU 0 holds 900 MiB" in proof.left_behind


def test_process_that_survives_is_named_with_what_it_holds(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = launch(SLEEP)
    probe = FakeProbe()
    probe.holders = [GpuProcess(3, server.pid, 20_480, None)]
    # No user can make a process that survives SIGKILL, so the signal is lost on its way.
    with monkeypatch.context() as patch:
        patch.setattr(OsProcess, "send", lambda self, number: None)
        proof = server.stop(probe, IDLE, policy=QUICK)
    assert not proof.proven
    assert proof.exit_code is None
    assert proof.left_behind.startswith(f"Process {server.pid} (")
    assert "still runs after SIGKILL, holding 20,480 MiB on GPU 3: run `kill -9" in proof.left_behind


# --- after a runner that died ----------------------------------------------------------------------


def test_servers_of_a_dead_runner_are_found_and_stopped(launch: Launch) -> None:
    launch(daemon(launch.folder))
    pid = launch.pid_in("daemon")
    study = launch.mark.partition(":")[0]
    wait_for(lambda: [p.pid for p in marked_processes(study)] == [pid])
    assert [p.pid for p in marked_processes(f"{study}:1")] == [pid]
    proof = stop_marked(study, FakeProbe(), IDLE, policy=QUICK)
    assert (proof.proven, proof.exit_code, proof.left_behind) == (True, None, "")
    assert not lives(pid)


def test_mark_of_another_study_with_the_same_beginning_is_left_alone(launch: Launch) -> None:
    server = launch(SLEEP)
    study = launch.mark.partition(":")[0]
    assert marked_processes(study[:-1]) == []
    assert marked_processes(f"{study}:11") == []
    assert stop_marked(study[:-1], FakeProbe(), IDLE, policy=QUICK).proven
    assert server.poll() is None


def test_unmarked_rest_of_a_marked_session_is_found(launch: Launch) -> None:
    launch(
        "import os, time\n"
        "if os.fork() == 0:\n    if os.fork() == 0:\n"
        f"        os.execve('/bin/sleep', ['sleep', '{LONG_S}'], {{}})\n    os._exit(0)\n"
        f"os.wait(); time.sleep({LONG_S})"
    )
    study = launch.mark.partition(":")[0]
    wait_for(lambda: any("sleep 60" in p.command for p in marked_processes(study)))
    assert len(marked_processes(study)) == 2
    assert stop_marked(study, FakeProbe(), IDLE, policy=QUICK).proven
    assert marked_processes(study) == []
