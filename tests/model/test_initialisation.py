"""Initial values against the bounds of the paper's reference implementation."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from nmt_cli.model.initialisation import initialise
from nmt_cli.model.transformer import Transformer

MakeModel = Callable[..., Transformer]
D, D_FF = 64, 128
WIDE = {"d_model": D, "d_ff": D_FF, "n_heads": 4, "n_encoder_layers": 1, "n_decoder_layers": 1}


def assert_uniform(matrix: Tensor, *, fans: int) -> None:
    """Check U(-a, a) with a = sqrt(6 / fans): all within the bounds, some near them, and the spread of a uniform."""
    bound = math.sqrt(6 / fans)
    assert 0.98 * bound < matrix.abs().max().item() <= bound
    assert matrix.mean().abs().item() < 0.05 * bound
    assert matrix.var().item() == pytest.approx(bound**2 / 3, rel=0.05)


def test_fused_projections_count_their_whole_width_as_fan_out(small_model: MakeModel) -> None:
    model = small_model(**WIDE)
    for attention in (model.encoder_layers[0].self_attention, model.decoder_layers[0].self_attention):
        assert_uniform(attention.query_key_value.weight, fans=4 * D)
        assert_uniform(attention.output.weight, fans=2 * D)
    cross = model.decoder_layers[0].cross_attention
    assert_uniform(cross.query.weight, fans=2 * D)
    assert_uniform(cross.key_value.weight, fans=3 * D)
    assert_uniform(cross.output.weight, fans=2 * D)


def test_a_matrix_at_a_time_has_the_fans_of_each_block(small_model: MakeModel) -> None:
    model = small_model(**WIDE, initialisation="glorot", d_k=8, d_v=32)
    queries, keys, values = model.encoder_layers[0].self_attention.query_key_value.weight.split([32, 32, 128])
    assert_uniform(queries, fans=D + 32)
    assert_uniform(keys, fans=D + 32)
    assert_uniform(values, fans=D + 128)
    keys, values = model.decoder_layers[0].cross_attention.key_value.weight.split([32, 128])
    assert_uniform(keys, fans=D + 32)
    assert_uniform(values, fans=D + 128)
    assert_uniform(model.decoder_layers[0].cross_attention.output.weight, fans=D + 128)


def test_feed_forward_matrices_are_glorot(small_model: MakeModel) -> None:
    feed_forward = small_model(**WIDE).encoder_layers[0].feed_forward
    assert_uniform(feed_forward.inner.weight, fans=D + D_FF)
    assert_uniform(feed_forward.outer.weight, fans=D + D_FF)


def test_biases_are_zero_and_norms_are_the_identity(small_model: MakeModel) -> None:
    model = small_model(**WIDE, attention_bias=True, norm="pre")
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm)]
    assert len(linears) == 2 + 2 + 2 + 3 + 2
    assert len(norms) == 2 + 3 + 2
    assert all(module.bias.abs().sum() == 0 for module in linears + norms)
    assert all(torch.equal(module.weight, torch.ones(D)) for module in norms)
    assert {module.eps for module in norms} == {1e-6}


def test_embeddings_and_learned_tables_are_normal(small_model: MakeModel) -> None:
    model = small_model(**WIDE, vocab_size=500, tying="none", positions="learned", target_space=True)
    tables = [model.source_embedding.weight, model.target_embedding.weight, model.output.weight]
    for table in [*tables, model.source_positions.table, model.target_positions.table, model.target_space]:
        assert table.std().item() == pytest.approx(D**-0.5, rel=0.05)
        assert table.mean().abs().item() < 0.01
        assert table.abs().max().item() > 3 * D**-0.5  # a uniform or cut-off draw has no such tail


def test_a_seed_decides_all_values_and_nothing_is_left_unfilled(small_model: MakeModel) -> None:
    settings = WIDE | {"tying": "none", "positions": "learned", "target_space": True, "attention_bias": True}
    one, two = small_model(**settings), small_model(**settings)
    for model, seed in ((one, 8), (two, 8)):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(math.nan)
        initialise(model, seed=seed)
    for (name, first), second in zip(one.named_parameters(), two.parameters(), strict=True):
        assert torch.isfinite(first).all(), name
        assert torch.equal(first, second), name
    initialise(two, seed=9)
    assert not torch.equal(one.output.weight, two.output.weight)
