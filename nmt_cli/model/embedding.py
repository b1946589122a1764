"""Embeddings and positions (paper, sections 3.4 and 3.5)."""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nmt_cli.config import ModelConfig
from nmt_cli.subwords.segmenter import PAD

N_TARGET_SPACES = 32
"""Rows of t2t's table of target spaces; a task uses one row."""


def interleaved_sinusoids(n_positions: int, d_model: int) -> Float[Tensor, "T D"]:
    """PE[p, 2i] = sin(p / 10000^(2i/d)), PE[p, 2i+1] = cos of the same (section 3.5)."""
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = torch.arange(n_positions, dtype=torch.float64)[:, None] / 10_000 ** (even / d_model)
    both = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    return both[:, :d_model].float()


def concatenated_sinusoids(n_positions: int, d_model: int) -> Float[Tensor, "T D"]:
    """All sines, then all cosines, wavelengths from 2 pi to 10000 * 2 pi (t2t); zero where d_model is odd."""
    half = d_model // 2
    step = math.log(10_000) / max(half - 1, 1)
    rates = torch.exp(-step * torch.arange(half, dtype=torch.float64))
    angles = torch.arange(n_positions, dtype=torch.float64)[:, None] * rates
    both = torch.cat([angles.sin(), angles.cos()], dim=1)
    return functional.pad(both, (0, d_model - 2 * half)).float()


@lru_cache(maxsize=8)
def _sinusoids(layout: str, n_positions: int, d_model: int, device: torch.device) -> Float[Tensor, "T D"]:
    make = interleaved_sinusoids if layout == "interleaved" else concatenated_sinusoids
    return make(n_positions, d_model).to(device)


class Positions(nn.Module):
    """The vector of each position: sinusoids, which have no parameters, or a learned table."""

    def __init__(self, config: ModelConfig) -> None:
        """Make the table where positions are learned."""
        super().__init__()
        self.layout, self.d_model = config.positions, config.d_model
        if config.positions == "learned":
            self.table = nn.Parameter(torch.empty(config.max_positions, config.d_model))

    @property
    def limit(self) -> int | None:
        """Number of positions there are; None: no limit."""
        return len(self.table) if self.layout == "learned" else None

    def forward(self, first: int, n_positions: int, like: Tensor) -> Float[Tensor, "T D"]:
        """Return the vectors of positions first .. first + n_positions - 1."""
        last = first + n_positions
        if self.layout == "learned":
            if last > len(self.table):
                raise ValueError(f"position {last - 1} is past the learned table of {len(self.table)} rows")
            rows: Tensor = self.table[first:last] * self.d_model**0.5
            return rows
        size = max(256, 1 << (last - 1).bit_length())
        return _sinusoids(self.layout, size, self.d_model, like.device)[first:last].to(like.dtype)

    def at(self, places: Int[Tensor, " N"], n_positions: int, like: Tensor) -> Float[Tensor, "N D"]:
        """Return the vectors of given positions, all below `n_positions`."""
        table: Tensor = self(0, n_positions, like)
        return table.index_select(0, places)


class Embedding(nn.Module):
    """Pieces to vectors of unit variance; the padding symbol to exactly zero (section 3.4)."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        """Make the matrix, shared with the output projection where the settings tie them."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))

    def forward(self, ids: Int[Tensor, "*B T"]) -> Float[Tensor, "*B T D"]:
        """Look up, scale by sqrt(d_model), and silence padding."""
        real = (ids != PAD).unsqueeze(-1).to(self.weight.dtype)
        return functional.embedding(ids, self.weight) * (real * math.sqrt(self.weight.size(1)))
