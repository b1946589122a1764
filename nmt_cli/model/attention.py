"""Multi-head attention (paper, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nmt_cli.model.dropout import dropout as drop
from nmt_cli.model.projection import Linear


def attend(
    query: Float[Tensor, "B H T K"],
    key: Float[Tensor, "B H S K"],
    value: Float[Tensor, "B H S V"],
    bias: Float[Tensor, "#B #H #T S"],
    *,
    dropout: float = 0.0,
) -> Float[Tensor, "B H T V"]:
    """Scaled dot-product attention (section 3.2.1, equation 1).

    `bias` is 0 where a key is visible and -inf where it is hidden; each query sees one key at least.
    """
    scores = torch.matmul(query * query.size(-1) ** -0.5, key.transpose(-2, -1)) + bias
    weights = torch.softmax(scores, dim=-1)
    if dropout:
        weights = drop(weights, dropout)
    return torch.matmul(weights, value)


def hide(visible: Bool[Tensor, "*shape"], dtype: torch.dtype) -> Float[Tensor, "*shape"]:
    """Return the bias that hides what is not visible."""
    return torch.zeros(visible.shape, dtype=dtype, device=visible.device).masked_fill_(~visible, float("-inf"))


@runtime_checkable
class Layout(Protocol):
    """How sentences lie in a tensor, and so which keys each query sees."""

    def attend(
        self,
        query: Float[Tensor, "*B H T K"],
        key: Float[Tensor, "*B H S K"],
        value: Float[Tensor, "*B H S V"],
        *,
        dropout: float,
    ) -> Float[Tensor, "*B H T V"]:
        """Mix the values that each query sees."""


@dataclass(frozen=True)
class Padded:
    """Sentences side by side, [B T D], the shorter ones padded."""

    bias: Float[Tensor, "#B 1 #T S"]
    """0 where a key is visible and -inf where it is hidden."""

    def attend(
        self,
        query: Float[Tensor, "B H T K"],
        key: Float[Tensor, "B H S K"],
        value: Float[Tensor, "B H S V"],
        *,
        dropout: float,
    ) -> Float[Tensor, "B H T V"]:
        """Mix the values that each query sees."""
        return attend(query, key, value, self.bias, dropout=dropout)


class MultiHeadAttention(nn.Module):
    """h heads side by side, projected back to d_model (section 3.2.2).

    One matrix projects to the queries, keys and values of self-attention, one to the keys and values
    of attention over a memory; heads stand one after the other in each block of rows.
    """

    def __init__(
        self, d_model: int, *, n_heads: int, d_k: int, d_v: int, bias: bool, dropout: float, over_memory: bool
    ) -> None:
        """Make the projections; `initialisation` fills them."""
        super().__init__()
        self.n_heads, self.d_k, self.d_v, self.dropout = n_heads, d_k, d_v, dropout
        self.is_over_memory = over_memory
        keys_values = n_heads * (d_k + d_v)
        if over_memory:
            self.query = Linear(d_model, n_heads * d_k, bias=bias)
            self.key_value = Linear(d_model, keys_values, bias=bias)
        else:
            self.query_key_value = Linear(d_model, n_heads * d_k + keys_values, bias=bias)
        self.output = Linear(n_heads * d_v, d_model, bias=bias)

    def over_itself(self, states: Float[Tensor, "*B T D"], layout: Layout) -> Float[Tensor, "*B T D"]:
        """Self-attention."""
        query, key, value = self.queries_keys_values(states)
        return self.mix(layout.attend(query, key, value, dropout=self._dropout_now()))

    def over_memory(
        self, states: Float[Tensor, "*B T D"], memory: Float[Tensor, "*B S D"], layout: Layout
    ) -> Float[Tensor, "*B T D"]:
        """Attention of the decoder over the encoder's output."""
        key, value = self.keys_values(memory)
        return self.mix(layout.attend(self.queries(states), key, value, dropout=self._dropout_now()))

    def queries_keys_values(
        self, states: Float[Tensor, "*B T D"]
    ) -> tuple[Float[Tensor, "*B H T K"], Float[Tensor, "*B H T K"], Float[Tensor, "*B H T V"]]:
        """Project for self-attention."""
        width = self.n_heads * self.d_k
        query, key, value = self.query_key_value(states).split([width, width, self.n_heads * self.d_v], dim=-1)
        return self._split(query), self._split(key), self._split(value)

    def queries(self, states: Float[Tensor, "*B T D"]) -> Float[Tensor, "*B H T K"]:
        """Project the decoder's states for attention over a memory."""
        return self._split(self.query(states))

    def keys_values(
        self, memory: Float[Tensor, "*B S D"]
    ) -> tuple[Float[Tensor, "*B H S K"], Float[Tensor, "*B H S V"]]:
        """Project a memory."""
        key, value = self.key_value(memory).split([self.n_heads * self.d_k, self.n_heads * self.d_v], dim=-1)
        return self._split(key), self._split(value)

    def mix(self, attended: Float[Tensor, "*B H T V"]) -> Float[Tensor, "*B T D"]:
        """Concatenate the heads and project them."""
        mixed: Tensor = self.output(attended.transpose(-3, -2).flatten(-2))
        return mixed

    def _split(self, states: Float[Tensor, "*B T HK"]) -> Float[Tensor, "*B H T K"]:
        return states.view(*states.shape[:-1], self.n_heads, -1).transpose(-3, -2)

    def _dropout_now(self) -> float:
        return self.dropout if self.training else 0.0
