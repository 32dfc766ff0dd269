from __future__ import annotations

import pytest

from autotune.export.from_study import _inside_image, _with_endpoint

SERVER = ("python3", "-m", "sglang.launch_server", "--model-path", "m")


@pytest.mark.parametrize(
    "recorded",
    [
        ("docker", "run", "--rm", "--entrypoint", "python3", "my/image:1", *SERVER[1:]),
        ("podman", "run", "my/image:1", *SERVER),
        SERVER,
    ],
)
def test_the_words_inside_a_container(recorded: tuple[str, ...]) -> None:
    assert _inside_image(recorded, "my/image:1") == SERVER


def test_only_host_and_port_are_replaced() -> None:
    ran = ("python", "--host-name", "x", "--host", "127.0.0.1", "--port", "41234")
    assert _with_endpoint(ran, "0.0.0.0", 80) == (
        "python",
        "--host-name",
        "x",
        "--host",
        "0.0.0.0",
        "--port",
        "80",
    )
