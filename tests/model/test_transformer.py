"""What the whole model may see, what it shares, and where dropout acts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from nmt_cli.errors import ModelError
from nmt_cli.model.attention import Padded, attend
from nmt_cli.model.load import fill
from nmt_cli.model.transformer import Transformer

MakeModel = Callable[..., Transformer]
SOURCE = torch.tensor([[5, 9, 12, 1], [8, 1, 0, 0]])
TARGET_IN = torch.tensor([[0, 7, 20, 11, 6], [0, 13, 4, 0, 0]])


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_later_target_token_changes_no_earlier_state(small_model: MakeModel, norm: str) -> None:
    model = small_model(norm=norm)
    before = model(SOURCE, TARGET_IN)
    for position in range(1, TARGET_IN.size(1)):
        changed = TARGET_IN.clone()
        changed[:, position] = 25
        after = model(SOURCE, changed)
        assert torch.equal(before[:, :position], after[:, :position])
        assert not torch.allclose(before[:, position:], after[:, position:])


def test_every_source_token_reaches_every_state_and_padding_reaches_none(small_model: MakeModel) -> None:
    model = small_model()
    before = model(SOURCE, TARGET_IN)
    for position in range(4):
        changed = SOURCE.clone()
        changed[0, position] = 25
        after = model(changed, TARGET_IN)
        assert (before[0] - after[0]).abs().sum(dim=-1).min() > 0
        assert torch.equal(before[1], after[1])
    memory = model.encode(SOURCE)
    other_memory = memory.clone()
    other_memory[1, 2:] = 1e6
    visible = SOURCE != 0
    assert torch.equal(model.decode(TARGET_IN, memory, visible), model.decode(TARGET_IN, other_memory, visible))


def test_tying_decides_which_matrices_are_one(small_model: MakeModel) -> None:
    def places(model: Transformer) -> list[int]:
        tables = (model.source_embedding, model.target_embedding, model.output)
        return [table.weight.data_ptr() for table in tables]

    assert len(set(places(small_model()))) == 1
    source, target, output = places(small_model(tying="decoder", target_vocab_size=40))
    assert source != target == output
    assert len(set(places(small_model(tying="none", target_vocab_size=40)))) == 3
    with pytest.raises(ValueError, match="vocabularies of 30 and 40"):
        small_model(target_vocab_size=40)


def test_logits_are_products_with_the_output_matrix_without_bias_or_scale(small_model: MakeModel) -> None:
    model = small_model(tying="none", target_vocab_size=40)
    states = model(SOURCE, TARGET_IN)
    by_hand = [
        sum(h * w for h, w in zip(states[1, 2].tolist(), row, strict=True)) for row in model.output.weight.tolist()
    ]
    assert model.logits(states)[1, 2].tolist() == pytest.approx(by_hand, abs=1e-5)


def test_a_model_without_dropout_is_the_same_in_training(small_model: MakeModel) -> None:
    model = small_model()
    assert torch.equal(model(SOURCE, TARGET_IN), model.train()(SOURCE, TARGET_IN))


@pytest.mark.parametrize("place", ["dropout", "attention_dropout", "ffn_dropout"])
def test_each_dropout_acts_in_training_only(small_model: MakeModel, place: str) -> None:
    model = small_model(**{place: 0.5})
    plain = small_model()(SOURCE, TARGET_IN)
    assert torch.equal(model(SOURCE, TARGET_IN), plain)
    model.train()
    assert not torch.allclose(model(SOURCE, TARGET_IN), model(SOURCE, TARGET_IN))


def test_the_papers_dropout_touches_sums_and_sublayer_outputs_and_nothing_else(small_model: MakeModel) -> None:
    model = small_model(dropout=0.5, norm="pre")
    layer = model.encoder_layers[0]
    states, layout = torch.randn(2, 4, 16), Padded(torch.zeros(2, 1, 1, 4))
    before = layer.self_attention.over_itself(states, layout), layer.feed_forward(states)
    embedded = model.embed_target(TARGET_IN, first=0)
    model.train()
    assert torch.equal(layer.self_attention.over_itself(states, layout), before[0])
    assert torch.equal(layer.feed_forward(states), before[1])
    for dropped, whole in (
        (model.embed_target(TARGET_IN, first=0), embedded),
        (layer.feed_forward_residual.after(states, before[1]) - states, before[1]),
    ):
        kept = dropped.abs() > 1e-6
        assert 0.25 < kept.float().mean() < 0.75
        assert torch.allclose(dropped[kept], 2 * whole[kept], atol=1e-6)


def test_attention_dropout_zeroes_weights_after_the_softmax() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(2, 3, 8, 5), torch.randn(2, 3, 8, 5)
    seen = torch.eye(8).expand(2, 3, 8, 8)
    weights = attend(query, key, seen, torch.zeros(1, 1, 1, 8))
    dropped = attend(query, key, seen, torch.zeros(1, 1, 1, 8), dropout=0.25)
    kept = dropped != 0
    assert 0.5 < kept.float().mean() < 0.95
    assert torch.allclose(dropped[kept], weights[kept] / 0.75)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 3, 8))


def test_ffn_dropout_stands_between_relu_and_the_outer_matrix(small_model: MakeModel) -> None:
    feed_forward = small_model(ffn_dropout=0.5, d_ff=16).encoder_layers[0].feed_forward.train()
    with torch.no_grad():
        for linear in (feed_forward.inner, feed_forward.outer):
            linear.weight.copy_(torch.eye(16))
    states = torch.randn(50, 1, 16)
    out = feed_forward(states)
    assert torch.allclose(out[out != 0], 2 * states[out != 0])
    assert 0.3 < (out[states > 0] != 0).float().mean() < 0.7
    assert (out[states < 0] == 0).all()


def test_only_pre_norm_has_a_norm_at_the_end_of_each_stack(small_model: MakeModel) -> None:
    names = {norm: {name for name, _ in small_model(norm=norm).named_parameters()} for norm in ("post", "pre")}
    added = {f"{side}_norm.{part}" for side in ("encoder", "decoder") for part in ("weight", "bias")}
    assert names["pre"] - names["post"] == added


def test_weights_that_do_not_fit_are_all_named_in_one_line(small_model: MakeModel) -> None:
    model = small_model()
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    del weights["encoder_layers.0.feed_forward.inner.bias"]
    weights["bos"] = np.zeros(3, dtype=np.float32)
    weights["source_embedding.weight"] = np.zeros((31, 16), dtype=np.float32)
    with pytest.raises(ModelError) as caught:
        fill(model, weights, where="m")
    assert str(caught.value) == (
        "m: weights do not fit their model: bos is not known; encoder_layers.0.feed_forward.inner.bias is missing; "
        "source_embedding.weight is [31, 16], not [30, 16]"
    )


def test_filled_weights_are_those_given(small_model: MakeModel) -> None:
    model = small_model(tying="decoder", target_vocab_size=40, positions="learned", target_space=True)
    generator = np.random.default_rng(1)
    weights = {
        name: generator.normal(size=tuple(value.shape)).astype(np.float32) for name, value in model.named_parameters()
    }
    fill(model, weights, where="m")
    for name, parameter in model.named_parameters():
        assert np.array_equal(parameter.detach().numpy(), weights[name])
