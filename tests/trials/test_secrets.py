"""No token, key or password leaves in a command, a variable or a log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trials.secrets import is_secret_name, redact_argv, redact_env, redact_text, secrets_in

TOKEN = "hf_abcdefghijklmnopqrstuvwx"


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (("--api-key", "abcd", "--port", "1"), ("--api-key", "***", "--port", "1")),
        (("--admin-api-key=abcd",), ("--admin-api-key=***",)),
        (("--ssl-keyfile-password", "abcd"), ("--ssl-keyfile-password", "***")),
        (("--ssl-keyfile", "/etc/key.pem"), ("--ssl-keyfile", "/etc/key.pem")),
        (("--api-key", "--port", "1"), ("--api-key", "--port", "1")),
        (("docker", "--env", "HF_TOKEN=abcd"), ("docker", "--env", "HF_TOKEN=***")),
        (("--x", "https://me:abcd@host/path"), ("--x", "https://me:***@host/path")),
        (("--header", f"Bearer {TOKEN}"), ("--header", "Bearer ***")),
        (("--x", TOKEN), ("--x", "***")),
        (("--max-total-tokens", "8192"), ("--max-total-tokens", "8192")),
        (("--speculative-token-map", "/m.pt"), ("--speculative-token-map", "/m.pt")),
    ],
)
def test_command_lines(argv: tuple[str, ...], shown: tuple[str, ...]) -> None:
    assert redact_argv(argv) == shown
    assert redact_argv(shown) == shown


def test_variables() -> None:
    env = {
        "HF_TOKEN": "abcd",
        "AWS_SECRET_ACCESS_KEY": "abcd",
        "PGPASSWORD": "abcd",
        "HF_TOKEN_PATH": "/root/token",
        "NCCL_P2P_DISABLE": "1",
        "PROXY": "http://u:abcd@proxy",
    }
    assert redact_env(env) == {
        "HF_TOKEN": "***",
        "AWS_SECRET_ACCESS_KEY": "***",
        "PGPASSWORD": "***",
        "HF_TOKEN_PATH": "/root/token",
        "NCCL_P2P_DISABLE": "1",
        "PROXY": "http://u:***@proxy",
    }


def test_text_loses_the_secrets_of_the_command() -> None:
    argv, env = ("--api-key", "s3cr3t-of-mine", "--port", "1"), {"HF_TOKEN": "hello-token", "A": "1"}
    secrets = secrets_in(argv, env)
    assert secrets == ("hello-token", "s3cr3t-of-mine")
    line = "server_args={'api_key': 's3cr3t-of-mine', 'port': 1} hello-token"
    assert redact_text(line, secrets) == "server_args={'api_key': '***', 'port': 1} ***"


def test_a_secret_of_a_letter_or_two_does_not_blacken_the_log() -> None:
    assert redact_text("a plain line", ["a"]) == "a plain line"


def test_of_sglangs_own_flags_exactly_the_secret_ones_are_hidden() -> None:
    dump = json.loads((Path(__file__).parent / "flags" / "flags-0.5.23.json").read_text())
    names = {name for row in dump["actions"] for name in row["flags"]}
    assert {name for name in names if is_secret_name(name)} == {
        "--api-key",
        "--admin-api-key",
        "--ssl-keyfile-password",
    }
