"""Dropout by masks of our own: how often, how much, and that the gradient has the same mask."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from nmt_cli.model.dropout import dropout


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
def test_each_number_is_dropped_with_the_probability_and_the_mean_stays(probability: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    n = 1_000_003  # not a multiple of the four that share a draw
    kept = dropout(torch.ones(n, dtype=dtype), probability)
    share = float((kept == 0).double().mean())
    assert abs(share - probability) < 4 * math.sqrt(probability * (1 - probability) / n) + 1e-5
    scale = torch.tensor(1 / (1 - probability), dtype=dtype)
    assert torch.allclose(kept[kept != 0], scale, rtol=1e-2 if dtype == torch.bfloat16 else 2e-4)


def test_numbers_that_share_a_draw_are_dropped_independently() -> None:
    torch.manual_seed(2)
    dropped = (dropout(torch.ones(200_000, 4), 0.5) == 0).double()
    correlation = torch.corrcoef(dropped.T) - torch.eye(4)
    assert float(correlation.abs().max()) < 4 / math.sqrt(200_000)
    following = torch.corrcoef(torch.stack([dropped[:-1, 3], dropped[1:, 0]]))[0, 1]
    assert abs(float(following)) < 4 / math.sqrt(200_000)


def test_the_gradient_has_the_mask_of_the_value() -> None:
    torch.manual_seed(3)
    states = torch.randn(7, 11, requires_grad=True)
    kept = dropout(states, 0.25)
    kept.sum().backward()
    assert torch.allclose(kept, states * states.grad)
    assert set(states.grad.unique().tolist()) == {0.0, torch.tensor(4 / 3).item()}


def test_the_generator_decides() -> None:
    def drawn(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return dropout(torch.ones(100), 0.5)

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


def test_off_it_gives_back_what_came_in() -> None:
    states = torch.randn(5)
    assert dropout(states, 0.5, training=False) is states
    assert dropout(states, 0.0) is states


@pytest.mark.parametrize("probability", [0.999999, 1 - 1e-12])
def test_a_probability_next_to_one_keeps_a_number_in_65536_and_the_mean(probability: float) -> None:
    torch.manual_seed(4)
    n = 4_000_000
    kept = dropout(torch.ones(n, dtype=torch.float64), probability)
    assert set(kept.unique().tolist()) == {0.0, 65_536.0}
    expected = n / 65_536
    assert abs(int(torch.count_nonzero(kept)) - expected) < 4 * math.sqrt(expected)
