"""Packed sentences give the loss, the gradient and the loss curve of padded ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from nmt_cli.batches.corpus import EncodedCorpus, EncodedSide
from nmt_cli.batches.packing import pack
from nmt_cli.batches.padding import pad_batch
from nmt_cli.config import ModelConfig
from nmt_cli.model.initialisation import initialise
from nmt_cli.model.loss import SummedLoss
from nmt_cli.model.packing import one_sentence_at_a_time
from nmt_cli.model.transformer import Transformer
from nmt_cli.training import gradient
from nmt_cli.training.gradient import batch_loss
from nmt_cli.training.packed_loss import kernel_for, packed_loss

V = 40
LENGTHS = {"ragged": [1, 17, 2, 30, 5, 5, 1, 12], "single tokens": [1] * 8, "equal": [6] * 8}
SETTINGS = {
    "paper": {},
    "t2t-2017": {"reading": "t2t-2017"},
    "pre-norm": {"norm": "pre"},
    "learned positions, as long as the longest": {"positions": "learned", "max_positions": 31},
    "keys and values of their own widths": {"d_k": 3, "d_v": 9},
    "biases, a table a side": {"attention_bias": True, "tying": "none"},
}


def side(seed: int, lengths: list[int]) -> EncodedSide:
    generator = np.random.default_rng(seed)
    return EncodedSide(
        generator.integers(1, V, size=sum(lengths)).astype(np.uint16), np.concatenate([[0], np.cumsum(lengths)])
    )


def corpus_of(kind: str) -> EncodedCorpus:
    lengths = LENGTHS[kind]
    return EncodedCorpus(side(1, lengths), side(2, [*lengths[3:], *lengths[:3]]))


def make_model(*, dtype: torch.dtype = torch.float64, **changes: object) -> Transformer:
    values = {"n_encoder_layers": 2, "n_decoder_layers": 2, "d_model": 32, "d_ff": 48, "n_heads": 4, "dropout": 0.0}
    model = Transformer(ModelConfig.model_validate(values | changes), source_vocab_size=V, target_vocab_size=V)
    initialise(model, seed=1)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():  # biases and norms count as well
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.1)
    return model.to(dtype).train()


def loss_and_gradient(model: Transformer, loss: SummedLoss) -> tuple[Tensor, Tensor]:
    gradients = torch.autograd.grad(loss.smoothed, list(model.parameters()))
    return torch.stack([loss.smoothed.detach(), loss.plain]), torch.cat([one.flatten() for one in gradients])


def difference(one: Tensor, two: Tensor) -> float:
    return float((one - two).norm() / two.norm())


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("settings", SETTINGS)
def test_packed_loss_and_gradient_are_those_of_the_padded_batch(settings: str, lengths: str) -> None:
    model = make_model(**SETTINGS[settings])
    batch = pad_batch(corpus_of(lengths), np.array([4, 0, 7, 1, 2, 6, 3, 5]))
    padded = loss_and_gradient(model, batch_loss(model, batch, smoothing=0.1))
    packed = loss_and_gradient(model, packed_loss(model, pack(batch), one_sentence_at_a_time, smoothing=0.1))
    assert difference(packed[0], padded[0]) < 1e-10
    assert difference(packed[1], padded[1]) < 1e-10


def test_no_token_sees_another_sentence() -> None:
    model = make_model(norm="pre").eval()
    corpus = corpus_of("ragged")
    together = packed_states(model, corpus, np.arange(8))
    apart = torch.cat([packed_states(model, corpus, np.array([pair])) for pair in range(8)])
    assert torch.allclose(together, apart, rtol=0, atol=1e-12)


def packed_states(model: Transformer, corpus: EncodedCorpus, pairs: np.ndarray) -> Tensor:
    states: list[Tensor] = []
    handle = model.decoder_norm.register_forward_hook(lambda _module, _inputs, output: states.append(output))
    packed_loss(model, pack(pad_batch(corpus, pairs)), one_sentence_at_a_time, smoothing=0.0)
    handle.remove()
    return states[0].detach()


def test_a_sentence_longer_than_the_learned_positions_is_refused_packed_as_padded() -> None:
    model = make_model(positions="learned", max_positions=29)
    batch = pad_batch(corpus_of("ragged"), np.arange(8))
    for loss in (
        lambda: batch_loss(model, batch, smoothing=0.1),
        lambda: packed_loss(model, pack(batch), one_sentence_at_a_time, smoothing=0.1),
    ):
        with pytest.raises(ValueError, match="position 29 is past the learned table of 29 rows"):
            loss()


def test_attention_dropout_is_refused_by_packed_attention() -> None:
    model = make_model(attention_dropout=0.1)
    batch = pack(pad_batch(corpus_of("equal"), np.arange(8)))
    with pytest.raises(ValueError, match=r"attention dropout of 0\.1, but packed attention has none"):
        packed_loss(model, batch, one_sentence_at_a_time, smoothing=0.1)


def test_the_other_dropouts_act_on_packed_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient, "kernel_for", lambda _model: one_sentence_at_a_time)
    corpus = corpus_of("ragged")
    plain = batch_loss(make_model(), pad_batch(corpus, np.arange(8)), smoothing=0.1).smoothed
    for place in ("dropout", "ffn_dropout"):
        model = make_model(**{place: 0.3})
        torch.manual_seed(1)
        losses = [batch_loss(model, pad_batch(corpus, np.arange(8)), smoothing=0.1).smoothed for _ in range(2)]
        assert abs(losses[0].item() - losses[1].item()) > 1e-3
        undropped = batch_loss(model.eval(), pad_batch(corpus, np.arange(8)), smoothing=0.1).smoothed
        assert undropped.item() == pytest.approx(plain.item(), rel=1e-12)


def loss_curve(model: Transformer, corpus: EncodedCorpus) -> Iterator[float]:
    """Train for 20 updates of three micro-batches; give the mean loss of each."""
    micro_batches = [pad_batch(corpus, pairs) for pairs in np.split(np.arange(8), [3, 4])]
    n_tokens = sum(batch.target_tokens for batch in micro_batches)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98), eps=1e-9)
    for _ in range(20):
        optimizer.zero_grad()
        mean = 0.0
        for batch in micro_batches:
            loss = batch_loss(model, batch, smoothing=0.1).smoothed / n_tokens
            loss.backward()
            mean += loss.item()
        optimizer.step()
        yield mean


@pytest.mark.parametrize("settings", ["paper", "pre-norm"])
def test_twenty_updates_give_the_loss_curve_of_the_padded_path(settings: str, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpus_of("ragged")
    padded = list(loss_curve(make_model(**SETTINGS[settings]), corpus))
    asked = []
    monkeypatch.setattr(gradient, "kernel_for", lambda model: asked.append(model) or one_sentence_at_a_time)
    packed = list(loss_curve(make_model(**SETTINGS[settings]), corpus))
    assert len(asked) == 60
    assert padded[-1] < 0.7 * padded[0]
    assert packed == pytest.approx(padded, rel=1e-8)


@pytest.mark.gpu
@pytest.mark.parametrize("settings", ["paper", "t2t-2017", "pre-norm"])
def test_on_a_gpu_the_packed_loss_and_gradient_are_the_padded_ones_in_bfloat16(
    settings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model(dtype=torch.float32, **SETTINGS[settings]).cuda()
    model.precision = torch.bfloat16
    assert kernel_for(model) is not None
    batch = pad_batch(corpus_of("ragged"), np.arange(8))
    packed = loss_and_gradient(model, batch_loss(model, batch, smoothing=0.1))
    monkeypatch.setattr(gradient, "kernel_for", lambda _model: None)
    padded = loss_and_gradient(model, batch_loss(model, batch, smoothing=0.1))
    exact = make_model(dtype=torch.float64, **SETTINGS[settings])
    expected = loss_and_gradient(exact, batch_loss(exact, batch, smoothing=0.1))
    for found in (packed, padded):
        assert difference(found[0].cpu().double(), expected[0]) < 5e-3
        assert difference(found[1].cpu().double(), expected[1]) < 5e-2
    assert difference(packed[0], padded[0]) < 5e-3


@pytest.mark.gpu
def test_on_a_gpu_twenty_updates_give_the_loss_curve_of_the_padded_path(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = []
    for padded in (False, True):
        if padded:
            monkeypatch.setattr(gradient, "kernel_for", lambda _model: None)
        model = make_model(dtype=torch.float32).cuda()
        model.precision = torch.bfloat16
        curves.append(list(loss_curve(model, corpus_of("ragged"))))
    assert curves[1][-1] < 0.7 * curves[1][0]
    assert curves[0] == pytest.approx(curves[1], rel=2e-2)
