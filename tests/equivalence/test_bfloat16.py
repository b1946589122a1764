"""Products in bfloat16: near those in float32, with float32 weights, gradients and loss."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt_cli.config import ModelConfig
from nmt_cli.model.initialisation import initialise
from nmt_cli.model.loss import summed_loss
from nmt_cli.model.projection import LayerNorm, Linear
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.precision import in_full, work_in

V = 60
EPSILON = 2.0**-8
"""The largest relative error of rounding to bfloat16 twice."""


def make_model(norm: str = "post") -> Transformer:
    values = {"n_encoder_layers": 2, "n_decoder_layers": 2, "d_model": 64, "d_ff": 128, "n_heads": 4, "dropout": 0.0}
    model = Transformer(ModelConfig.model_validate(values | {"norm": norm}), source_vocab_size=V, target_vocab_size=V)
    initialise(model, seed=1)
    return model


def loss_and_gradient(model: Transformer) -> tuple[float, Tensor]:
    generator = torch.Generator().manual_seed(5)
    source, target = (torch.randint(3, V, (9, n), generator=generator) for n in (11, 8))
    states = model(source, functional.pad(target[:, :-1], (1, 0))).flatten(0, 1)
    assert states.dtype == (model.precision or torch.float32)
    loss = summed_loss(states, model.output.weight, target.flatten(), smoothing=0.1).smoothed
    assert loss.dtype == torch.float32
    loss.backward()
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    model.zero_grad()
    return loss.item() / target.numel(), gradient


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_loss_and_gradient_are_those_of_float32_but_for_rounding(norm: str) -> None:
    model = make_model(norm)
    loss, gradient = loss_and_gradient(model)
    work_in(model, "bfloat16")
    rounded_loss, rounded = loss_and_gradient(model)
    assert rounded.dtype == torch.float32
    assert rounded_loss == pytest.approx(loss, rel=EPSILON)
    # A rounding or two in each of some thirty steps there and back.
    assert 1e-5 < float((rounded - gradient).norm() / gradient.norm()) < 16 * EPSILON
    with in_full(model):
        assert loss_and_gradient(model)[0] == loss
    assert model.precision is torch.bfloat16


def test_a_projection_is_torchs_with_weights_rounded_and_gradients_in_float32() -> None:
    torch.manual_seed(1)
    ours, plain = Linear(48, 32), nn.Linear(48, 32, dtype=torch.bfloat16)
    plain.load_state_dict({name: value.bfloat16() for name, value in ours.state_dict().items()})
    states = torch.randn(20, 48).bfloat16()
    expected, found = plain(states), ours(states)
    assert torch.equal(found, expected)
    for output in (expected, found):
        output.float().pow(2).sum().backward()
    assert ours.weight.grad.dtype == torch.float32
    assert torch.equal(ours.weight.grad, plain.weight.grad.float())
    # In the precision of its weights it is torch's own.
    assert torch.equal(ours(states.float()), functional.linear(states.float(), ours.weight, ours.bias))


def test_a_norm_takes_its_mean_and_variance_in_float32() -> None:
    torch.manual_seed(1)
    norm = LayerNorm(512, eps=1e-6)
    states = (1000 + torch.randn(4, 512)).bfloat16()  # in bfloat16 sums, such a mean would lose the deviations
    exact = functional.layer_norm(states.double(), (512,), eps=1e-6)
    assert torch.allclose(norm(states).double(), exact, atol=2 * EPSILON, rtol=2 * EPSILON)


def test_the_loss_of_rounded_states_is_near_torchs_of_the_same_states() -> None:
    torch.manual_seed(1)
    states, output = torch.randn(700, 32).bfloat16(), torch.randn(500, 32) * 0.3
    gold = torch.randint(0, 500, (700,))
    logits = states.double() @ output.double().T
    expected = functional.cross_entropy(logits, gold, label_smoothing=0.1 * 500 / 499, reduction="mean")
    plain = functional.cross_entropy(logits, gold, reduction="mean")
    found = summed_loss(states, output, gold, smoothing=0.1)
    assert found.smoothed.item() / 700 == pytest.approx(expected.item(), rel=1e-3)
    assert found.plain.item() / 700 == pytest.approx(plain.item(), rel=1e-3)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("sureness", [0.2, 1.0, 2.0])
def test_the_surer_a_model_is_the_less_rounding_may_add_to_its_gradient(sureness: float, smoothing: float) -> None:
    """The reference is worked out in float64 from the same rounded logits."""
    torch.manual_seed(1)
    output = torch.randn(500, 64) / 8
    gold = torch.cat([torch.full((200,), 7), torch.randint(0, 500, (300,))])
    states = (torch.randn(500, 64) + 8 * sureness * output[gold]).bfloat16().requires_grad_()
    output.requires_grad_()
    found = summed_loss(states, output, gold, smoothing=smoothing)
    found.smoothed.backward()
    assert found.plain.item() >= 0

    rounded = (states @ output.bfloat16().T).detach().double()
    other = smoothing / 499
    wanted = torch.full_like(rounded, other).scatter_(1, gold[:, None], 1 - smoothing)
    by_logits = rounded.softmax(1) - wanted
    expected = by_logits @ output.detach().double(), by_logits.T @ states.detach().double()
    for gradient, exact in zip((states.grad, output.grad), expected, strict=True):
        assert float((gradient.double() - exact).norm() / exact.norm()) < EPSILON
    log_probabilities = rounded.log_softmax(1).gather(1, gold[:, None])
    assert found.plain.item() == pytest.approx(-log_probabilities.sum().item(), rel=1e-4, abs=1e-4)
