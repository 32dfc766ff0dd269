"""Knowledge from elsewhere: what is read, moved to this machine's level, and dropped when it misleads."""

from __future__ import annotations

import optuna
import pytest

from autotune.search.codec import Codec
from autotune.search.history import History, Observation
from autotune.search.priors import WEAK_NOISE, earlier_observations, remember, weigh
from tests.autotune.search.search_cases import PLAIN, SPACE, failure, good

CODEC = Codec(SPACE)
VALUES = {"nccl": 100.0, "pcie_ipc": 140.0, "torch_symm_mem": 80.0}


def _weak(number: int, score: float, reduce: str) -> Observation:
    settings = {**PLAIN, "all_reduce": reduce}
    return Observation(number, settings, "good", score=score, value=score, noise=WEAK_NOISE)


def _weighed(weak: list[float], own_boots: int) -> list[Observation]:
    known = [
        _weak(-1 - at, score, reduce) for at, (score, reduce) in enumerate(zip(weak, VALUES, strict=True))
    ]
    names = list(VALUES) * 3
    own = [good(at, VALUES[names[at]], all_reduce=names[at], cuda_graph_max_bs=64) for at in range(own_boots)]
    history = weigh(History((*known, *own), {}, logarithmic=False, sign=1), CODEC)
    return [seen for seen in history.observations if seen.noise == WEAK_NOISE]


def test_knowledge_is_read_by_how_well_it_fits() -> None:
    study = optuna.create_study()
    remember(study, PLAIN, same=True, value=90.0, boot={"left_gib": 3.0})
    remember(study, PLAIN, same=False, value=30.0, boot={"left_gib": 3.0})
    remember(study, PLAIN, same=True, failure=failure("hang", "measure"))
    remember(study, PLAIN, same=False, failure=failure("hang", "measure"))
    remember(study, {**PLAIN, "layout": "tp99"}, same=True, value=90.0)
    seen = earlier_observations(study, SPACE)
    assert [(one.number, one.ending, one.noise) for one in seen] == [
        (-1, "good", 1.0),
        (-2, "good", WEAK_NOISE),
        (-3, "crash", 1.0),
    ]
    assert seen[0].boot == {"left_gib": 3.0}
    assert seen[1].boot == {}


def test_a_slower_machine_that_orders_the_same_is_moved_to_this_level() -> None:
    kept = _weighed([10.0, 14.0, 8.0], own_boots=6)
    assert [seen.score for seen in kept] == pytest.approx([100.0, 104.0, 98.0], abs=8.0)


def test_knowledge_that_orders_the_other_way_round_is_dropped_after_five_boots() -> None:
    assert len(_weighed([100.0, 60.0, 120.0], own_boots=3)) == 3
    assert _weighed([100.0, 60.0, 120.0], own_boots=6) == []


def test_without_boots_here_it_stands_as_it_is() -> None:
    assert [seen.score for seen in _weighed([10.0, 14.0, 8.0], own_boots=0)] == [10.0, 14.0, 8.0]
