"""The loss and its gradient against torch's cross entropy, whose smoothing spreads over all V symbols."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from nmt_cli.model import loss as module_of_loss
from nmt_cli.model.loss import ROWS_AT_A_TIME, gives_sums, summed_loss


def example(n_rows: int, vocab_size: int, *, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(n_rows + vocab_size)
    states = (scale * torch.randn(n_rows, 6)).double().requires_grad_()
    output = torch.randn(vocab_size, 6).double().requires_grad_()
    return states, output, torch.randint(0, vocab_size, (n_rows,))


def theirs(states: Tensor, output: Tensor, gold: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    vocab_size = len(output)
    logits = states @ output.T
    over_all = smoothing * vocab_size / (vocab_size - 1)
    return (
        functional.cross_entropy(logits, gold, label_smoothing=over_all, reduction="sum"),
        functional.cross_entropy(logits, gold, reduction="sum"),
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("vocab_size", [2, 37])
@pytest.mark.parametrize("n_rows", [1, ROWS_AT_A_TIME - 1, ROWS_AT_A_TIME, ROWS_AT_A_TIME + 1, 3 * ROWS_AT_A_TIME + 5])
def test_value_and_gradient_equal_cross_entropy(n_rows: int, vocab_size: int, smoothing: float) -> None:
    states, output, gold = example(n_rows, vocab_size)
    ours = summed_loss(states, output, gold, smoothing=smoothing)
    expected = theirs(states, output, gold, smoothing)
    assert ours.smoothed.item() == pytest.approx(expected[0].item(), rel=1e-13)
    assert ours.plain.item() == pytest.approx(expected[1].item(), rel=1e-13)
    for one, two in zip(
        torch.autograd.grad(3.0 * ours.smoothed, (states, output)),
        torch.autograd.grad(3.0 * expected[0], (states, output)),
        strict=True,
    ):
        assert torch.allclose(one, two, rtol=0, atol=1e-11)


@pytest.mark.parametrize("scale", [100.0, 1e5])
def test_extreme_logits_stay_exact(scale: float) -> None:
    states, output, gold = example(200, 37, scale=scale)
    ours, expected = summed_loss(states, output, gold, smoothing=0.1), theirs(states, output, gold, 0.1)
    assert ours.smoothed.item() == pytest.approx(expected[0].item(), rel=1e-12)
    assert ours.plain.item() == pytest.approx(expected[1].item(), rel=1e-12)
    gradients = torch.autograd.grad(ours.smoothed, (states, output))
    for one, two in zip(gradients, torch.autograd.grad(expected[0], (states, output)), strict=True):
        assert torch.isfinite(one).all()
        assert torch.allclose(one, two, rtol=1e-10, atol=1e-9)


def test_float32_loses_no_more_than_cross_entropy_in_float32_may() -> None:
    exact = example(500, 1000)
    states, output = (tensor.detach().float().requires_grad_() for tensor in exact[:2])
    ours = summed_loss(states, output, exact[2], smoothing=0.1)
    assert ours.smoothed.item() == pytest.approx(theirs(*exact, 0.1)[0].item(), rel=2e-6)
    ours.smoothed.backward()
    for one, two in zip((states, output), torch.autograd.grad(theirs(*exact, 0.1)[0], exact[:2]), strict=True):
        assert (one.grad.double() - two).norm() < 1e-6 * two.norm()


def test_the_gradient_agrees_with_finite_differences() -> None:
    states, output, gold = example(9, 11)
    assert torch.autograd.gradcheck(
        lambda h, w: summed_loss(h, w, gold, smoothing=0.1).smoothed, (states, output), atol=1e-8
    )


def test_a_uniform_model_and_a_certain_one_have_the_losses_worked_by_hand() -> None:
    gold = torch.tensor([2, 0, 2])
    uniform = summed_loss(torch.zeros(3, 4), torch.zeros(5, 4), gold, smoothing=0.1)
    assert uniform.plain.item() == pytest.approx(3 * math.log(5), rel=1e-6)
    assert uniform.smoothed.item() == pytest.approx(3 * math.log(5), rel=1e-6)
    # One state e, logits 1 on the gold symbol and 0 on the three others, so Z = e + 3.
    certain = summed_loss(
        torch.tensor([[1.0]]), torch.tensor([[0.0], [1.0], [0.0], [0.0]]), torch.tensor([1]), smoothing=0.3
    )
    normaliser = math.log(math.e + 3)
    assert certain.plain.item() == pytest.approx(normaliser - 1, rel=1e-6)
    assert certain.smoothed.item() == pytest.approx(0.7 * (normaliser - 1) + 3 * 0.1 * normaliser, rel=1e-6)


def test_the_least_loss_is_the_entropy_of_the_smoothed_target() -> None:
    vocab_size, smoothing = 37_000, 0.1
    other = smoothing / (vocab_size - 1)
    logits = torch.full((1, vocab_size), math.log(other), dtype=torch.float64)
    logits[0, 5] = math.log(1 - smoothing)
    loss = summed_loss(torch.ones(1, 1).double(), logits.T.contiguous(), torch.tensor([5]), smoothing=smoothing)
    entropy = smoothing * math.log(369_990) - 0.9 * math.log(0.9)
    assert loss.smoothed.item() == pytest.approx(entropy, rel=1e-9)
    assert entropy == pytest.approx(1.376948, abs=1e-6)


def test_without_gradients_only_the_logits_are_worked_out() -> None:
    states, output, gold = example(300, 37)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        loss = summed_loss(states, output, gold, smoothing=0.1)
    assert counter.get_total_flops() == 2 * 300 * 37 * 6
    assert not loss.smoothed.requires_grad
    assert loss.smoothed.item() == pytest.approx(theirs(states, output, gold, 0.1)[0].item(), rel=1e-13)


def in_bfloat16(exact: tuple[Tensor, Tensor, Tensor], device: str = "cpu") -> tuple[Tensor, Tensor, Tensor]:
    """Return the loss and both gradients with states in bfloat16 and a matrix in float32."""
    states = exact[0].detach().to(device, torch.bfloat16).requires_grad_()
    output = exact[1].detach().to(device, torch.float32).requires_grad_()
    value = summed_loss(states, output, exact[2].to(device), smoothing=0.1).smoothed
    of_states, of_output = torch.autograd.grad(value, (states, output))
    return value.detach().cpu().double(), of_states.cpu().double(), of_output.cpu().double()


def distances(found: tuple[Tensor, ...], expected: tuple[Tensor, ...]) -> list[float]:
    return [float((one - two).norm() / two.norm()) for one, two in zip(found, expected, strict=True)]


def rounded_first(exact: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, ...]:
    """Return loss and gradients worked out in float64 from the numbers that bfloat16 has of these."""
    states, output = (tensor.detach().bfloat16().double().requires_grad_() for tensor in exact[:2])
    value = theirs(states, output, exact[2], 0.1)[0]
    return value.detach(), *torch.autograd.grad(value, (states, output))


def test_products_that_are_not_rounded_bring_the_loss_closer_to_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU has no such products: a stand-in takes them in float32."""
    exact = example(700, 500)
    expected = rounded_first(exact)
    rounded = distances(in_bfloat16(exact), expected)
    calls = []

    def stand_in(left: Tensor, right: Tensor, precision: torch.dtype) -> Tensor:
        calls.append((left.dtype, precision))
        return left.to(precision) @ right.to(precision)

    monkeypatch.setattr(module_of_loss, "gives_sums", lambda *_: True)
    monkeypatch.setattr(module_of_loss, "mm_in", stand_in)
    in_full = distances(in_bfloat16(exact), expected)
    assert set(calls) == {(torch.bfloat16, torch.float32)}
    # Of the loss only the matrix is rounded otherwise (its sum and gold rows are taken in float32).
    assert in_full[0] < 2e-3
    assert all(one <= two * 1.05 for one, two in zip(in_full, rounded, strict=True))


def test_a_device_that_cannot_is_found_out_by_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    device = torch.device("cpu")
    assert not gives_sums(device, torch.bfloat16, torch.float32)

    def unknown(*_: object, **__: object) -> Tensor:
        raise TypeError("mm() got an unexpected keyword argument 'out_dtype'")

    monkeypatch.setattr(torch, "mm", unknown)
    gives_sums.cache_clear()
    assert not gives_sums(device, torch.bfloat16, torch.float32)
    gives_sums.cache_clear()


@pytest.mark.gpu
@pytest.mark.parametrize("n_rows", [1, 700, 5_000])
def test_on_a_gpu_the_loss_in_bfloat16_is_that_of_the_cpu(n_rows: int) -> None:
    exact = example(n_rows, 504)
    assert gives_sums(torch.device("cuda"), torch.bfloat16, torch.float32)
    found = distances(in_bfloat16(exact, "cuda"), in_bfloat16(exact))
    assert found[0] < 5e-3
    assert max(found[1:]) < 2e-2
