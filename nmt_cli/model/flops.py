"""Model FLOPs: the arithmetic that the model itself asks for, whatever a program spends on it.

Counted are the products of matrices, a multiplication and an addition for each term, forward and twice as
much backward (by the input and by the weights): 6 FLOPs a multiply-add. Attention counts what each position
sees: all of the source, and of the target the triangle up to its own position. Not counted are look-ups in
embeddings, biases, norms, softmax, dropout, the optimizer, and anything done again or for padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nmt_cli.config import ModelConfig

FLOPS_PER_MULTIPLY_ADD = 2
PASSES = 3
"""Forward, and backward by the input and by the weights."""

Lengths = np.ndarray[Any, np.dtype[np.integer[Any]]]


@dataclass(frozen=True)
class MultiplyAdds:
    """Multiply-adds of the forward pass, by what they grow with."""

    source_token: int
    """Encoder layers, and the keys and values that the decoder draws from them."""
    target_token: int
    """Decoder layers and the output projection."""
    source_source: int
    """For each source position that a source position sees."""
    target_source: int
    """For each source position that a target position sees."""
    target_target: int
    """For each target position that a target position sees."""

    @classmethod
    def of(cls, config: ModelConfig, *, target_vocab_size: int) -> Self:
        """Return those of a model."""
        d_model, n_heads = config.d_model, config.n_heads
        query = d_model * n_heads * config.d_k
        key_value = d_model * n_heads * (config.d_k + config.d_v)
        output = n_heads * config.d_v * d_model
        feed_forward = 2 * d_model * config.d_ff
        seen = n_heads * (config.d_k + config.d_v)
        encoder, decoder = config.n_encoder_layers, config.n_decoder_layers
        return cls(
            source_token=encoder * (query + key_value + output + feed_forward) + decoder * key_value,
            target_token=decoder * (2 * query + key_value + 2 * output + feed_forward) + d_model * target_vocab_size,
            source_source=encoder * seen,
            target_source=decoder * seen,
            target_target=decoder * seen,
        )

    def training_flops(self, source_lengths: Lengths, target_lengths: Lengths) -> int:
        """Return the model FLOPs of training once on pairs of these lengths, end symbols counted; exact."""
        source, target = source_lengths.astype(np.int64), target_lengths.astype(np.int64)
        multiply_adds = (
            self.source_token * int(source.sum())
            + self.target_token * int(target.sum())
            + self.source_source * int((source**2).sum())
            + self.target_source * int((source * target).sum())
            + self.target_target * int((target * (target + 1) // 2).sum())
        )
        return PASSES * FLOPS_PER_MULTIPLY_ADD * multiply_adds
