"""The plan of updates: pure, complete, within its budget."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.batches.cutting import cut_update
from nmt_cli.batches.plan import EpochPlan, by_length, plan_epoch

Lengths = np.ndarray[Any, np.dtype[np.int64]]


def plan(source: Lengths, target: Lengths, *, epoch: int = 0, **changes: int) -> EpochPlan:
    settings = {"tokens_per_update": 2_000, "max_length": 100, "seed": 1} | changes
    return plan_epoch(source, target, epoch=epoch, **settings)


def realistic_lengths(n_pairs: int) -> tuple[Lengths, Lengths]:
    """Return lengths as of news: a median near 22 pieces, a long tail, the target 10 % longer give or take."""
    generator = np.random.default_rng(7)
    source = np.clip(np.exp(generator.normal(3.1, 0.55, n_pairs)), 2, 120).astype(np.int64)
    target = np.clip(source * np.exp(generator.normal(0.1, 0.2, n_pairs)), 2, 120).astype(np.int64)
    return source, target


def key(updates: list[Lengths]) -> list[list[int]]:
    return [pairs.tolist() for pairs in updates]


def test_every_pair_that_fits_is_used_once_an_epoch_and_the_others_are_counted() -> None:
    source, target = realistic_lengths(20_000)
    fits = {i for i, (s, t) in enumerate(zip(source.tolist(), target.tolist(), strict=True)) if s <= 100 and t <= 100}
    for epoch in range(3):
        found = plan(source, target, epoch=epoch)
        used = np.concatenate(found.updates).tolist()
        assert len(used) == len(fits)
        assert set(used) == fits
        assert found.n_too_long == 20_000 - len(fits) > 0


def test_an_update_keeps_the_budget_on_both_sides_and_could_not_take_the_next_pair() -> None:
    source, target = realistic_lengths(20_000)
    updates = plan(source, target).updates
    sums = [(int(source[pairs].sum()), int(target[pairs].sum())) for pairs in updates]
    assert max(max(pair) for pair in sums) <= 2_000
    longest = 100
    assert sum(max(pair) > 2_000 - longest for pair in sums) >= len(sums) - 1


def test_padding_stays_under_five_percent_at_the_default_settings() -> None:
    source, target = realistic_lengths(200_000)
    real = padded = 0
    updates = plan(source, target, tokens_per_update=25_000, max_length=256).updates
    for pairs in updates[::5]:
        for part in cut_update(pairs, source, target, micro_batch_tokens=4096):
            real += int((source[part] + target[part]).sum())
            padded += len(part) * int(source[part].max() + target[part].max())
    assert 1 - real / padded < 0.04


def test_the_pairs_of_an_update_are_of_similar_length_target_then_source_up_and_down() -> None:
    source, target = realistic_lengths(20_000)

    def place(pair: int) -> tuple[int, int]:
        return int(target[pair]), int(source[pair]) * (-1 if target[pair] % 2 else 1)

    in_order = sorted(plan(source, target).updates, key=lambda pairs: place(pairs[0]))
    places = [place(pair) for pairs in in_order for pair in pairs]
    assert places == sorted(places)


def test_the_order_by_length_turns_at_each_target_length_and_keys_decide_the_rest() -> None:
    source, target = np.array([3, 9, 5, 2, 8, 5, 5]), np.array([4, 4, 4, 5, 5, 5, 4])
    # Target 4: sources 3, 5, 5, 9; target 5: sources 8, 5, 2.
    assert by_length(source, target).tolist() == [0, 2, 6, 1, 4, 5, 3]
    keys = np.array([0, 0, 9, 0, 0, 0, 1], dtype=np.uint64)
    assert by_length(source, target, keys).tolist() == [0, 6, 2, 1, 4, 5, 3]


def test_epochs_and_seeds_differ_in_order_and_in_company() -> None:
    source, target = realistic_lengths(5_000)
    first, second = plan(source, target), plan(source, target, epoch=1)
    other_seed = plan(source, target, seed=2)
    assert key(first.updates) != key(second.updates)
    assert key(first.updates) != key(other_seed.updates)
    assert {frozenset(pairs.tolist()) for pairs in first.updates} != {frozenset(p.tolist()) for p in second.updates}
    middles = [float(target[pairs].mean()) for pairs in first.updates]
    rises = np.diff(middles) > 0
    assert 0.3 < rises.mean() < 0.7  # neither from short to long nor the other way


def test_the_plan_is_the_same_in_every_process() -> None:
    program = (
        "import numpy as np; from nmt_cli.batches.plan import plan_epoch; lengths = np.arange(500) % 37 + 1;"
        "found = plan_epoch(lengths, lengths[::-1].copy(), tokens_per_update=150, max_length=36, seed=3, epoch=2);"
        "print([pairs.tolist() for pairs in found.updates], found.n_too_long)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    lengths = np.arange(500) % 37 + 1
    found = plan(lengths, lengths[::-1].copy(), tokens_per_update=150, max_length=36, seed=3, epoch=2)
    assert outputs == {f"{key(found.updates)} {found.n_too_long}\n"}


def test_a_pair_longer_than_the_budget_is_an_update_by_itself() -> None:
    source, target = np.array([5, 90, 5, 5]), np.array([5, 4, 5, 95])
    updates = plan(source, target, tokens_per_update=20).updates
    assert sorted(key(updates), key=len)[:2] in ([[1], [3]], [[3], [1]])
    assert sorted(map(len, updates)) == [1, 1, 2]


def test_thirteen_pairs_are_all_used() -> None:
    for tokens_per_update in (1, 8, 50, 10_000):
        lengths = np.arange(1, 14)
        updates = plan(lengths, lengths, tokens_per_update=tokens_per_update).updates
        assert sorted(np.concatenate(updates).tolist()) == list(range(13))


def test_nothing_that_fits_gives_no_updates() -> None:
    assert plan(np.array([101, 5]), np.array([5, 101])) == EpochPlan([], 2)


lengths_of_pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=60)


def arrays(pairs: list[tuple[int, int]]) -> Iterator[Lengths]:
    return (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))


@settings(deadline=None)
@given(lengths_of_pairs, st.integers(1, 200), st.integers(1, 30), st.integers(0, 5))
def test_any_plan_is_complete_and_within_its_budget(
    pairs: list[tuple[int, int]], tokens_per_update: int, max_length: int, epoch: int
) -> None:
    source, target = arrays(pairs)
    found = plan(source, target, epoch=epoch, tokens_per_update=tokens_per_update, max_length=max_length)
    used = [pair for update in found.updates for pair in update.tolist()]
    assert sorted(used) == [i for i, pair in enumerate(pairs) if max(pair) <= max_length]
    assert found.n_too_long == len(pairs) - len(used)
    for update in found.updates:
        assert len(update) == 1 or max(source[update].sum(), target[update].sum()) <= tokens_per_update
