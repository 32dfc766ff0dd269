"""The server in a container, with a `docker` that records its calls and runs the box."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.trials import docker_stand_in
from tests.trials.trial_runs import run_on_box, trial_plan
from trials.command import Command, build_command
from trials.container import ServerContainer, remove_abandoned, remove_marked
from trials.container_runtime import ContainerError, find_runtime, gpu_options
from trials.flags import FlagCatalogue, load_catalogue
from trials.outcome import Completed
from trials.owners import Owner
from trials.process_table import look_up
from trials.settings import ServerPlan

PLAN = ServerPlan(image="lmsysorg/sglang:v0.5.23", model_path="org/model")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "no-cache"))
    return folder


@pytest.fixture
def calls(programs: Path) -> Path:
    return docker_stand_in.install(programs, box="demo")


def test_the_whole_command_line(calls: Path) -> None:
    command = Command(("python3", "-m", "sglang.launch_server", "--port", "1"), {"HF_TOKEN": "secret"})
    wrapped = ServerContainer.for_boot("study:7:1").around(command, PLAN)
    assert wrapped.argv == (
        *("docker", "run", "--rm", "--init", "--name", "autotune-study-7-1"),
        *("--label", "autotune.mark=study:7:1", "--label", f"autotune.owner={Owner.me()}"),
        *("--gpus", "all", "--ipc", "host"),
        *("--ulimit", "memlock=-1", "--ulimit", "stack=67108864", "--network", "host"),
        *("--env", "HF_TOKEN", "--env", "AUTOTUNE_MARK", "--entrypoint", "python3"),
        *("lmsysorg/sglang:v0.5.23", "-m", "sglang.launch_server", "--port", "1"),
    )
    assert wrapped.env == {"HF_TOKEN": "secret"}


def test_local_models_and_the_cache_are_mounted(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "cache").mkdir()
    (tmp_path / "template.jinja").touch()
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    plan = PLAN.model_copy(
        update={"model_path": "model", "args": (f"--chat-template={tmp_path}/template.jinja", "--x", "/none")}
    )
    command = build_command({}, plan, FlagCatalogue(flags=()), port=1)
    wrapped = ServerContainer.for_boot("s:1:1").around(command, plan)
    mounts = [wrapped.argv[place + 1] for place, word in enumerate(wrapped.argv) if word == "--volume"]
    assert mounts == [
        f"{tmp_path}/model:{tmp_path}/model:ro",
        f"{tmp_path}/template.jinja:{tmp_path}/template.jinja:ro",
        f"{tmp_path}/cache:{tmp_path}/cache",
    ]
    assert wrapped.argv[wrapped.argv.index("--model-path") + 1] == f"{tmp_path}/model"
    assert wrapped.env["HF_HOME"] == f"{tmp_path}/cache"


@pytest.mark.parametrize(
    ("gpus", "runtime", "options"),
    [
        ("all", "docker", ("--gpus", "all")),
        ((0, 3), "docker", ("--gpus", '"device=0,3"')),
        ("all", "podman", ("--device", "nvidia.com/gpu=all")),
        ((0, 3), "podman", ("--device", "nvidia.com/gpu=0", "--device", "nvidia.com/gpu=3")),
    ],
)
def test_cards(gpus: object, runtime: str, options: tuple[str, ...]) -> None:
    assert gpu_options(gpus, runtime) == options  # type: ignore[arg-type]


def test_docker_comes_before_podman_and_none_is_an_error(programs: Path) -> None:
    with pytest.raises(ContainerError, match="needs docker or podman"):
        find_runtime()
    docker_stand_in.install(programs, box="demo", name="podman")
    assert find_runtime() == "podman"
    docker_stand_in.install(programs, box="demo")
    assert find_runtime() == "docker"


def test_only_containers_of_this_study_are_removed(calls: Path) -> None:
    for mark in ("mine:1:1", "mine:2:1", "yours:1:1"):
        container = ServerContainer.for_boot(mark)
        (calls.parent / container.name).write_text(json.dumps({"pid": 2**22 + 1, "mark": mark}))
    assert sorted(remove_marked("mine:")) == ["autotune-mine-1-1", "autotune-mine-2-1"]
    assert [path.name for path in calls.parent.glob("autotune-*")] == ["autotune-yours-1-1"]


def test_containers_of_a_killed_autotune_are_removed_and_of_a_living_one_are_not(calls: Path) -> None:
    parent = look_up(os.getppid())
    assert parent is not None
    owners = {
        "dead": str(Owner(1 << 30, 1, Owner.me().place)),
        "lives": str(Owner(parent.pid, parent.started, Owner.me().place)),
        "elsewhere": str(Owner(1 << 30, 1, "another machine")),
        "older": "",
    }
    for name, owner in owners.items():
        container = {"pid": 2**22 + 1, "mark": f"{name}:1:1", "owner": owner}
        (calls.parent / f"autotune-{name}").write_text(json.dumps(container))
    assert remove_abandoned() == ["autotune-dead"]
    assert remove_marked("lives:") == []
    assert remove_marked("older:") == ["autotune-older"]


def test_without_a_runtime_nothing_was_left_behind(programs: Path) -> None:
    assert remove_marked("mine:") == []


def test_the_flags_of_an_image_are_asked_once(calls: Path, tmp_path: Path, fake_sglang: Path) -> None:
    plan = PLAN.model_copy(update={"env": {"PYTHONPATH": str(fake_sglang)}})
    first = load_catalogue(plan, tmp_path / "flags")
    again = load_catalogue(plan, tmp_path / "flags")
    assert first.version == again.version == "9.9.9"
    runs = [call for call in docker_stand_in.recorded(calls) if call[0] == "run"]
    assert len(runs) == 1
    assert runs[0][:6] == ["run", "--rm", "--gpus", "all", "--env", "PYTHONPATH"]
    assert runs[0][runs[0].index("--entrypoint") + 1] == "python3"


@pytest.mark.slow
def test_a_container_boots_owns_its_port_and_is_removed(calls: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    container = ServerContainer.for_boot("study:7:1")
    catalogue = load_catalogue(ServerPlan(box="demo", model_path="m"), calls)
    command = build_command({"layout": "tp8", "mem_fraction_static": 0.88}, PLAN, catalogue, port=port)
    wrapped = container.around(command, PLAN)
    environment = {**os.environ, **wrapped.env, "AUTOTUNE_BOX_STATE": str(calls.parent / "state")}
    server = subprocess.Popen(
        wrapped.argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )
    try:
        assert not container.owns_port(port + 1)
        deadline = time.monotonic() + 60
        while not container.owns_port(port):
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        container.remove()
        assert server.wait(30) == -9
    finally:
        server.kill()
    assert {call[0] for call in docker_stand_in.recorded(calls)} == {"run", "exec", "rm"}


@pytest.mark.slow
def test_a_whole_trial_in_a_container(calls: Path, tmp_path: Path, fake_sglang: Path) -> None:
    state = str(tmp_path / "state")
    server = PLAN.model_copy(update={"env": {"PYTHONPATH": str(fake_sglang), "AUTOTUNE_BOX_STATE": state}})
    plan = trial_plan(tmp_path / "study").model_copy(update={"server": server})
    outcome, record = run_on_box({"layout": "tp8", "mem_fraction_static": 0.88}, plan)
    assert isinstance(outcome, Completed)
    started = next(call for call in docker_stand_in.recorded(calls) if "--name" in call)
    assert ["docker", *started] == list(record.boots[0][0])
    assert ["rm", "--force", ServerContainer.for_boot(f"{plan.mark}:1").name] in docker_stand_in.recorded(
        calls
    )
