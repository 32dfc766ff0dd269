"""Asking a server what it accepts: its interpreter found, its answer kept, its absence explained."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from trials.flags import CatalogueError, load_catalogue
from trials.flags.interpreter import interpreter_of
from trials.settings import ServerPlan

WRAPPER = "#!/bin/sh\nexit 0\n"


def plan(*command: str, site: Path | None = None) -> ServerPlan:
    env = {"PYTHONPATH": str(site)} if site else {}
    return ServerPlan(command=command, model_path="m", env=env)


def executable(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_the_servers_own_parser_answers(fake_sglang: Path, tmp_path: Path) -> None:
    catalogue = load_catalogue(
        plan(sys.executable, "-m", "sglang.launch_server", site=fake_sglang), tmp_path / "cache"
    )
    flag = catalogue.find("--attention-backend")
    assert catalogue.version == "9.9.9"
    assert catalogue.environment == {"SGLANG_ENABLE_PCIE_IPC_ALLREDUCE"}
    assert flag is not None
    assert flag.choices == ("fa3", "triton")


def test_the_answer_is_kept_until_the_server_changes(fake_sglang: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    server = plan(sys.executable, "-m", "sglang.launch_server", site=fake_sglang)
    load_catalogue(server, cache)
    (kept,) = cache.iterdir()
    kept.write_text(kept.read_text().replace("fa3", "fa9"))
    assert load_catalogue(server, cache).find("--attention-backend").choices == ("fa9", "triton")  # type: ignore[union-attr]
    os.utime(fake_sglang / "sglang" / "srt" / "server_args.py", ns=(1, 1))
    assert load_catalogue(server, cache).find("--attention-backend").choices == ("fa3", "triton")  # type: ignore[union-attr]


def test_a_broken_cache_is_asked_anew(fake_sglang: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    server = plan(sys.executable, "-m", "sglang.launch_server", site=fake_sglang)
    load_catalogue(server, cache)
    (kept,) = cache.iterdir()
    kept.write_text('{"actions": [')
    assert load_catalogue(server, cache).version == "9.9.9"


def test_an_entry_script_names_its_interpreter(fake_sglang: Path, tmp_path: Path) -> None:
    script = executable(tmp_path / "sglang", f"#!{sys.executable}\nfrom sglang.cli.main import main\n")
    assert load_catalogue(plan(script, "serve", site=fake_sglang), tmp_path / "cache").version == "9.9.9"


@pytest.mark.parametrize(
    ("command", "interpreter"),
    [
        (("/v/bin/python", "-m", "sglang.launch_server"), ("/v/bin/python",)),
        (("/v/bin/python3.11", "-u", "-m", "sglang.launch_server"), ("/v/bin/python3.11", "-u")),
        (("numactl", "-N", "0", "python3", "-m", "sglang.launch_server"), ("numactl", "-N", "0", "python3")),
        (("uv", "run", "python", "-m", "sglang", "serve"), ("uv", "run", "python")),
        (("python", "-m", "trials.box", "demo"), None),
        (("python", "wrapper.py"), None),
        (("python", "-m"), None),
    ],
)
def test_the_interpreter_of_a_command(command: tuple[str, ...], interpreter: tuple[str, ...] | None) -> None:
    assert interpreter_of(command, {"PATH": ""}) == interpreter


@pytest.mark.parametrize(
    ("text", "interpreter"),
    [
        ("#!/v/bin/python3\nimport sys\nfrom sglang.cli.main import main\n", ("/v/bin/python3",)),
        ("#!/usr/bin/env python3\nimport sglang\n", ("/usr/bin/env", "python3")),
        (
            "#!/bin/sh\n'''exec' \"/a long/bin/python3\" \"$0\" \"$@\"\n' '''\n"
            "from sglang.cli.main import main\n",
            ("/a long/bin/python3",),
        ),
        ("#!/v/bin/python3\nimport other\n", None),
        (WRAPPER, None),
        ("no script at all", None),
    ],
)
def test_the_interpreter_of_a_script(tmp_path: Path, text: str, interpreter: tuple[str, ...] | None) -> None:
    script = executable(tmp_path / "sglang", text)
    assert interpreter_of((script, "serve"), {"PATH": ""}) == interpreter


def test_any_other_command_is_asked_for_help(tmp_path: Path) -> None:
    script = executable(
        tmp_path / "serve",
        "#!/bin/sh\n[ \"$1\" = --help ] && printf 'usage: x [-h] --model-path P\\n\\n  --model-path P\\n'\n",
    )
    catalogue = load_catalogue(plan(script), tmp_path / "cache")
    assert [flag.name for flag in catalogue.flags] == ["--model-path"]
    assert catalogue.version is None


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (
            ("no-such-server",),
            "'no-such-server' was not found on PATH; write its full path in [server] command",
        ),
        (("/no/such/server",), "'/no/such/server' does not exist or is not executable; correct"),
        (
            (sys.executable, "-m", "sglang.launch_server"),
            "has no SGLang installed; let [server] command name",
        ),
        (("true",), "'true' is no SGLang server: its --help lists no flags"),
        (("false",), "'false' could not say which flags it accepts (exit code 1): it printed nothing"),
    ],
)
def test_what_cannot_be_asked_is_explained_in_one_sentence(
    tmp_path: Path, command: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(CatalogueError) as refusal:
        load_catalogue(plan(*command), tmp_path / "cache")
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_sglang_that_cannot_be_imported(fake_sglang: Path, tmp_path: Path) -> None:
    (fake_sglang / "sglang" / "srt" / "server_args.py").write_text("import no_such_module\n")
    server = plan(sys.executable, "-m", "sglang.launch_server", site=fake_sglang)
    with pytest.raises(CatalogueError, match=r"ModuleNotFoundError: No module named 'no_such_module'"):
        load_catalogue(server, tmp_path / "cache")


def test_the_box_is_asked_too(tmp_path: Path) -> None:
    catalogue = load_catalogue(ServerPlan(box="demo", model_path="m"), tmp_path / "cache")
    assert catalogue.find("--mem-fraction-static") is not None
