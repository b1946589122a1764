"""Matrix products in whole numbers: a model's linear maps in int8, what goes in rounded as it comes.

A weight has a scale a row, as in a stored int8 model; a vector that goes in has a scale of its own. The sums
are exact, so that the result for a vector does not depend on what else is in its batch.
"""

from __future__ import annotations

from typing import cast

import torch
from jaxtyping import Float, Int8
from torch import Tensor, nn

from nmt_cli.model.projection import Linear
from nmt_cli.model.transformer import Transformer

LARGEST = 127
SMALLEST_SCALE = 1e-30
"""So that a vector of zeros stays one."""


class Int8Linear(nn.Module):
    """x W^T + b, W rounded once and x at each call."""

    def __init__(self, weight: Float[Tensor, "Z A"], bias: Float[Tensor, " Z"] | None = None) -> None:
        """Round a weight; the bias stays as it is."""
        super().__init__()
        rounded, scale = _rounded(weight.detach())
        # Columns are what the kernel reads as they lie; a buffer, so that the model moves and casts as one.
        self._columns = rounded.t()
        self._scale = scale.flatten()
        self._bias = None if bias is None else bias.detach()

    def forward(self, states: Float[Tensor, "*shape A"]) -> Float[Tensor, "*shape Z"]:
        """Project."""
        rounded, scale = _rounded(states.flatten(0, -2))
        projected = torch._int_mm(rounded, self._columns).float().mul_(scale).mul_(self._scale)  # noqa: SLF001
        if self._bias is not None:
            projected += self._bias
        return projected.view(*states.shape[:-1], -1)


def _rounded(rows: Float[Tensor, "N A"]) -> tuple[Int8[Tensor, "N A"], Float[Tensor, "N 1"]]:
    """Return the rows as whole numbers of at most 127, and what one is worth in each."""
    scale = rows.abs().amax(dim=-1, keepdim=True).div_(LARGEST).clamp_min_(SMALLEST_SCALE)
    return (rows / scale).round_().to(torch.int8), scale


def to_int8(model: Transformer) -> Transformer:
    """Return a model, changed in place, whose linear maps and output projection are in int8."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, Linear):
                setattr(module, name, Int8Linear(child.weight, child.bias))
    model.output_projection = Int8Linear(cast("Tensor", model.output.weight))
    return model
