"""The Transformer a step at a time: keys and values of what is known already are kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.decoding.search import StepModel
from nmt_cli.model.attention import attend, hide
from nmt_cli.model.layers import DecoderLayer
from nmt_cli.model.transformer import Transformer
from nmt_cli.subwords.segmenter import PAD


class CachedTransformer:
    """A step model: B sentences that were encoded once, W hypotheses of each."""

    def __init__(self, model: Transformer, source: Int[Tensor, "B S"]) -> None:
        """Encode padded sources, end symbols included."""
        self._model = model
        self._layers = [cast("DecoderLayer", layer) for layer in model.decoder_layers]
        memory = model.encode(source)
        self._memory = [layer.cross_attention.keys_values(memory) for layer in self._layers]
        self._memory_bias = hide((source != PAD)[:, None, None, :], memory.dtype)
        # A layer's keys and values side by side, [B*W H T K+V], so that one selection moves both.
        self._past: list[Tensor | None] = [None] * len(self._layers)
        self._length = 0
        self._width = 1

    def next_log_probs(self, newest: Int[Tensor, "B W"]) -> Float[Tensor, "B W V"]:
        """Take one more piece of each hypothesis; return the log-probabilities of the next, in nats."""
        model = self._model
        size, self._width = newest.shape
        states = model.embed_target(newest.reshape(-1, 1), first=self._length).view(size, self._width, -1)
        self._length += 1
        for number, layer in enumerate(self._layers):
            states = self._self_attention(number, layer, states)
            around, attention = layer.cross_attention_residual, layer.cross_attention
            keys, values = self._memory[number]
            # A sentence's hypotheses are the queries, so that its memory needs no copy for each.
            seen = attend(attention.queries(around.before(states)), keys, values, self._memory_bias)
            states = around.after(states, attention.mix(seen))
            around = layer.feed_forward_residual
            states = around.after(states, layer.feed_forward(around.before(states)))
        logits = model.logits(model.decoder_norm(states))
        return logits.log_softmax(dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))

    def _self_attention(self, number: int, layer: DecoderLayer, states: Float[Tensor, "B W D"]) -> Tensor:
        around, attention = layer.self_attention_residual, layer.self_attention
        query, key, value = attention.queries_keys_values(around.before(states).flatten(0, 1)[:, None])
        now, past = torch.cat([key, value], dim=-1), self._past[number]
        known = now if past is None else torch.cat([past, now], dim=2)
        self._past[number] = known
        nothing_hidden = torch.zeros(1, 1, 1, self._length, dtype=states.dtype, device=states.device)
        seen = attend(query, known[..., : attention.d_k], known[..., attention.d_k :], nothing_hidden)
        return around.after(states, attention.mix(seen).view_as(states))

    def keep(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N W2"]) -> None:
        """Go on with these sentences and of each with these of its hypotheses."""
        size = self._memory_bias.size(0)
        rows = (sentences[:, None] * self._width + parents).flatten()
        stays = len(rows) == size * self._width and torch.equal(rows, torch.arange(len(rows), device=rows.device))
        if not stays:
            self._past = [past if past is None else past.index_select(0, rows) for past in self._past]
        if len(sentences) < size:
            self._memory = [(keys[sentences], values[sentences]) for keys, values in self._memory]
            self._memory_bias = self._memory_bias[sentences]


class Ensemble:
    """Several step models as one: the mean of their probabilities."""

    def __init__(self, members: Sequence[StepModel]) -> None:
        """Take models of one target vocabulary."""
        self._members = members

    def next_log_probs(self, newest: Int[Tensor, "B W"]) -> Float[Tensor, "B W V"]:
        """Ask all of them."""
        each = torch.stack([member.next_log_probs(newest) for member in self._members])
        return each.logsumexp(dim=0) - math.log(len(self._members))

    def keep(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N W2"]) -> None:
        """Tell all of them."""
        for member in self._members:
            member.keep(sentences, parents)
