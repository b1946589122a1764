"""Which source piece each target piece was translated from, as cross-attention has it.

The weights are the mean over the heads of the last layer but one, which agrees best with what people align
(Garg et al. 2019, section 3), or of the only layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.decoding.hypothesis import Alignment
from nmt_cli.model.attention import Padded, hide
from nmt_cli.model.layers import DecoderLayer
from nmt_cli.model.transformer import Transformer
from nmt_cli.subwords.segmenter import END, PAD


@torch.no_grad()
def alignments(
    models: Sequence[Transformer], source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
) -> list[Alignment]:
    """Return the source piece that each piece of the padded targets attends to most; of equals, the first.

    A piece that attends most to the end of the source is aligned to nothing. Several models are an ensemble.
    """
    weights = torch.stack([_cross_attention(model, source, target) for model in models]).mean(dim=0)
    most = weights.argmax(dim=-1)
    aligned = (target != PAD) & (target != END) & (source.gather(1, most) != END)
    found: list[list[tuple[int, int]]] = [[] for _ in source]
    for sentence, place in aligned.nonzero().tolist():
        found[sentence].append((int(most[sentence, place]), place))
    return [tuple(pairs) for pairs in found]


def _cross_attention(
    model: Transformer, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
) -> Float[Tensor, "B T S"]:
    """Return the weights with which each target piece, when it was to be chosen, looked at the source."""
    layers = [cast("DecoderLayer", layer) for layer in model.decoder_layers]
    *before, chosen = layers[: max(len(layers) - 1, 1)]
    memory = model.encode(source)
    states = model.embed_target(torch.cat([torch.full_like(target[:, :1], PAD), target[:, :-1]], dim=1), first=0)
    past = torch.ones(target.size(1), target.size(1), dtype=torch.bool, device=target.device).tril()
    layout = Padded(hide(past[None, None], states.dtype))
    over_memory = Padded(hide((source != PAD)[:, None, None, :], states.dtype))
    for layer in before:
        states = layer(states, memory, layout, over_memory)
    around = chosen.self_attention_residual
    states = around.after(states, chosen.self_attention.over_itself(around.before(states), layout))
    attention = chosen.cross_attention
    query = attention.queries(chosen.cross_attention_residual.before(states))
    key, _ = attention.keys_values(memory)
    scores = torch.matmul(query * query.size(-1) ** -0.5, key.transpose(-2, -1)) + over_memory.bias
    return scores.softmax(dim=-1).mean(dim=1)
