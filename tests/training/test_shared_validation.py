"""Validation shared by several ranks is the validation of one, to the last bit."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt_cli.batches.corpus import open_pieces
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.training.ranks import Ranks
from nmt_cli.training.validation import ValidationResult, Validator, gathered

SMALL = ["search.batch_tokens=40", "search.min_length=3", "training.micro_batch_tokens=30"]


class InThreads(Ranks):
    """A rank among others that are threads of this process."""

    def __init__(self, rank: int, together: threading.Barrier, table: dict[int, Tensor]) -> None:
        """Stand at a place."""
        super().__init__(rank, together.parties)
        object.__setattr__(self, "together", together)
        object.__setattr__(self, "table", table)

    def sum_(self, values: Tensor) -> None:
        self.table[self.rank] = values.clone()
        self.together.wait(60)
        values.copy_(torch.stack([self.table[rank] for rank in range(self.world_size)]).sum(0))
        self.together.wait(60)


def with_ranks(n_ranks: int, work: Callable[[Ranks], Any]) -> list[Any]:
    together, table = threading.Barrier(n_ranks), dict[int, Tensor]()
    with ThreadPoolExecutor(n_ranks) as pool:
        return list(pool.map(work, [InThreads(rank, together, table) for rank in range(n_ranks)]))


@pytest.fixture
def validated_by(
    toy: Any,  # noqa: ANN401
    random_transformer: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[int], tuple[ValidationResult, list[int]]]:
    """Return what gives the result of a number of ranks, with how many sentences each translated."""
    pieces, settings = open_pieces(toy.corpus), toy.settings(*SMALL)
    model, search = random_transformer(vocab_size=300).train(), TorchEngine.search

    def validate(n_ranks: int) -> tuple[ValidationResult, list[int]]:
        counts = dict.fromkeys(range(n_ranks), 0)

        def one(ranks: Ranks) -> ValidationResult | None:
            mine, validator = copy.deepcopy(model), Validator(pieces, settings)

            def counted(engine: TorchEngine, sources: Any, config: Any) -> Any:  # noqa: ANN401
                counts[own[threading.get_ident()]] += len(sources)
                return search(engine, sources, config)

            own[threading.get_ident()] = ranks.rank
            monkeypatch.setattr(TorchEngine, "search", counted)
            result = validator.validate(mine, ranks) if ranks.rank == 0 else validator.take_part(mine, ranks)
            assert mine.training
            return result if isinstance(result, ValidationResult) else None

        own: dict[int, int] = {}
        result = with_ranks(n_ranks, one)[0]
        return result, list(counts.values())

    return validate


def test_any_number_of_ranks_gives_the_same_loss_and_translations_and_shares_the_work(
    validated_by: Callable[[int], tuple[ValidationResult, list[int]]],
) -> None:
    alone, counts = validated_by(1)
    assert counts == [13]
    assert len(set(alone.hypotheses)) > 3
    for n_ranks in (2, 3, 20):
        together, counts = validated_by(n_ranks)
        assert together == alone
        assert sum(counts) == 13
        assert max(counts) < 13


@pytest.mark.parametrize("outputs", [[[], [5], [6, 7, 0]], [[]], [[], []], [[1, 2], [3], [], [4, 4, 4]]])
def test_outputs_come_back_in_their_places_empty_ones_too(outputs: list[list[int]]) -> None:
    def share(ranks: Ranks) -> list[list[int]]:
        mine = dict(list(enumerate(outputs))[ranks.rank :: ranks.world_size])
        return gathered(mine, len(outputs), ranks)

    assert with_ranks(3, share) == [outputs] * 3


def test_however_long_all_batches_take_a_rank_is_at_work_only_since_the_last(
    toy: Any,  # noqa: ANN401
    random_transformer: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that is at the same thing for `machine.rank_timeout_minutes` is ended."""
    search, clock = TorchEngine.search, [0.0]
    longest = [0.0]

    def slow(engine: TorchEngine, sources: Any, config: Any) -> Any:  # noqa: ANN401
        clock[0] += 100.0
        longest[0] = max(longest[0], ranks.standing.seconds)
        return search(engine, sources, config)

    monkeypatch.setattr("nmt_cli.training.ranks.time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(TorchEngine, "search", slow)
    ranks = Ranks()
    Validator(open_pieces(toy.corpus), toy.settings(*SMALL)).validate(random_transformer(vocab_size=300), ranks)
    assert clock[0] >= 300.0
    assert longest[0] == 100.0
