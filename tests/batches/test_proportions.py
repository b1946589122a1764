"""Corpora in proportion: numbers worked by hand, whole copies, and a remainder drawn anew without replacement."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.batches.plan import plan_epoch
from nmt_cli.batches.proportions import in_proportion, numbers_in_proportion


@pytest.mark.parametrize(
    ("sizes", "weights", "numbers"),
    [
        ([4, 3], [3, 1], [9, 3]),  # three times as many as all of the second
        ([3000, 10], [3, 1], [3000, 1000]),  # the small one comes a hundred times
        ([100, 100, 50], [1, 2, 1], [100, 200, 100]),
        ([7], [5], [7]),
        ([7, 2], [3, 1], [7, 2]),  # 7 / 3 = 2.33 of the second: rounded to 2
        ([5, 2], [2, 1], [5, 3]),  # 5 / 2 = 2.5: rounded up
        ([1000, 1000], [0.1, 0.3], [1000, 3000]),
        ([6, 0], [1, 1], [6, 0]),
    ],
)
def test_the_numbers_of_an_epoch_are_those_worked_by_hand(
    sizes: list[int], weights: list[float], numbers: list[int]
) -> None:
    assert numbers_in_proportion(sizes, weights) == numbers


positive = st.integers(1, 10_000)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=6))
def test_no_pair_is_left_out_one_corpus_comes_once_and_no_number_is_off_by_more_than_half(
    corpora: list[tuple[int, int]],
) -> None:
    sizes, weights = [size for size, _ in corpora], [weight for _, weight in corpora]
    numbers = numbers_in_proportion(sizes, weights)
    assert all(number >= size for number, size in zip(numbers, sizes, strict=True))
    least = max(range(len(sizes)), key=lambda place: Fraction(sizes[place], weights[place]))
    assert numbers[least] == sizes[least]
    for number, weight in zip(numbers, weights, strict=True):
        exact = Fraction(sizes[least], weights[least]) * weight
        assert abs(number - exact) <= Fraction(1, 2) + Fraction(1, 10**6)


def test_a_plan_of_two_corpora_is_the_one_worked_by_hand() -> None:
    # Pairs 0 to 3 and 4 to 6; pair 2 is too long. Weights 4 to 1: 12 of the first corpus, each of its 3 four times.
    lengths = np.array([2, 3, 99, 4, 5, 6, 7])
    plan = plan_epoch(
        lengths, lengths, tokens_per_update=10_000, max_length=9, seed=1, epoch=0, sizes=(4, 3), weights=(4, 1)
    )
    assert [pairs.tolist() for pairs in plan.updates] == [[0] * 4 + [1] * 4 + [3] * 4 + [4, 5, 6]]
    assert plan.n_too_long == 1


def in_epoch(epoch: int, *, seed: int = 1) -> list[int]:
    """Return an epoch of 10 pairs and of 8 pairs as 1 to 2: each of the 10 once, and 20 of the 8."""
    return in_proportion(np.arange(18), (10, 8), (1, 2), seed=seed, epoch=epoch).tolist()


def test_whole_copies_come_whole_and_the_remainder_without_replacement() -> None:
    counts = Counter(in_epoch(0))
    assert [counts[pair] for pair in range(10)] == [1] * 10
    assert sorted(counts[pair] for pair in range(10, 18)) == [2] * 4 + [3] * 4  # 20 = 2 x 8 + 4


def test_the_remainder_is_drawn_anew_each_epoch_and_from_every_pair_alike() -> None:
    drawn = Counter[int]()
    for epoch in range(400):
        drawn.update({pair for pair, times in Counter(in_epoch(epoch)).items() if times == 3})
    assert sum(drawn.values()) == 1600
    sigma = (400 * 0.5 * 0.5) ** 0.5
    assert all(abs(drawn[pair] - 200) < 4.5 * sigma for pair in range(10, 18))
    assert in_epoch(5) == in_epoch(5)
    assert in_epoch(5) != in_epoch(6)
    assert in_epoch(5) != in_epoch(5, seed=2)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(1, 30)), min_size=2, max_size=4),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
def test_any_weighted_plan_holds_its_proportions_and_its_budget(
    corpora: list[tuple[int, int]],
    epoch: int,
    random: object,
) -> None:
    sizes, weights = [size for size, _ in corpora], [weight for _, weight in corpora]
    lengths = np.array([random.randint(1, 12) for _ in range(sum(sizes))])  # type: ignore[attr-defined]
    fits = lengths <= 10
    found = plan_epoch(
        lengths, lengths, tokens_per_update=40, max_length=10, seed=3, epoch=epoch, sizes=sizes, weights=weights
    )
    counts = Counter(pair for update in found.updates for pair in update.tolist())
    ends = np.cumsum(sizes)
    parts = [range(end - size, end) for end, size in zip(ends.tolist(), sizes, strict=True)]
    n_fit = [sum(bool(fits[pair]) for pair in part) for part in parts]
    totals = [sum(counts[pair] for pair in part) for part in parts]
    assert totals == numbers_in_proportion(n_fit, weights)
    for part, total, n in zip(parts, totals, n_fit, strict=True):
        times = {counts[pair] for pair in part if fits[pair]}
        assert times <= ({total // n, -(-total // n)} if n else set())
        assert not any(counts[pair] for pair in part if not fits[pair])
    assert all(len(update) == 1 or lengths[update].sum() <= 40 for update in found.updates)


def test_the_weight_of_a_single_corpus_changes_nothing() -> None:
    lengths = np.arange(500) % 37 + 1
    limits = {"tokens_per_update": 150, "max_length": 30, "seed": 3, "epoch": 2}
    alone = plan_epoch(lengths, lengths[::-1].copy(), **limits)
    weighed = plan_epoch(lengths, lengths[::-1].copy(), **limits, sizes=(500,), weights=(0.3,))
    assert [pairs.tolist() for pairs in weighed.updates] == [pairs.tolist() for pairs in alone.updates]
