"""A server's owner: known again, told from every other process, and gone only when that is certain."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from trials.owners import Owner
from trials.process_table import look_up


def test_owner_is_read_back_as_it_was_written() -> None:
    assert Owner.parse(str(Owner.me())) == Owner.me()


@pytest.mark.parametrize("text", [None, "", "12", "12:", ":3:x", "0:3:x", "-1:3:x", "a:3:x"])
def test_what_is_no_owner(text: str | None) -> None:
    assert Owner.parse(text) is None


def test_i_am_neither_gone_nor_another() -> None:
    assert not Owner.me().is_gone
    assert not Owner.me().is_another


def test_another_process_until_it_ends() -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    process = look_up(child.pid)
    assert process is not None
    owner = Owner(child.pid, process.started, Owner.me().place)
    later = replace(owner, started=owner.started + 1)
    assert (owner.is_gone, owner.is_another) == (False, True)
    assert (later.is_gone, later.is_another) == (True, False), "its number is another's now"
    child.kill()
    child.communicate()
    assert (owner.is_gone, owner.is_another) == (True, False)


def test_what_cannot_be_seen_from_here_is_not_gone() -> None:
    elsewhere = Owner(pid=1 << 30, started=1, place="another machine/1")
    assert not elsewhere.is_gone
    assert not elsewhere.is_another
    assert replace(elsewhere, place=Owner.me().place).is_gone
