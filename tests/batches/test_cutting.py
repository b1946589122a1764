"""Cutting an update: in order, within the limit, and no other cut makes the most costly part cheaper."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.batches.cutting import cut_update

Lengths = np.ndarray[Any, np.dtype[np.int64]]


def arrays(pairs: list[tuple[int, int]]) -> Iterator[Lengths]:
    return (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))


def cost(pairs: list[tuple[int, int]]) -> int:
    """A target position counts twice; what is padded counts too."""
    return len(pairs) * (max(source for source, _ in pairs) + 2 * max(target for _, target in pairs))


def lists(most: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    return st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=most)


@settings(deadline=None)
@given(lists(60), st.integers(1, 200), st.integers(1, 5), st.randoms())
def test_it_keeps_order_and_limit_and_as_many_parts_for_each_rank(
    pairs: list[tuple[int, int]],
    micro_batch_tokens: int,
    n_ranks: int,
    random: Any,  # noqa: ANN401
) -> None:
    source, target = arrays(pairs)
    update = np.array(random.sample(range(len(pairs)), random.randint(1, len(pairs))), dtype=np.int64)
    parts = cut_update(update, source, target, micro_batch_tokens=micro_batch_tokens, n_ranks=n_ranks)
    assert [pair for part in parts for pair in part.tolist()] == update.tolist()
    for part in parts:
        positions = len(part) * max(int(source[part].max()), int(target[part].max()))
        assert len(part) == 1 or positions <= micro_batch_tokens
        assert len(part) > 0
    assert len(parts) % n_ranks == 0 or len(parts) == len(update)


@settings(deadline=None)
@given(lists(9), st.integers(1, 4))
def test_no_cut_into_as_many_parts_has_a_cheaper_most_costly_part(pairs: list[tuple[int, int]], n_ranks: int) -> None:
    source, target = arrays(pairs)
    parts = cut_update(np.arange(len(pairs)), source, target, micro_batch_tokens=10_000, n_ranks=n_ranks)
    cheapest = min(
        max(cost(pairs[first:last]) for first, last in itertools.pairwise((0, *cuts, len(pairs))))
        for n_cuts in range(n_ranks)
        for cuts in itertools.combinations(range(1, len(pairs)), n_cuts)
    )
    assert max(cost([pairs[pair] for pair in part]) for part in parts) <= cheapest * 1.01


def test_an_update_that_fits_is_not_cut() -> None:
    lengths = np.full(10, 8)
    assert [part.tolist() for part in cut_update(np.arange(10), lengths, lengths, micro_batch_tokens=80)] == [
        list(range(10))
    ]
    assert len(cut_update(np.arange(10), lengths, lengths, micro_batch_tokens=79)) == 2


@pytest.mark.parametrize("n_ranks", [2, 3, 4])
def test_ranks_have_about_equal_work(n_ranks: int) -> None:
    generator = np.random.default_rng(7)
    target = np.sort(generator.integers(20, 26, 400))
    source = np.clip(target + generator.integers(-8, 9, 400), 2, None)
    parts = cut_update(np.arange(400), source, target, micro_batch_tokens=2_048, n_ranks=n_ranks)
    assert len(parts) % n_ranks == 0
    work = [
        sum(cost([(int(source[i]), int(target[i])) for i in part]) for part in parts[rank::n_ranks])
        for rank in range(n_ranks)
    ]
    assert max(work) < 1.1 * min(work)
