"""The label-smoothed loss (paper, section 5.4), summed; the caller divides once by the update's tokens."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

ROWS_AT_A_TIME = 2_048
"""Positions whose logits exist at the same time."""


class SummedLoss(NamedTuple):
    """Sums over target tokens, in nats."""

    smoothed: Float[Tensor, ""]
    """What training minimises."""
    plain: Float[Tensor, ""]
    """Negative log-likelihood without smoothing: exp of its mean is the perplexity."""


def summed_loss(
    states: Float[Tensor, "N D"], output: Float[Tensor, "V D"], gold: Int[Tensor, " N"], *, smoothing: float
) -> SummedLoss:
    """Return the loss of real target tokens (no padding among them).

    The target distribution has 1 - smoothing on the gold symbol and smoothing / (V - 1) on each other
    symbol. The gradient is worked out with the value, so that the logits of all positions never exist
    at the same time.
    """
    smoothed, plain = _SummedLoss.apply(states, output, gold, smoothing)
    return SummedLoss(smoothed, plain)


class _SummedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch gives no type for it
        states: Tensor,
        output: Tensor,
        gold: Tensor,
        smoothing: float,
    ) -> tuple[Tensor, Tensor]:
        needs_gradient = states.requires_grad or output.requires_grad
        states_gradient = torch.empty_like(states) if needs_gradient else None
        output_gradient = torch.zeros_like(output) if needs_gradient else None
        smoothed, plain = states.new_zeros(()), states.new_zeros(())
        other = smoothing / (output.size(0) - 1)
        for first in range(0, len(states), ROWS_AT_A_TIME):
            rows = slice(first, first + ROWS_AT_A_TIME)
            logits = states[rows] @ output.T
            normaliser = torch.logsumexp(logits, dim=-1, keepdim=True)
            gold_rows = gold[rows, None]
            gold_logs = logits.gather(1, gold_rows) - normaliser
            plain -= gold_logs.sum()
            all_logs = logits.sum() - output.size(0) * normaliser.sum()
            smoothed -= (1 - smoothing - other) * gold_logs.sum() + other * all_logs
            if states_gradient is not None and output_gradient is not None:
                # d loss / d logits = softmax - target distribution
                change = logits.sub_(normaliser).exp_().sub_(other)
                change.scatter_add_(1, gold_rows, torch.full_like(gold_logs, other + smoothing - 1))
                torch.matmul(change, output, out=states_gradient[rows])
                output_gradient.addmm_(change.T, states[rows])
        ctx.save_for_backward(states_gradient, output_gradient)
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:  # noqa: ANN401
        states_gradient, output_gradient = ctx.saved_tensors
        return states_gradient * gradients[0], output_gradient * gradients[0], None, None
