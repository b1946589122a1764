"""The layers of encoder and decoder (paper, sections 3.1 and 3.3)."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from nmt_cli.config import ModelConfig
from nmt_cli.model.attention import Layout, MultiHeadAttention
from nmt_cli.model.dropout import dropout
from nmt_cli.model.projection import LayerNorm, Linear


class Residual(nn.Module):
    """What stands around a sublayer: LayerNorm(x + Dropout(Sublayer(x))), or its pre-norm form."""

    def __init__(self, config: ModelConfig) -> None:
        """Make the norm."""
        super().__init__()
        self.pre_norm = config.norm == "pre"
        self.dropout = config.dropout
        self.norm = LayerNorm(config.d_model, eps=config.layer_norm_epsilon)

    def before(self, states: Float[Tensor, "*B T D"]) -> Float[Tensor, "*B T D"]:
        """Return what the sublayer sees."""
        return self.norm(states) if self.pre_norm else states

    def after(self, states: Float[Tensor, "*B T D"], change: Float[Tensor, "*B T D"]) -> Float[Tensor, "*B T D"]:
        """Return the states with what the sublayer adds."""
        changed = states + dropout(change, self.dropout, training=self.training)
        return changed if self.pre_norm else self.norm(changed)


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2 (section 3.3, equation 2)."""

    def __init__(self, config: ModelConfig) -> None:
        """Make both matrices."""
        super().__init__()
        self.dropout = config.ffn_dropout
        self.inner = Linear(config.d_model, config.d_ff)
        self.outer = Linear(config.d_ff, config.d_model)

    def forward(self, states: Float[Tensor, "*B T D"]) -> Float[Tensor, "*B T D"]:
        """Apply equation 2 to each position."""
        inner = functional.relu(self.inner(states))
        if self.dropout:
            inner = dropout(inner, self.dropout, training=self.training)
        outer: Tensor = self.outer(inner)
        return outer


def _attention(config: ModelConfig, *, over_memory: bool) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model,
        n_heads=config.n_heads,
        d_k=config.d_k,
        d_v=config.d_v,
        bias=config.attention_bias,
        dropout=config.attention_dropout,
        over_memory=over_memory,
    )


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        """Make the sublayers and what stands around them."""
        super().__init__()
        self.self_attention = _attention(config, over_memory=False)
        self.self_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, states: Float[Tensor, "*B S D"], layout: Layout) -> Float[Tensor, "*B S D"]:
        """Encode one layer further; a position sees its whole sentence."""
        around = self.self_attention_residual
        states = around.after(states, self.self_attention.over_itself(around.before(states), layout))
        around = self.feed_forward_residual
        return around.after(states, self.feed_forward(around.before(states)))


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the encoder's output, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        """Make the sublayers and what stands around them."""
        super().__init__()
        self.self_attention = _attention(config, over_memory=False)
        self.self_attention_residual = Residual(config)
        self.cross_attention = _attention(config, over_memory=True)
        self.cross_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        states: Float[Tensor, "*B T D"],
        memory: Float[Tensor, "*B S D"],
        layout: Layout,
        memory_layout: Layout,
    ) -> Float[Tensor, "*B T D"]:
        """Decode one layer further; a position sees those up to its own, and the whole source."""
        around = self.self_attention_residual
        states = around.after(states, self.self_attention.over_itself(around.before(states), layout))
        around = self.cross_attention_residual
        states = around.after(states, self.cross_attention.over_memory(around.before(states), memory, memory_layout))
        around = self.feed_forward_residual
        return around.after(states, self.feed_forward(around.before(states)))
