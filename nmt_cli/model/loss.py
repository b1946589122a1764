"""The label-smoothed loss (paper, section 5.4), summed; the caller divides once by the update's tokens."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

ROWS_AT_A_TIME = 256
"""Positions whose logits exist at the same time; few enough to stay in the cache of a CPU."""
ROWS_A_PRODUCT = 1_024
"""Positions whose probabilities are kept until they are multiplied together, a multiple of the above."""


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
    at the same time. Products are taken in the precision of the states, everything else in that of
    the output matrix.
    """
    # Within the function requires_grad stays true under no_grad, and gradients are always off.
    needs_gradient = torch.is_grad_enabled() and (states.requires_grad or output.requires_grad)
    smoothed, plain = _SummedLoss.apply(states, output, gold, smoothing, needs_gradient)  # type: ignore[no-untyped-call]
    return SummedLoss(smoothed, plain)


class _SummedLoss(torch.autograd.Function):
    # With P = softmax(logits), W the output matrix and h the states, d loss / d logits is
    # P - other everywhere and 1 - smoothing - other less at the gold symbol. Only P is as large as
    # N x V; the rest of the gradient is added to the products of P, where it costs N x D and V x D.

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch gives no type for it
        states: Tensor,
        output: Tensor,
        gold: Tensor,
        smoothing: float,
        needs_gradient: bool,
    ) -> tuple[Tensor, Tensor]:
        other = smoothing / (output.size(0) - 1)
        at_gold = 1 - smoothing - other
        rounded_states, rounded_output = states, output.to(states.dtype)
        states = states.to(output.dtype)
        states_gradient = torch.empty_like(states) if needs_gradient else None
        output_gradient = torch.zeros_like(output) if needs_gradient else None
        normalisers = states.new_empty(len(states))
        logits_buffer = states.new_empty(min(ROWS_AT_A_TIME, len(states)), output.size(0))
        kept = rounded_states.new_empty(min(ROWS_A_PRODUCT, len(states)), output.size(0))
        for first in range(0, len(states), ROWS_A_PRODUCT):
            rows = slice(first, first + ROWS_A_PRODUCT)
            some_states = rounded_states[rows]
            probabilities = kept[: len(some_states)]
            _softmax(some_states, rounded_output, normalisers[rows], logits_buffer, out=probabilities)
            if states_gradient is not None and output_gradient is not None:
                _multiply(probabilities, rounded_output, out=states_gradient[rows])
                _add_product(output_gradient, probabilities.T, some_states)
        gold_rows = output.index_select(0, gold)
        output_sum = output.sum(dim=0)
        plain = (normalisers - (states * gold_rows).sum(dim=1)).sum()
        all_plain = output.size(0) * normalisers.sum() - (states.sum(dim=0) * output_sum).sum()
        if states_gradient is not None and output_gradient is not None:
            states_gradient.sub_(gold_rows, alpha=at_gold).sub_(output_sum, alpha=other)
            output_gradient.index_add_(0, gold, states, alpha=-at_gold).sub_(states.sum(dim=0), alpha=other)
        if states_gradient is not None:
            states_gradient = states_gradient.to(rounded_states.dtype)
        ctx.save_for_backward(states_gradient, output_gradient)
        ctx.mark_non_differentiable(plain)
        return at_gold * plain + other * all_plain, plain

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:  # noqa: ANN401
        states_gradient, output_gradient = ctx.saved_tensors
        return states_gradient * gradients[0], output_gradient * gradients[0], None, None, None


def _softmax(states: Tensor, output: Tensor, normalisers: Tensor, buffer: Tensor, *, out: Tensor) -> None:
    """Set `out` to the probabilities of all symbols and `normalisers` to log sum exp, a few rows at a time.

    Both are worked out in the precision of `buffer`, and the probabilities rounded to that of `out`.
    """
    for first in range(0, len(states), ROWS_AT_A_TIME):
        rows = slice(first, first + ROWS_AT_A_TIME)
        logits = _multiply(states[rows], output.T, out=buffer[: len(out[rows])])
        largest = logits.amax(dim=1)
        probabilities = torch.softmax(logits, dim=1, out=logits)
        normalisers[rows] = largest - probabilities.amax(dim=1).log()
        out[rows] = probabilities


def _multiply(left: Tensor, right: Tensor, *, out: Tensor) -> Tensor:
    """Return left x right in `out`, which may be of a higher precision."""
    return torch.mm(left, right, out=out) if left.dtype == out.dtype else out.copy_(left @ right)


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Add left x right to `total`, which may be of a higher precision."""
    return total.addmm_(left, right) if left.dtype == total.dtype else total.add_(left @ right)
