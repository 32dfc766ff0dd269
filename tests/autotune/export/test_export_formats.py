from __future__ import annotations

import dataclasses
import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from autotune.arms import Estimate
from autotune.export import FORMATS, ExportInput
from autotune.export._base import Reached
from trials.outcome import Measurement
from trials.secrets import HIDDEN

HOSTILE = (
    "it's",
    'say "hi"',
    "$HOME",
    "`id`",
    "back\\slash",
    "a b",
    "two\nlines",
    "*",
    "#no",
    "ünï",
    "%h",
    '{"a": {"b": [1]}}',
    "",
    "-5",
    "!x",
)
EXPORTED = ExportInput(
    study="night",
    trial=17,
    argv=(
        *("python", "-m", "sglang.launch_server", "--model-path", "org/model", "--trust-remote-code"),
        *("--json-model-override-args", '{"a": 1}', "--tp-size", "8", "--host", "0.0.0.0", "--port", "30000"),
    ),
    env={"NCCL_MIN_NCHANNELS": "8"},
    host="0.0.0.0",
    port=30000,
    model_path="org/model",
    draft_model_path=None,
    image=None,
    gpus=None,
    settings={"layout": "tp8"},
    ran={},
    level=1,
    verdict={"best": 17},
    sentence="Trial 17 is the best: 131.2 tok/s (95 % 128.0 to 134.0) at 1 stream.",
    measurements=(
        Measurement(
            level=1,
            running=1,
            decode_tok_s=131.2,
            requests=3,
            output_tokens=384,
            seconds=3.0,
            stopped_by="time",
        ),
    ),
    boot=None,
    reached=[
        Reached(1, Estimate(131.2, (128.0, 134.0), 3), Estimate(82.0, (80.0, 84.0), 3)),
        Reached(8, Estimate(420.5, (410.0, 431.0), 3), None),
    ],
    boot_noise=0.02,
    baseline={"layout": "tp4"},
    links="PCIe host bridge",
    server={"model_path": "org/model"},
    bench={"levels": [1, 8]},
    versions={"autotune": "0.1.0", "sglang": "0.5.23", "driver": "580.1"},
    gpu_names=["RTX PRO 6000"] * 8,
    measured_at="2026-11-29T21:04:05.123Z",
    simulated=False,
    confirmed=True,
)


def export(name: str, **changes: Any) -> str:
    return FORMATS[name].write(dataclasses.replace(EXPORTED, **changes))


def hostile() -> dict[str, Any]:
    flags = [word for number, value in enumerate(HOSTILE) for word in (f"--flag-{number}", value)]
    env = {f"VARIABLE_{number}": value for number, value in enumerate(HOSTILE)}
    return {"argv": ("python", "-m", "sglang.launch_server", *flags), "env": env}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_what_was_measured_where_and_whether_it_is_real(name: str) -> None:
    text = export(name)
    for fact in (
        "131.2 tok/s",
        "128.0 to 134.0",
        "1 stream",
        "2026-11-29",
        "RTX PRO 6000",
        "0.5.23",
        "580.1",
    ):
        assert fact in text
    assert "simulated" not in text.lower().replace('"simulated": false', "")
    assert "simulated" in export(name, simulated=True).lower()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_ends_with_one_line_break(name: str) -> None:
    text = export(name)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("name", ["sh", "docker", "compose", "systemd", "sglang-yaml"])
def test_a_sentence_with_line_breaks_stays_a_comment(name: str) -> None:
    text = export(name, sentence="one\nrm -rf /", study="n")
    assert "rm -rf /" in text
    assert not any(line.startswith("rm") for line in text.splitlines())


def run_script(folder: Path, text: str, program: str) -> dict[str, Any]:
    """Run a script with ``program`` replaced by one that prints what it was given."""
    fake = folder / program
    fake.write_text(
        f"#!{shutil.which('python3')}\nimport json, os, sys\n"
        "print(json.dumps({'argv': sys.argv[1:], 'env': dict(os.environ)}))\n"
    )
    fake.chmod(0o755)
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": "/home/me"}
    script = folder / "script.sh"
    script.write_text(text)
    done = subprocess.run(["sh", script], capture_output=True, text=True, check=True, env=environment)
    given: dict[str, Any] = json.loads(done.stdout)
    return given


@pytest.mark.parametrize("changes", [{}, hostile()], ids=["plain", "hostile"])
def test_the_script_starts_exactly_what_ran(tmp_path: Path, changes: dict[str, Any]) -> None:
    expected = dataclasses.replace(EXPORTED, **changes)
    given = run_script(tmp_path, export("sh", **changes), "python")
    assert given["argv"] == list(expected.argv[1:])
    assert {name: given["env"][name] for name in expected.env} == expected.env


