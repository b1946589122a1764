"""Linear maps and norms that keep float32 weights and work in the precision of what comes in."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class Linear(nn.Linear):
    """x W^T + b with W and b rounded to the precision of x; their gradients are summed in float32."""

    def forward(self, states: Float[Tensor, "*shape A"]) -> Float[Tensor, "*shape Z"]:
        """Project."""
        bias = None if self.bias is None else self.bias.to(states.dtype)
        return functional.linear(states, self.weight.to(states.dtype), bias)


class LayerNorm(nn.LayerNorm):
    """Layer normalisation (Ba et al. 2016); mean and variance are taken in float32."""

    def forward(self, states: Float[Tensor, "*shape D"]) -> Float[Tensor, "*shape D"]:
        """Normalise each position."""
        weight, bias = self.weight.to(states.dtype), self.bias.to(states.dtype)
        return functional.layer_norm(states, self.normalized_shape, weight, bias, self.eps)
