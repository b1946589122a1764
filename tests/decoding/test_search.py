"""Beam search on models that are tables: against brute force, a plain search, and numbers worked by hand."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.hypothesis import Hypothesis, length_penalty
from nmt_cli.decoding.search import beam_search
from nmt_cli.errors import ModelError

PAD, END = 0, 1
Prefix = tuple[int, ...]
Table = Callable[[Prefix], list[float]]
PENALTIES = [("wu", 0.0), ("wu", 0.6), ("wu", 1.0), ("wu", 2.5), ("length", 0.6), ("length", 1.0), ("none", 0.6)]


class TableModel:
    """Each sentence has a table from prefixes to log-probabilities."""

    def __init__(self, *tables: Table) -> None:
        """Take a table a sentence."""
        self.tables = list(tables)
        self.prefixes: list[list[Prefix]] = [[()] for _ in tables]
        self.n_steps = 0

    def next_log_probs(self, newest: Tensor) -> Tensor:
        if self.n_steps:
            self.prefixes = [
                [(*prefix, piece) for prefix, piece in zip(prefixes, row, strict=True)]
                for prefixes, row in zip(self.prefixes, newest.tolist(), strict=True)
            ]
        else:
            assert newest.tolist() == [[PAD]] * len(self.tables)
        self.n_steps += 1
        rows = [[table(prefix) for prefix in row] for table, row in zip(self.tables, self.prefixes, strict=True)]
        return torch.tensor(rows, dtype=torch.float64)

    def keep(self, sentences: Tensor, parents: Tensor) -> None:
        chosen = sentences.tolist()
        self.prefixes = [
            [self.prefixes[sentence][parent] for parent in row]
            for sentence, row in zip(chosen, parents.tolist(), strict=True)
        ]
        self.tables = [self.tables[sentence] for sentence in chosen]


def random_table(seed: int, *, vocab_size: int, end: float = 0.0) -> Table:
    """Return a model whose distribution after each prefix is its own; `end` makes the end likelier."""

    def table(prefix: Prefix) -> list[float]:
        draw = random.Random(f"{seed} {prefix}")  # noqa: S311 - a model, not a secret
        weights = [draw.gauss(0.0, 1.5) for _ in range(vocab_size)]
        weights[END] += end
        total = math.log(sum(math.exp(weight) for weight in weights))
        return [weight - total for weight in weights]

    return table


def penalty_by_hand(n: int, kind: str, alpha: float) -> float:
    return {"wu": ((5 + n) / 6) ** alpha, "length": n**alpha, "none": 1.0}[kind]


def log_prob_by_hand(table: Table, ids: Prefix) -> float:
    return sum(table(ids[:i])[piece] for i, piece in enumerate((*ids, END)))


def every_ending(table: Table, *, vocab_size: int, limit: int, kind: str, alpha: float) -> list[tuple[float, Prefix]]:
    """Return all outputs of at most `limit` pieces, end included, with their scores, best first."""
    endings = [ids for n in range(limit) for ids in itertools.product(range(2, vocab_size), repeat=n)]
    scored = [(log_prob_by_hand(table, ids) / penalty_by_hand(len(ids) + 1, kind, alpha), ids) for ids in endings]
    return sorted(scored, reverse=True)


def search(*tables: Table, limit: int | list[int], **settings: object) -> list[list[Hypothesis]]:
    limits = limit if isinstance(limit, list) else [limit] * len(tables)
    return beam_search(TableModel(*tables), torch.tensor(limits), SearchConfig.model_validate(settings))


@pytest.mark.parametrize(("kind", "alpha"), PENALTIES)
@pytest.mark.parametrize("n_best", [1, 7])
def test_a_wide_beam_finds_the_best_of_all_sequences(kind: str, alpha: float, n_best: int) -> None:
    for seed in range(4):
        table = random_table(seed, vocab_size=5)
        expected = every_ending(table, vocab_size=5, limit=6, kind=kind, alpha=alpha)[:n_best]
        [found] = search(table, limit=6, beam_size=4**5, length_penalty=kind, alpha=alpha, n_best=n_best)
        assert [tuple(hypothesis.ids) for hypothesis in found] == [ids for _, ids in expected]
        assert [hypothesis.score for hypothesis in found] == pytest.approx([score for score, _ in expected])
        for hypothesis in found:
            assert hypothesis.log_prob == pytest.approx(log_prob_by_hand(table, tuple(hypothesis.ids)))


def plain_search(
    table: Table, *, vocab_size: int, limit: int, beam_size: int, kind: str, alpha: float
) -> list[tuple[float, Prefix]]:
    """The same algorithm with lists, which never stops before the limit."""
    alive, finished = [(0.0, ())], list[tuple[float, Prefix]]()
    for length in range(1, limit + 1):
        extended = [
            (log_prob + table(ids)[piece], (*ids, piece)) for log_prob, ids in alive for piece in range(1, vocab_size)
        ]
        best = sorted(extended, reverse=True)[: 2 * beam_size]
        penalty = penalty_by_hand(length, kind, alpha)
        finished += [(log_prob / penalty, ids[:-1]) for log_prob, ids in best if ids[-1] == END]
        finished = sorted(finished, reverse=True)[:beam_size]
        alive = [(log_prob, ids) for log_prob, ids in best if ids[-1] != END][:beam_size]
    return finished


@pytest.mark.parametrize(("kind", "alpha"), PENALTIES)
@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_the_exact_rule_gives_what_a_search_up_to_the_limit_gives(kind: str, alpha: float, beam_size: int) -> None:
    for seed in range(6):
        table = random_table(seed, vocab_size=7, end=1.0)
        expected = plain_search(table, vocab_size=7, limit=12, beam_size=beam_size, kind=kind, alpha=alpha)
        for n_best in {1, beam_size}:
            [found] = search(table, limit=12, beam_size=beam_size, length_penalty=kind, alpha=alpha, n_best=n_best)
            if expected:
                assert [tuple(hypothesis.ids) for hypothesis in found] == [ids for _, ids in expected[:n_best]]
            else:
                assert all(hypothesis.is_cut for hypothesis in found)


@pytest.mark.parametrize(
    ("kind", "alpha", "better", "score"),
    [
        ("wu", 0.0, "A", -1.0),
        ("wu", 0.6, "A", -0.912),
        ("wu", 1.0, "B", -0.800),
        ("length", 0.6, "B", -0.522),
        ("none", 1.0, "A", -1.0),
    ],
)
def test_a_longer_path_that_wins_once_normalised_is_not_missed(
    kind: str, alpha: float, better: str, score: float
) -> None:
    paths = {"A": (2, END), "B": (3, 3, 3, END)}
    log_probs = {"A": -1.0, "B": -1.2}

    def table(prefix: Prefix) -> list[float]:
        following = [-1e9] * 4
        for name, path in paths.items():
            if path[: len(prefix)] == prefix and len(prefix) < len(path):
                following[path[len(prefix)]] = 0.0 if prefix else log_probs[name]
        return following

    [both] = search(table, limit=20, beam_size=2, n_best=2, length_penalty=kind, alpha=alpha)
    assert both[0].ids == list(paths[better][:-1])
    assert both[0].score == pytest.approx(score, abs=5e-4)
    assert {tuple(hypothesis.ids) for hypothesis in both} == {path[:-1] for path in paths.values()}
    assert search(table, limit=20, beam_size=2, length_penalty=kind, alpha=alpha)[0][0] == both[0]


def chain(*steps: tuple[float, float]) -> Table:
    """Return a model of one symbol: after n of it, log-probabilities of the end and of one more."""

    def table(prefix: Prefix) -> list[float]:
        end, more = steps[min(len(prefix), len(steps) - 1)]
        return [-1e9, end, more]

    return table


@pytest.mark.parametrize(("rule", "n_best", "steps"), [
    ("exact", 1, 2), ("exact", 2, 3), ("t2t-best", 1, 2), ("t2t-2017", 1, 3),
])  # fmt: skip
def test_each_stop_rule_stops_where_its_bound_says(rule: str, n_best: int, steps: int) -> None:
    # Finished after step 1: -3.0; after 2: -0.95, with -1.9 alive; after 3: -2.0, with -4.4 alive.
    model = TableModel(chain((-3.0, -0.06), (-0.89, -1.84), (-0.1, -2.5)))
    settings = {"beam_size": 2, "length_penalty": "none", "stop_rule": rule, "n_best": n_best}
    [found] = beam_search(model, torch.tensor([30]), SearchConfig.model_validate(settings))
    assert model.n_steps == steps
    assert found[0].log_prob == pytest.approx(-0.95)


def test_one_finished_hypothesis_is_enough_for_the_rule_of_2017() -> None:
    model = TableModel(chain((-0.1, -2.4), (-0.1, -2.4)))
    settings = {"beam_size": 2, "length_penalty": "none", "stop_rule": "t2t-2017", "n_best": 2}
    [found] = beam_search(model, torch.tensor([30]), SearchConfig.model_validate(settings))
    assert (model.n_steps, len(found)) == (1, 1)


def test_sentences_of_a_batch_get_what_they_get_alone() -> None:
    tables = [random_table(seed, vocab_size=9, end=float(seed % 4)) for seed in range(12)]
    limits = [3 + 2 * (seed % 7) for seed in range(12)]
    together = search(*tables, limit=limits, beam_size=4, n_best=3)
    assert together == [
        search(table, limit=limit, beam_size=4, n_best=3)[0] for table, limit in zip(tables, limits, strict=True)
    ]


def test_a_sentence_that_is_done_leaves_the_batch() -> None:
    model = TableModel(chain((-0.01, -5.0)), chain((-9.0, -0.01)))
    beam_search(model, torch.tensor([30, 30]), SearchConfig(beam_size=1, length_penalty="none"))
    assert len(model.tables) == 1


def test_a_beam_of_one_follows_the_likeliest_piece() -> None:
    table = random_table(5, vocab_size=9)
    [found] = search(table, limit=8, beam_size=1)
    ids: Prefix = ()
    while len(ids) < 8 and (piece := max(range(1, 9), key=table(ids).__getitem__)) != END:
        ids = (*ids, piece)
    assert tuple(found[0].ids) == ids


def test_a_beam_of_50_works_with_a_vocabulary_of_12() -> None:
    table = random_table(1, vocab_size=12, end=1.0)
    [found] = search(table, limit=4, beam_size=50, n_best=50)
    expected = plain_search(table, vocab_size=12, limit=4, beam_size=50, kind="wu", alpha=0.6)
    assert [tuple(hypothesis.ids) for hypothesis in found] == [ids for _, ids in expected]
    assert tuple(found[0].ids) == every_ending(table, vocab_size=12, limit=4, kind="wu", alpha=0.6)[0][1]


@pytest.mark.parametrize("n_best", [2, 5])
def test_asking_for_more_answers_does_not_change_the_first(n_best: int) -> None:
    for seed in range(20):
        table = random_table(seed, vocab_size=8, end=0.5)
        [several] = search(table, limit=10, beam_size=5, n_best=n_best)
        assert search(table, limit=10, beam_size=5) == [several[:1]]
        scores = [hypothesis.score for hypothesis in several]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(hypothesis.ids) for hypothesis in several}) == len(several)


def test_padding_is_never_generated_however_likely_it_is() -> None:
    def table(_: Prefix) -> list[float]:
        return [-0.001, -8.0, -9.0]

    [found] = search(table, limit=5, beam_size=3, n_best=3)
    assert [hypothesis.ids for hypothesis in found] == [[], [2], [2, 2]]


def test_of_equal_hypotheses_the_one_with_lower_pieces_comes_first() -> None:
    def table(prefix: Prefix) -> list[float]:
        return [-1.0] * 6 if len(prefix) < 2 else [-9.0, -0.5, *([-9.0] * 4)]

    [found] = search(table, limit=3, beam_size=4, n_best=4, min_length=2, length_penalty="none")
    assert [hypothesis.ids for hypothesis in found] == [[2, 2], [2, 3], [2, 4], [2, 5]]


def test_no_output_ends_before_the_least_length() -> None:
    table = random_table(3, vocab_size=6, end=4.0)
    assert search(table, limit=9, beam_size=3)[0][0].ids == []
    for hypothesis in search(table, limit=9, beam_size=3, n_best=3, min_length=4)[0]:
        assert len(hypothesis.ids) >= 4


def test_an_output_without_end_is_cut_at_its_limit_and_says_so() -> None:
    def table(_: Prefix) -> list[float]:
        return [-1e9, -50.0, -0.25, -3.0, -3.0]

    [found] = search(table, limit=6, beam_size=1)
    assert found == [Hypothesis([2] * 6, pytest.approx(-1.5), pytest.approx(-1.5), is_cut=True)]


def test_an_end_in_the_last_place_is_no_cut() -> None:
    [found] = search(chain((-1e9, -0.1), (-0.2, -1e9)), limit=2, beam_size=1, length_penalty="none")
    assert found == [Hypothesis([2], pytest.approx(-0.3), pytest.approx(-0.3))]


def test_a_model_without_any_way_on_gives_an_empty_cut_answer() -> None:
    def table(_: Prefix) -> list[float]:
        return [0.0, -math.inf, -math.inf]

    assert search(table, limit=4, beam_size=2) == [[Hypothesis([], -math.inf, -math.inf, is_cut=True)]]


def test_probabilities_that_are_no_numbers_are_the_models_fault() -> None:
    def table(_: Prefix) -> list[float]:
        return [0.0, math.nan, -1.0]

    with pytest.raises(ModelError, match="not finite"):
        search(table, limit=4, beam_size=2)


def test_penalties_have_the_values_of_their_formulas() -> None:
    assert length_penalty(1, kind="wu", alpha=0.6) == 1.0
    assert length_penalty(7, kind="wu", alpha=1.0) == pytest.approx(2.0)
    assert length_penalty(4, kind="length", alpha=0.5) == pytest.approx(2.0)
    assert length_penalty(9, kind="none", alpha=0.5) == 1.0
