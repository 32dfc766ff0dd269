"""The images and the compose file, as far as they can be checked without an engine to build them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from autotune.cli.main import app

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
FILES = ("Dockerfile", "dashboard.Dockerfile")
COMPOSE = DOCKER / "compose.yaml"


def instructions(name: str) -> list[tuple[str, str]]:
    """Instruction and argument of each logical line, comments left out."""
    text = re.sub(r"^#.*\n", "", (DOCKER / name).read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines if line.strip()]


def arguments(name: str, instruction: str) -> list[str]:
    return [argument for found, argument in instructions(name) if found == instruction]


def compose() -> dict[str, Any]:
    told: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return told


@pytest.mark.parametrize("name", FILES)
def test_what_is_copied_is_there_and_is_every_package(name: str) -> None:
    sources = [word for copied in arguments(name, "COPY") for word in copied.split()[:-1]]
    assert all((ROOT / source).exists() for source in sources)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {found.rstrip("*") for found in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert packages | {"pyproject.toml", project["project"]["readme"], "LICENSE"} == set(sources)


@pytest.mark.parametrize("name", FILES)
def test_what_is_copied_is_not_ignored(name: str) -> None:
    let_in = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), flags=re.MULTILINE)
    for copied in arguments(name, "COPY"):
        assert set(copied.split()[:-1]) <= set(let_in)


@pytest.mark.parametrize("name", FILES)
def test_images_are_pinned_and_do_not_run_as_root(name: str) -> None:
    (base,) = arguments(name, "FROM")
    assert re.fullmatch(r"[\w/]+:\$\{\w+_TAG\}", base)
    defaults = dict(argument.split("=", 1) for argument in arguments(name, "ARG"))
    assert "latest" not in defaults.values()
    assert arguments(name, "USER") == ["${OWNER}"]
    assert not defaults["OWNER"].startswith("0")


@pytest.mark.parametrize("name", FILES)
def test_commands_are_lists_of_words(name: str) -> None:
    for instruction in ("ENTRYPOINT", "CMD"):
        (argument,) = arguments(name, instruction)
        assert isinstance(json.loads(argument), list)
    (health,) = arguments(name, "HEALTHCHECK")
    assert json.loads(health.split("CMD ", 1)[1])


@pytest.mark.parametrize("name", FILES)
def test_the_shell_inside_passes_shellcheck(name: str) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    script = "\n".join(["#!/bin/sh", "OWNER=1000:1000", *arguments(name, "RUN"), ""])
    found = subprocess.run(["shellcheck", "-"], input=script, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("name", FILES)
def test_pip_leaves_no_cache_in_the_image(name: str) -> None:
    installs = re.findall(r"pip\S* (?:--python \S+ )?install ([^&]*)", " ".join(arguments(name, "RUN")))
    assert installs
    assert all("--no-cache-dir" in words for words in installs)


def test_commands_of_the_compose_file_exist() -> None:
    known = {command.callback.__name__ for command in app.registered_commands if command.callback}
    runner = compose()["services"]["runner"]
    assert runner["command"][0] in known
    assert runner["healthcheck"]["test"][1:3] == ["autotune", "status"]
    assert json.loads(arguments("dashboard.Dockerfile", "CMD")[0])[0] in known


def test_the_runner_sees_gpus_processes_and_shared_memory() -> None:
    runner = compose()["services"]["runner"]
    assert (runner["pid"], runner["ipc"], runner["init"]) == ("host", "host", True)
    (device,) = runner["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}


def test_the_page_is_for_this_machine_alone_and_can_change_nothing_but_studies() -> None:
    page = compose()["services"]["dashboard"]
    assert page["ports"] == ["127.0.0.1:8760:8760"]
    assert page["read_only"] is True
    assert page["cap_drop"] == ["ALL"]
    assert page["volumes"] == ["studies:/work/studies"]


def test_both_services_are_healthy_or_not_and_share_studies_and_user() -> None:
    services = compose()["services"].values()
    assert all("healthcheck" in service for service in services)
    assert all("studies:/work/studies" in service["volumes"] for service in services)
    assert len({service["user"] for service in services}) == 1


def test_compose_itself_takes_the_file(tmp_path: Path) -> None:
    command = _compose_command()
    if command is None:
        pytest.skip("neither 'docker compose' nor 'docker-compose' is installed (Debian: docker-compose)")
    environment = {**os.environ, "HOME": str(tmp_path)}
    found = subprocess.run(
        [*command, "-f", str(COMPOSE), "config"], capture_output=True, text=True, check=False, env=environment
    )
    assert found.returncode == 0, found.stderr
    resolved = yaml.safe_load(found.stdout)
    assert set(resolved["services"]) == {"runner", "dashboard"}
    assert resolved["services"]["runner"]["user"] == "1000:1000"


def _compose_command() -> list[str] | None:
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) is None:
            continue
        if subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0:
            return command
    return None
