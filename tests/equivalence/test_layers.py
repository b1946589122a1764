"""Encoder and decoder, layer by layer and as stacks, against torch.nn's with the same weights."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from nmt_cli.config import ModelConfig
from nmt_cli.model.attention import MultiHeadAttention, Padded, hide
from nmt_cli.model.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from nmt_cli.model.transformer import Transformer

D, HEADS, D_FF = 16, 4, 40
LENGTHS = torch.tensor([6, 2, 1])
SOURCE_VISIBLE = torch.arange(6) < LENGTHS[:, None]
SETTINGS = [(norm, bias) for norm in ("post", "pre") for bias in (False, True)]


def config(norm: str, *, bias: bool) -> ModelConfig:
    values = {"n_encoder_layers": 2, "n_decoder_layers": 3, "d_model": D, "d_ff": D_FF, "n_heads": HEADS}
    return ModelConfig.model_validate(values | {"dropout": 0.0, "norm": norm, "attention_bias": bias})


def randomise(module: nn.Module) -> None:
    """Give every parameter, biases and norms too, a value of its own."""
    torch.manual_seed(4)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-0.6, 0.6)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    parts = [ours.query, ours.key_value] if ours.is_over_memory else [ours.query_key_value]
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    theirs.out_proj.weight.copy_(ours.output.weight)
    if ours.output.bias is None:
        theirs.in_proj_bias.zero_()
        theirs.out_proj.bias.zero_()
    else:
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        theirs.out_proj.bias.copy_(ours.output.bias)


def copy_rest(feed_forward: FeedForward, residuals: list[Residual], theirs: nn.Module) -> None:
    theirs.linear1.load_state_dict(feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(feed_forward.outer.state_dict())
    for residual, norm in zip(residuals, (theirs.norm1, theirs.norm2, getattr(theirs, "norm3", None)), strict=False):
        norm.load_state_dict(residual.norm.state_dict())


def torchs(ours: EncoderLayer | DecoderLayer, norm: str) -> nn.Module:
    """Return torch's layer with the weights of ours; dropout 0 and training mode, so that no fast path is taken."""
    kind = nn.TransformerDecoderLayer if isinstance(ours, DecoderLayer) else nn.TransformerEncoderLayer
    theirs = kind(
        D,
        HEADS,
        D_FF,
        dropout=0.0,
        layer_norm_eps=1e-6,
        batch_first=True,
        norm_first=norm == "pre",
        dtype=torch.float64,
    )
    residuals = [ours.self_attention_residual, ours.feed_forward_residual]
    with torch.no_grad():
        copy_attention(ours.self_attention, theirs.self_attn)
        if isinstance(ours, DecoderLayer):
            copy_attention(ours.cross_attention, theirs.multihead_attn)
            residuals.insert(1, ours.cross_attention_residual)
        copy_rest(ours.feed_forward, residuals, theirs)
    return theirs


def causal(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril()


@pytest.mark.parametrize(("norm", "bias"), SETTINGS)
def test_an_encoder_layer_equals_torchs(norm: str, *, bias: bool) -> None:
    layer = EncoderLayer(config(norm, bias=bias)).double()
    randomise(layer)
    states = torch.randn(3, 6, D).double()
    ours = layer(states, Padded(hide(SOURCE_VISIBLE[:, None, None, :], torch.float64)))
    theirs = torchs(layer, norm)(states, src_key_padding_mask=~SOURCE_VISIBLE)
    assert torch.allclose(ours[SOURCE_VISIBLE], theirs[SOURCE_VISIBLE], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("norm", "bias"), SETTINGS)
def test_a_decoder_layer_equals_torchs(norm: str, *, bias: bool) -> None:
    layer = DecoderLayer(config(norm, bias=bias)).double()
    randomise(layer)
    states, memory = torch.randn(3, 5, D).double(), torch.randn(3, 6, D).double()
    ours = layer(
        states,
        memory,
        Padded(hide(causal(5)[None, None], torch.float64)),
        Padded(hide(SOURCE_VISIBLE[:, None, None, :], torch.float64)),
    )
    theirs = torchs(layer, norm)(states, memory, tgt_mask=~causal(5), memory_key_padding_mask=~SOURCE_VISIBLE)
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)


def embedded(model: Transformer, ids: Tensor) -> Tensor:
    """Return sqrt(d) E[id], or zero for padding, plus the paper's positions; worked out entry by entry."""
    table = model.target_embedding.weight
    rows = []
    for sentence in ids.tolist():
        for position, piece in enumerate(sentence):
            row = [0.0] * D if piece == 0 else [math.sqrt(D) * value for value in table[piece].tolist()]
            for column in range(D):
                angle = position / 10_000 ** (2 * (column // 2) / D)
                row[column] += math.cos(angle) if column % 2 else math.sin(angle)
            rows.append(row)
    return torch.tensor(rows, dtype=torch.float64).view(*ids.shape, D)


@pytest.mark.parametrize(("norm", "bias"), SETTINGS)
def test_the_whole_model_equals_torchs_stacks_final_norms_included(norm: str, *, bias: bool) -> None:
    model = Transformer(config(norm, bias=bias), source_vocab_size=30, target_vocab_size=30).double()
    randomise(model)
    source = torch.randint(1, 30, (3, 6)).masked_fill(~SOURCE_VISIBLE, 0)
    target_in = torch.tensor([[0, 4, 9, 22], [0, 17, 1, 0], [0, 0, 0, 0]])
    states = embedded(model, source)
    for layer in model.encoder_layers:
        states = torchs(layer, norm)(states, src_key_padding_mask=~SOURCE_VISIBLE)
    memory = states
    if norm == "pre":
        memory = nn.functional.layer_norm(states, (D,), model.encoder_norm.weight, model.encoder_norm.bias, 1e-6)
    states = embedded(model, target_in)
    for layer in model.decoder_layers:
        states = torchs(layer, norm)(states, memory, tgt_mask=~causal(4), memory_key_padding_mask=~SOURCE_VISIBLE)
    if norm == "pre":
        states = nn.functional.layer_norm(states, (D,), model.decoder_norm.weight, model.decoder_norm.bias, 1e-6)
    # Our table of positions is kept in float32.
    assert torch.allclose(model(source, target_in), states, rtol=0, atol=2e-6)
