"""The label-smoothed loss (paper, section 5.4), summed; the caller divides once by the update's tokens."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

ROWS_AT_A_TIME = 256
"""Positions whose logits exist at the same time; few enough to stay in the cache of a CPU."""
ROWS_A_PRODUCT = 1_024
"""Positions whose probabilities are kept until they are multiplied together, a multiple of the above."""
ROWS_ON_A_GPU = 2_048
"""Both of these on a GPU, where each product has to be large enough to fill it."""


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
    # With P = softmax(logits), W the output matrix and h the states, d loss / d logits is P - other everywhere
    # and at_gold less at the gold symbol. Only P without its gold entries is as large as N x V and may be rounded;
    # the rest of the gradient is added to the products of it, where it costs N x D and V x D. The gold entry less
    # at_gold stays exact: where the model is sure of the gold symbol it is all there is, and rounding would drown it.

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
        normalisers, gold_logits, gold_probabilities = states.new_empty(3, len(states))
        at_a_time, a_product = (ROWS_ON_A_GPU,) * 2 if states.is_cuda else (ROWS_AT_A_TIME, ROWS_A_PRODUCT)
        logits_buffer = states.new_empty(min(at_a_time, len(states)), output.size(0))
        kept = rounded_states.new_empty(min(a_product, len(states)), output.size(0))
        for rows in _parts(len(states), a_product):
            some_states = rounded_states[rows]
            others = kept[: len(some_states)]
            for part in _parts(len(some_states), at_a_time):
                logits = _multiply(some_states[part], rounded_output.T, out=logits_buffer[: len(others[part])])
                some_gold = gold[rows][part, None]
                gold_logits[rows][part] = logits.gather(1, some_gold)[:, 0]
                normalisers[rows][part] = _softmax_(logits)
                gold_probabilities[rows][part] = logits.gather(1, some_gold)[:, 0]
                others[part] = logits.scatter_(1, some_gold, 0.0)
            if states_gradient is not None and output_gradient is not None:
                _multiply(others, rounded_output, out=states_gradient[rows])
                _add_product(output_gradient, others.T, some_states)
        output_sum = output.sum(dim=0)
        plain = (normalisers - gold_logits).sum()
        all_plain = output.size(0) * normalisers.sum() - (states.sum(dim=0) * output_sum).sum()
        if states_gradient is not None and output_gradient is not None:
            at_gold_too = (gold_probabilities - at_gold)[:, None]
            states_gradient.addcmul_(output.index_select(0, gold), at_gold_too).sub_(output_sum, alpha=other)
            output_gradient.index_add_(0, gold, states * at_gold_too).sub_(states.sum(dim=0), alpha=other)
        if states_gradient is not None:
            states_gradient = states_gradient.to(rounded_states.dtype)
        ctx.save_for_backward(states_gradient, output_gradient)
        ctx.mark_non_differentiable(plain)
        return at_gold * plain + other * all_plain, plain

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:  # noqa: ANN401
        states_gradient, output_gradient = ctx.saved_tensors
        return states_gradient * gradients[0], output_gradient * gradients[0], None, None, None


def _parts(n_rows: int, at_a_time: int) -> list[slice]:
    return [slice(first, first + at_a_time) for first in range(0, n_rows, at_a_time)]


def _softmax_(logits: Tensor) -> Tensor:
    """Turn logits into probabilities in place; return the log of the sum of their exponentials."""
    largest = logits.amax(dim=1)
    probabilities = torch.softmax(logits, dim=1, out=logits)
    return largest - probabilities.amax(dim=1).log()


def _multiply(left: Tensor, right: Tensor, *, out: Tensor) -> Tensor:
    """Return left x right in `out`, which may be of a higher precision."""
    if left.dtype == out.dtype:
        return torch.mm(left, right, out=out)
    return out.copy_(_product(left, right, precision=out.dtype))


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Add left x right to `total`, which may be of a higher precision."""
    if left.dtype == total.dtype:
        return total.addmm_(left, right)
    return total.add_(_product(left, right, precision=total.dtype))


def _product(left: Tensor, right: Tensor, *, precision: torch.dtype) -> Tensor:
    """Return left x right; in a higher precision than theirs where the device gives out sums without rounding them."""
    if gives_sums(left.device, left.dtype, precision):
        return mm_in(left, right, precision)
    return left @ right


def mm_in(left: Tensor, right: Tensor, precision: torch.dtype) -> Tensor:
    """Return a product in a higher precision than that of its factors; see `gives_sums`."""
    product: Tensor = torch.mm(left, right, out_dtype=precision)
    return product


@lru_cache
def gives_sums(device: torch.device, dtype: torch.dtype, precision: torch.dtype) -> bool:
    """Tell, by trying, whether products are to be had in a higher precision: of torch's devices GPUs do it."""
    try:
        factor = torch.ones(16, 16, device=device, dtype=dtype)
        return mm_in(factor, factor, precision).dtype == precision
    except (TypeError, RuntimeError):  # a torch that does not know of it; a device that does not
        return False
