"""The output check over HTTP: the same server agrees with itself, a broken one does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pytest

from trials.sanity import check_output, collect_reference
from trials.sanity.prompts import PROMPTS

pytestmark = pytest.mark.slow


class Box(Protocol):
    port: int

    def wait_ready(self) -> Box: ...

    def stop(self) -> int: ...


StartBox = Callable[..., Box]


def url_of(box: Box) -> str:
    return f"http://127.0.0.1:{box.port}"


def test_the_baseline_agrees_with_itself_and_garbled_output_is_wrong(start_box: StartBox) -> None:
    sound = start_box(box="demo").wait_ready()
    reference = collect_reference(url_of(sound))
    assert [answer.prompt for answer in reference] == list(PROMPTS)
    assert all(len(a.logprobs) == len(a.token_ids) > 0 and a.prompt_ids for a in reference)
    same = check_output(url_of(sound), reference)
    assert (same.judgement, same.sentences) == ("ok", ())
    sound.stop()

    broken = start_box(box="demo", faults=[{"kind": "garbled_output"}]).wait_ready()
    verdict = check_output(url_of(broken), reference)
    assert verdict.wrong
    assert verdict.sentences


def test_without_a_baseline_nothing_is_claimed() -> None:
    verdict = check_output("http://127.0.0.1:9", ())
    assert verdict.judgement == "warning"
    assert "not checked" in verdict.sentences[0]
