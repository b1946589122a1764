"""The exponential moving average of the weights: worked by hand, in checkpoints, and resumed to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from nmt_cli.model_folder import open_model_folder, read_tensors
from nmt_cli.training import loop
from nmt_cli.training.moving_average import MovingAverage

EVERY_STEP = ["training.save_every_steps=1", "training.max_steps=9", "training.validate_every_steps=100"]


def test_it_forgets_the_beginning_and_then_follows_slowly() -> None:
    model = nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(10.0)
    average = MovingAverage(model, 0.25)
    values = [10.0]
    for step, weight in enumerate([1.0, 2.0, 4.0], start=1):
        model.weight.data.fill_(weight)
        average.follow(model, step=step)
        decay = min(0.25, (1 + step) / (10 + step))  # 2/11, 3/12 and 0.25
        values.append(decay * values[-1] + (1 - decay) * weight)
        assert average.weights["weight"].item() == pytest.approx(values[-1], rel=1e-6)
    with average.shown_by(model):
        assert model.weight.item() == pytest.approx(values[-1], rel=1e-6)
    assert model.weight.item() == 4.0


def checkpoint(run: Path, step: int) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = run / "checkpoints" / f"step-{step:08}"
    return dict(open_model_folder(folder).weights()), dict(read_tensors(folder / "training" / "optimizer.safetensors"))


def test_checkpoints_hold_the_average_and_beside_it_the_weights_of_a_run_without_one(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    plain, averaged = tmp_path / "plain", tmp_path / "averaged"
    toy.train(plain, *EVERY_STEP)
    toy.train(averaged, *EVERY_STEP, "training.ema_decay=0.3")
    name = "encoder_layers.0.feed_forward.inner.weight"
    expected: torch.Tensor | None = None
    for step in range(2, 10):
        weight, found = (
            torch.from_numpy(open_model_folder(run / "checkpoints" / f"step-{step:08}").weights()[name])
            for run in (plain, averaged)
        )
        if expected is not None:
            decay = min(0.3, (1 + step) / (10 + step))
            assert torch.allclose(found, decay * expected + (1 - decay) * weight, rtol=1e-5, atol=1e-7)
        expected = found
    weights, state = checkpoint(averaged, 9)
    for name, array in checkpoint(plain, 9)[0].items():
        assert np.array_equal(state[f"weight.{name}"], array)
        assert not np.array_equal(weights[name], array)


def test_interrupted_and_continued_it_ends_with_the_same_bits(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = ["training.ema_decay=0.9", "training.validate_every_steps=4", "training.max_steps=12"]
    toy.train(tmp_path / "whole", *settings)
    real: Callable[..., Any] = loop.advanced

    def power_cut(progress: Any, *arguments: Any, **others: Any) -> Any:  # noqa: ANN401
        progress = real(progress, *arguments, **others)
        if progress.step == 8:
            raise KeyboardInterrupt
        return progress

    monkeypatch.setattr(loop, "advanced", power_cut)
    with pytest.raises(KeyboardInterrupt):
        toy.train(tmp_path / "run", *settings)
    monkeypatch.undo()
    toy.train(tmp_path / "run", *settings)
    for one, other in zip(checkpoint(tmp_path / "whole", 12), checkpoint(tmp_path / "run", 12), strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)
    whole, run = (toy.metrics(tmp_path / name, "validation") for name in ("whole", "run"))
    assert [one["validation_loss_nats"] for one in whole] == [one["validation_loss_nats"] for one in run]
