"""Fresh ports: outside the ephemeral range, free, never used twice."""

from __future__ import annotations

import socket

import pytest

from trials import ports


def test_port_is_outside_the_ephemeral_range_and_free() -> None:
    low, high = ports.ephemeral_range()
    port = ports.fresh_port(())
    assert not low <= port <= high
    assert ports.is_free(port)


@pytest.mark.parametrize(
    ("ephemeral", "expected"),
    [
        ((32_768, 60_999), range(10_000, 31_468)),
        ((1_024, 40_000), range(40_001, 64_236)),
        ((1_024, 65_535), range(10_000, 64_236)),
    ],
)
def test_usable_ports_leave_room_for_the_servers_own(ephemeral: tuple[int, int], expected: range) -> None:
    assert ports.usable_ports(ephemeral) == expected


def test_used_and_taken_ports_are_never_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "usable_ports", lambda _: range(20_000, 20_004))
    monkeypatch.setattr(ports, "is_free", lambda port: port in (20_001, 20_003))
    assert ports.fresh_port({20_001}) == 20_003
    with pytest.raises(ports.NoFreePortError, match="no free port is left"):
        ports.fresh_port({20_001, 20_003})


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "127.0.0.2"])
def test_port_that_someone_listens_on_is_not_free(address: str) -> None:
    with socket.socket() as holder:
        holder.bind((address, 0))
        holder.listen()
        assert not ports.is_free(holder.getsockname()[1])
