"""Rows of settings: translation, activity, neighbours, sweeps."""

from __future__ import annotations

import numpy as np
import pytest

from autotune.search import SearchSpace
from autotune.search.candidates import candidates, mixtures, neighbours, tidy, together, unswept
from autotune.search.codec import CONTINUOUS_PLACES, Codec
from tests.autotune.search.search_cases import PLAIN, SPACE

CODEC = Codec(SPACE)
RNG = np.random.default_rng


def test_rows_and_settings_translate_both_ways() -> None:
    row = CODEC.row(PLAIN)
    assert SPACE.active(CODEC.settings(row)) == PLAIN
    values = CODEC.values(row[None, :])
    assert np.array_equal(values, CODEC.values_of([PLAIN]), equal_nan=True)
    steps = CODEC.index("speculative_num_steps")
    assert steps is not None
    assert np.isnan(values[0, steps])


def test_values_that_the_space_does_not_offer_keep_their_number() -> None:
    graphs, reduce = CODEC.index("cuda_graph_max_bs"), CODEC.index("all_reduce")
    values = CODEC.values_of([{**PLAIN, "cuda_graph_max_bs": 100, "all_reduce": "rumour"}])
    assert values[0, graphs] == 100
    assert values[0, reduce] == -1


def test_numbers_that_spread_widely_are_compared_by_their_logarithms() -> None:
    graphs = CODEC.index("cuda_graph_max_bs")
    units = CODEC.unit(CODEC.values_of([{**PLAIN, "cuda_graph_max_bs": size} for size in (16, 64, 512)]))
    assert units[:, graphs] == pytest.approx([0.0, 0.4, 1.0])


def test_a_range_without_a_step_is_tried_at_many_places_inside_it() -> None:
    codec = Codec(SearchSpace.from_dict({"mem_fraction_static": {"low": 0.5, "high": 0.9}}))
    grid = [float(value) for value in codec.grids[0]]
    assert len(grid) == CONTINUOUS_PLACES
    assert (min(grid), max(grid)) == (0.5, 0.9)


def test_neighbours_change_one_setting_each_and_reach_every_value() -> None:
    row = CODEC.row(PLAIN)
    rows = neighbours(CODEC, row)
    assert np.all(np.sum(rows != row, axis=1) <= 1)
    assert len(rows) == int(np.sum(CODEC.sizes))


def test_tidy_drops_what_does_not_count() -> None:
    row = CODEC.row(PLAIN)
    twin = row.copy()
    twin[CODEC.names.index("speculative_num_steps")] = 2
    assert len(tidy(CODEC, np.stack([row, twin]))) == 1


def test_a_pool_reaches_beyond_its_parents() -> None:
    row = CODEC.row(PLAIN)
    pool = candidates(CODEC, [row], RNG(0))
    assert np.max(np.sum(pool != row, axis=1)) >= 4
    assert len(mixtures([row], RNG(0), 10)) == 0


def test_speculative_details_are_drawn_together_and_nothing_else_moves() -> None:
    row = CODEC.row(PLAIN)
    names = ("speculative_num_steps", "speculative_eagle_topk")
    rows = together(CODEC, row, names, RNG(0))
    moved = {CODEC.names[at] for at in np.flatnonzero(np.any(rows != row, axis=0))}
    assert moved == set(names)


def test_a_sweep_asks_only_for_what_nothing_near_has_tried() -> None:
    row = CODEC.row(PLAIN)
    tried = CODEC.row({**PLAIN, "all_reduce": "pcie_ipc"})
    rows = unswept(CODEC, row, np.stack([row, tried]), CODEC.unit)
    asked = {CODEC.settings(line)["all_reduce"] for line in rows} - {"nccl"}
    assert asked == {"torch_symm_mem"}
    fractions = {CODEC.settings(line)["mem_fraction_static"] for line in rows}
    assert 0.94 in fractions
    assert 0.84 not in fractions
