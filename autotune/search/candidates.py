"""Where to look: the best settings with a few changes, mixtures of good ones, and anywhere at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from autotune.search.codec import Codec, Matrix, Rows
from autotune.search.space import DRAFT_TOKENS, STEPS, TOPK

_MUTANTS = 500
_MIXTURES = 120
_ANYWHERE = 250
_TOGETHER = 120
_CHANGES = (2, 3, 4, 5)
_NEAR, _JUST_THREE = 5, 2.999


def neighbours(codec: Codec, row: Rows) -> Rows:
    """Every single change of one row."""
    lines = []
    for at, size in enumerate(codec.sizes):
        block = np.repeat(row[None, :], size, axis=0)
        block[:, at] = np.arange(size)
        lines.append(block)
    return np.concatenate(lines)


def mutants(codec: Codec, parents: Sequence[Rows], rng: np.random.Generator, count: int) -> Rows:
    """Random parents with a few random changes each."""
    rows = np.stack(parents)[rng.integers(len(parents), size=count)]
    changes = rng.choice(_CHANGES, size=count)
    order = np.argsort(rng.random(rows.shape), axis=1)
    fresh = codec.draw(rng, count)
    return np.where(order < changes[:, None], fresh, rows)


def mixtures(parents: Sequence[Rows], rng: np.random.Generator, count: int) -> Rows:
    """Children of two parents, each value from either."""
    if len(parents) < 2:
        return np.empty((0, len(parents[0])), dtype=np.int64)
    pool = np.stack(parents)
    left, right = pool[rng.integers(len(pool), size=count)], pool[rng.integers(len(pool), size=count)]
    return np.where(rng.random(left.shape) < 0.5, left, right)


def together(codec: Codec, row: Rows, names: tuple[str, ...], rng: np.random.Generator) -> Rows:
    """One row with settings that only make sense together drawn afresh, all at once."""
    columns = [at for name in names if (at := codec.index(name)) is not None]
    rows = np.repeat(row[None, :], _TOGETHER if columns else 0, axis=0)
    for at in columns:
        rows[:, at] = rng.integers(codec.sizes[at], size=len(rows))
    return rows


def unswept(codec: Codec, row: Rows, finished: Rows, inputs: Callable[[Matrix], Matrix]) -> Rows:
    """Single changes of one row to a category, or to a third of a range, that nothing near it has tried.

    Args:
        codec: Of the space.
        row: What is changed.
        finished: What has been tried.
        inputs: ``MemoryWindow.inputs``: what is the same to throughput is not tried twice.
    """
    apart = np.sum((finished != row) & codec.activity(finished), axis=1)
    near = np.concatenate([row[None, :], finished[apart <= _NEAR]])
    seen, rows = _coarse(codec, inputs(codec.values(near))), tidy(codec, neighbours(codec, row))
    found = _coarse(codec, inputs(codec.values(rows)))
    counts = ~np.isnan(found)
    fresh = np.zeros(len(rows), dtype=bool)
    for at in range(found.shape[1]):
        fresh |= counts[:, at] & ~np.isin(found[:, at], seen[:, at])
    return rows[fresh]


def _coarse(codec: Codec, units: Matrix) -> Matrix:
    """Categories as they are, numbers by thirds of their range."""
    return np.where(codec.categorical, units, np.floor(units * _JUST_THREE))


def candidates(codec: Codec, parents: Sequence[Rows], rng: np.random.Generator) -> Rows:
    """A pool to choose from; without parents drawn anywhere."""
    anywhere = codec.draw(rng, _ANYWHERE if parents else _ANYWHERE * 5)
    if not parents:
        return tidy(codec, anywhere)
    near = [neighbours(codec, parent) for parent in parents[:3]]
    drafts = together(codec, parents[0], (STEPS, TOPK, DRAFT_TOKENS), rng)
    mixed = mixtures(parents, rng, _MIXTURES)
    mutated = mutants(codec, parents[:3], rng, _MUTANTS)
    return tidy(codec, np.concatenate([*near, drafts, mutated, mixed, anywhere]))


def tidy(codec: Codec, rows: Rows) -> Rows:
    """Values that do not count set to the first, doubles removed."""
    return np.unique(np.where(codec.activity(rows), rows, 0), axis=0)
