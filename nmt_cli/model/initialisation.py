"""Initial values as in the reference implementation (paper-era tensor2tensor)."""

from __future__ import annotations

import math

import torch
from torch import nn

from nmt_cli.model.attention import MultiHeadAttention
from nmt_cli.model.embedding import Embedding, Positions
from nmt_cli.model.layers import FeedForward
from nmt_cli.model.transformer import Transformer


def initialise(model: Transformer, *, seed: int) -> None:
    """Fill all parameters: Glorot uniform matrices, zero biases, normal embeddings of std d_model^-0.5.

    `glorot-fused` takes the width of the fused projection as fan-out, as t2t did in June 2017;
    `glorot` takes each of its blocks by itself.
    """
    generator = torch.Generator().manual_seed(seed)
    std = model.config.d_model**-0.5
    fused = model.config.initialisation == "glorot-fused"
    with torch.no_grad():
        for module in model.modules():
            match module:
                case MultiHeadAttention():
                    for linear, blocks in _projections(module):
                        _fill(linear, [linear.out_features] if fused else blocks, generator)
                case FeedForward():
                    _fill(module.inner, [module.inner.out_features], generator)
                    _fill(module.outer, [module.outer.out_features], generator)
                case Embedding():
                    module.weight.normal_(0.0, std, generator=generator)
                case Positions() if module.limit is not None:
                    module.table.normal_(0.0, std, generator=generator)
                case nn.LayerNorm():
                    module.reset_parameters()
        if model.target_space is not None:
            model.target_space.normal_(0.0, std, generator=generator)


def _projections(attention: MultiHeadAttention) -> list[tuple[nn.Linear, list[int]]]:
    """Return each linear map with the widths of its blocks: queries, keys, values."""
    keys, values = attention.n_heads * attention.d_k, attention.n_heads * attention.d_v
    output = (attention.output, [attention.output.out_features])
    if attention.is_over_memory:
        return [(attention.query, [keys]), (attention.key_value, [keys, values]), output]
    return [(attention.query_key_value, [keys, keys, values]), output]


def _fill(linear: nn.Linear, blocks: list[int], generator: torch.Generator) -> None:
    """Fill blocks of rows with U(-a, a), a = sqrt(6 / (fan_in + rows of the block)); the bias with 0."""
    first = 0
    for rows in blocks:
        bound = math.sqrt(6 / (linear.in_features + rows))
        linear.weight[first : first + rows].uniform_(-bound, bound, generator=generator)
        first += rows
    if linear.bias is not None:
        linear.bias.zero_()