@pytest.mark.parametrize("changes", [{}, hostile()], ids=["plain", "hostile"])
def test_docker_passes_exactly_what_ran(tmp_path: Path, changes: dict[str, Any]) -> None:
    expected = dataclasses.replace(EXPORTED, **changes)
    words = run_script(tmp_path, export("docker", **changes), "docker")["argv"]
    place = words.index("lmsysorg/sglang:v0.5.23")
    assert words[place - 2 : place] == ["--entrypoint", "python3"]
    assert words[place + 1 :] == ["-m", "sglang.launch_server", *expected.flags]
    for name, value in expected.env.items():
        assert f"{name}={value}" in words[:place]
    assert "/home/me/.cache/huggingface:/root/.cache/huggingface" in words[:place]


def test_docker_mounts_a_local_model_and_takes_only_its_cards(tmp_path: Path) -> None:
    argv = ("python", "--model-path", "/models/my kimi", "--chat-template=/etc/chat.jinja")
    text = export("docker", argv=argv, gpus=(2, 3))
    words = run_script(tmp_path, text, "docker")["argv"]
    assert "/models/my kimi:/models/my kimi:ro" in words
    assert "/etc/chat.jinja:/etc/chat.jinja:ro" in words
    assert words[words.index("--gpus") + 1] == '"device=2,3"'


def test_a_study_in_containers_exports_a_container(tmp_path: Path) -> None:
    text = export("sh", image="my/image:1", env={"HF_HOME": "/data/hub"})
    words = run_script(tmp_path, text, "docker")["argv"]
    place = words.index("my/image:1")
    assert [words[place - 1], *words[place + 1 :]] == list(EXPORTED.argv)
    assert "/data/hub:/data/hub" in words


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize("name", ["sh", "docker"])
@pytest.mark.parametrize("changes", [{}, hostile()], ids=["plain", "hostile"])
def test_shellcheck_has_nothing_to_say(tmp_path: Path, name: str, changes: dict[str, Any]) -> None:
    script = tmp_path / "script.sh"
    script.write_text(export(name, **changes))
    checked = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_compose_keeps_every_word() -> None:
    text = export("compose", **hostile())
    assert '    entrypoint: ["python3"]' in text
    section = text.partition("    command:\n")[2].partition("    environment:\n")[0]
    words = [json.loads(line.removeprefix("      - ")) for line in section.splitlines()]
    assert [word.replace("$$", "$") for word in words[2:]] == list(hostile()["argv"][3:])


def test_yaml_keys_are_flags_and_variables_are_named() -> None:
    lines = export("sglang-yaml").splitlines()
    assert 'tp-size: "8"' in lines
    assert "trust-remote-code: true" in lines
    assert 'json-model-override-args: "{\\"a\\": 1}"' in lines
    assert "#   export NCCL_MIN_NCHANNELS=8" in lines
    assert "# Start with: python -m sglang.launch_server --config sglang.yaml" in lines


def test_yaml_lists_and_values_behind_an_equals_sign() -> None:
    lines = export("sglang-yaml", argv=("python", "--a=b=c", "--many", "1", "2")).splitlines()
    assert 'a: "b=c"' in lines
    assert 'many: ["1", "2"]' in lines


def test_systemd_escapes_what_systemd_would_expand() -> None:
    text = export("systemd", argv=("python", "--a", "$HOME %h", "--b", 'q"x\\'), env={"A": "100% $x"})
    assert '--a "$$HOME %%h"' in text
    assert '--b "q\\"x\\\\"' in text
    assert 'Environment="A=100%% $x"' in text


def test_the_passport_is_json_with_everything() -> None:
    passport = json.loads(export("json"))
    assert passport["passport"] == 1
    assert passport["argv"] == list(EXPORTED.argv)
    assert passport["measurements"][0]["decode_tok_s"] == 131.2
    assert passport["versions"]["sglang"] == "0.5.23"


def test_hidden_secrets_are_pointed_out() -> None:
    text = export("sh", env={"HF_TOKEN": HIDDEN})
    assert f"put yours where {HIDDEN} stands" in text
    assert f"export HF_TOKEN={shlex.quote(HIDDEN)}" in text


def test_replaced_settings_are_named() -> None:
    assert "all_reduce = nccl" in export("sh", ran={"all_reduce": "nccl"})


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "json"])
def test_every_text_says_what_was_measured_against_what_when_and_on_what(name: str) -> None:
    text = export(name)
    assert "At 8 streams it reached 420.5 tok/s (95 % 410.0 to 431.0)." in text
    assert "Measured 2026-11-29 21:04 UTC on 8x RTX PRO 6000, over PCIe host bridge, SGLang 0.5.23" in text
    assert "driver 580.1" in text


def test_the_passport_has_all_that_a_verification_needs() -> None:
    told = json.loads(export("json"))
    assert told["passport"] == 1
    assert told["reached"][0]["baseline"]["tok_s"] == 82.0
    assert told["baseline"] == {"layout": "tp4"}
    assert told["links"] == "PCIe host bridge"
    assert told["server"]["model_path"] == "org/model"
