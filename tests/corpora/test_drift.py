"""Sides that stop being parallel are noticed by their lengths."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nmt_cli.corpora.drift import alignment_warning
from nmt_cli.corpora.keys import PairKeys


def lengths(n_pairs: int, *, shortest: int = 3, longest: int = 30, seed: int = 1) -> list[tuple[int, int]]:
    """Return words of both sides such as translators write: within a fifth, and one or two words."""
    chance = np.random.default_rng(seed)
    sources = chance.integers(shortest, longest + 1, size=n_pairs).tolist()
    return [(n, max(1, round(n * chance.uniform(0.8, 1.2)) + int(chance.integers(-1, 2)))) for n in sources]


def late_by_one(pairs: list[tuple[int, int]], *, start: int) -> list[tuple[int, int]]:
    """Return the pairs with the targets from line `start` (from 1) each one line late."""
    targets = [target for _, target in pairs]
    targets.insert(start - 1, 12)
    return [(source, target) for (source, _), target in zip(pairs, targets, strict=False)]


def warning_for(pairs: list[tuple[int, int]]) -> str | None:
    keys = PairKeys()
    for line, words in enumerate(pairs, start=1):
        keys.add(line, "", "", words)
    return alignment_warning(keys)


@pytest.mark.parametrize("seed", range(5))
def test_targets_one_line_late_from_line_501_on_are_noticed_there(seed: int) -> None:
    warning = warning_for(late_by_one(lengths(1000, seed=seed), start=501)) or ""
    line = re.search(r"from about line (\d+)", warning)
    assert line is not None, warning
    assert abs(int(line[1]) - 501) <= 40


def test_the_line_is_that_of_the_file_when_pairs_before_it_were_dropped() -> None:
    keys = PairKeys()
    for line, words in enumerate(late_by_one(lengths(1000), start=501), start=1):
        if line % 2:
            keys.add(line, "", "", words)
    line = re.search(r"from about line (\d+)", alignment_warning(keys) or "")
    assert line is not None
    assert abs(int(line[1]) - 501) <= 60


def test_files_that_never_were_parallel_are_noticed_as_a_whole() -> None:
    assert "hardly go together" in (warning_for(late_by_one(lengths(1000), start=1)) or "")


@pytest.mark.parametrize("seed", range(5))
def test_parallel_files_are_not_suspected_nor_are_two_kinds_of_text_in_one(seed: int) -> None:
    assert warning_for(lengths(1000, seed=seed)) is None
    assert warning_for(lengths(600, seed=seed) + lengths(600, shortest=1, longest=5, seed=seed)) is None


@pytest.mark.parametrize("pairs", [[], [(3, 4)], [(5, 5)] * 1000, late_by_one(lengths(150), start=1)])
def test_too_few_pairs_or_lengths_that_are_all_the_same_tell_nothing(pairs: list[tuple[int, int]]) -> None:
    assert warning_for(pairs) is None
