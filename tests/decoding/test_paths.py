"""Greedy search, sampling and forced beginnings, on models whose next piece depends on the last one alone."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.paths import filtered, greedy_search, sample, uniform
from nmt_cli.decoding.search import beam_search

PAD, END = 0, 1
NEVER = float("-inf")


class Chain:
    """Each sentence has a matrix: row i has the log-probabilities of what follows piece i."""

    def __init__(self, *matrices: Tensor) -> None:
        """Take a matrix a sentence."""
        self.matrices = torch.stack(matrices)

    def next_log_probs(self, newest: Tensor) -> Tensor:
        return self.matrices[torch.arange(len(newest))[:, None], newest].clone()

    def keep(self, sentences: Tensor, parents: Tensor) -> None:
        assert parents.size(0) == len(sentences)
        self.matrices = self.matrices[sentences]


def random_chain(seed: int, *, vocab_size: int = 6) -> Tensor:
    weights = torch.randn(vocab_size, vocab_size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    weights[:, PAD] = NEVER
    return weights.log_softmax(dim=-1)


def probability(matrix: Tensor, ids: tuple[int, ...]) -> float:
    """Return that of an output with its end."""
    return math.exp(sum(matrix[a, b].item() for a, b in itertools.pairwise((PAD, *ids, END))))


CHAINS = [random_chain(seed) for seed in range(40)]
LIMITS = torch.tensor([3 + seed % 9 for seed in range(40)])


def test_greedy_takes_the_most_probable_piece_each_step_until_the_end_or_the_limit() -> None:
    found = greedy_search(Chain(*CHAINS), LIMITS, SearchConfig(length_penalty="length", alpha=1.0))
    for matrix, limit, [hypothesis] in zip(CHAINS, LIMITS.tolist(), found, strict=True):
        ids: list[int] = []
        last, log_prob = PAD, 0.0
        while len(ids) < limit and last != END:
            log_prob += matrix[last].max().item()
            last = int(matrix[last].argmax())
            ids.append(last)
        assert hypothesis.ids == [piece for piece in ids if piece != END]
        assert hypothesis.is_cut == (END not in ids)
        assert hypothesis.log_prob == pytest.approx(log_prob)
        assert hypothesis.score == pytest.approx(log_prob if hypothesis.is_cut else log_prob / len(ids))


def test_the_end_may_not_come_before_min_length() -> None:
    for [hypothesis] in greedy_search(Chain(*CHAINS), LIMITS, SearchConfig(min_length=2)):
        assert len(hypothesis.ids) >= 2


def test_samples_come_as_often_as_the_model_finds_them_probable() -> None:
    n = 4_000
    config = SearchConfig(sample=True, n_best=1, seed=3)
    keys = [f"{number}/0" for number in range(n)]
    found = sample(Chain(*[CHAINS[1]] * n), torch.full((n,), 30), config, keys=keys)
    outputs = [tuple(hypothesis.ids) for [hypothesis] in found]
    frequent = {ids for ids in outputs if outputs.count(ids) >= 40}
    assert len(frequent) >= 5
    for ids in frequent:
        expected = probability(CHAINS[1], ids)
        # Four standard deviations of a count.
        assert abs(outputs.count(ids) / n - expected) < 4 * math.sqrt(expected * (1 - expected) / n)


def test_a_sample_depends_on_its_key_and_seed_and_on_no_neighbour() -> None:
    config = SearchConfig(sample=True, n_best=3, temperature=1.5)
    keys = [f"{place}/0" for place in range(40)]
    together = sample(Chain(*CHAINS), LIMITS, config, keys=keys)
    for place in (0, 7, 39):
        [alone] = sample(Chain(CHAINS[place]), LIMITS[place : place + 1], config, keys=[keys[place]])
        assert alone == together[place]
        assert len(alone) == 3
    other_seed = sample(Chain(*CHAINS), LIMITS, config.model_copy(update={"seed": 2}), keys=keys)
    assert sum(a == b for a, b in zip(together, other_seed, strict=True)) < 10
    assert len({tuple(found[0].ids) for found in sample(Chain(*[CHAINS[0]] * 20), LIMITS[:20], config, keys=keys)}) > 3


def test_the_log_probability_of_a_sample_is_the_models_whatever_it_was_drawn_from() -> None:
    config = SearchConfig(sample=True, temperature=0.5, top_k=3, top_p=0.9)
    for matrix, [found] in zip(
        CHAINS, sample(Chain(*CHAINS), LIMITS + 20, config, keys=[str(i) for i in range(40)]), strict=True
    ):
        if not found.is_cut:
            assert found.log_prob == pytest.approx(math.log(probability(matrix, tuple(found.ids))))


def test_top_k_and_top_p_leave_what_they_say() -> None:
    logits = torch.tensor([0.1, 0.4, 0.05, 0.3, 0.15]).log()
    kept = {
        (top_k, top_p): (filtered(logits, top_k=top_k, top_p=top_p) > NEVER).nonzero().flatten().tolist()
        for top_k, top_p in [(0, 1.0), (2, 1.0), (9, 1.0), (0, 0.5), (0, 0.75), (0, 0.01), (3, 0.5)]
    }
    assert kept == {
        (0, 1.0): [0, 1, 2, 3, 4],
        (2, 1.0): [1, 3],
        (9, 1.0): [0, 1, 2, 3, 4],
        (0, 0.5): [1, 3],  # 0.4 does not suffice
        (0, 0.75): [1, 3, 4],
        (0, 0.01): [1],
        (3, 0.5): [1, 3],  # of 0.85 in all, 0.4 is 0.47
    }


def test_draws_are_spread_evenly() -> None:
    draws = [uniform(f"1/{number}/0/1") for number in range(5_000)]
    assert 0 <= min(draws) < max(draws) < 1
    counts = [sum(tenth / 10 <= draw < (tenth + 1) / 10 for draw in draws) for tenth in range(10)]
    assert all(abs(count - 500) < 4 * math.sqrt(450) for count in counts)


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("drawn", [False, True])
def test_outputs_begin_as_they_must_and_go_on_as_if_they_had_by_themselves(beam_size: int, drawn: bool) -> None:
    prefixes = torch.tensor([[3, 2], [5, PAD], [PAD, PAD]] * 10)
    chains, limits = CHAINS[:30], LIMITS[:30] + 3
    config = SearchConfig(beam_size=beam_size, length_penalty="none", sample=drawn)
    if drawn:
        found = sample(Chain(*chains), limits, config, keys=["1"] * 30, prefixes=prefixes)
    elif beam_size == 1:
        found = greedy_search(Chain(*chains), limits, config, prefixes=prefixes)
    else:
        found = beam_search(Chain(*chains), limits, config, prefixes=prefixes)
    for place, [hypothesis] in enumerate(found):
        begun = [piece for piece in prefixes[place].tolist() if piece != PAD]
        assert hypothesis.ids[: len(begun)] == begun
        if not hypothesis.is_cut:
            assert hypothesis.log_prob == pytest.approx(math.log(probability(chains[place], tuple(hypothesis.ids))))
        if beam_size == 4 and not drawn and begun:
            # What follows a piece is known from it alone: a search that starts there finds the same.
            started = chains[place].clone()
            started[PAD] = chains[place][begun[-1]]
            [[rest]] = beam_search(Chain(started), limits[place : place + 1] - len(begun), config)
            assert hypothesis.ids == [*begun, *rest.ids]
