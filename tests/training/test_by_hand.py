"""A short run against a training loop written out by hand: torch's own loss, the schedule, Adam in numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from nmt_cli.batches.corpus import open_pieces
from nmt_cli.batches.plan import plan_epoch
from nmt_cli.config import Settings
from nmt_cli.model.initialisation import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_folder import open_model_folder

Arrays = dict[str, np.ndarray[Any, Any]]
NO_DROPOUT = ["model.dropout=0.0", "model.attention_dropout=0.0", "training.max_steps=12"]


def gradients(model: Transformer, pieces: Any, pairs: Any) -> tuple[float, Arrays]:  # noqa: ANN401
    """Return mean loss and gradients from pairs one at a time, with torch's smoothed cross entropy."""
    train, vocab_size = pieces.split("train"), pieces.target_vocab_size
    targets = [torch.from_numpy(train.target.sentence(pair).astype(np.int64)) for pair in pairs]
    n_tokens = sum(len(target) for target in targets)
    model.zero_grad()
    total = torch.zeros((), dtype=torch.float64)
    for pair, target in zip(pairs, targets, strict=True):
        source = torch.from_numpy(train.source.sentence(pair).astype(np.int64))[None]
        logits = model.logits(model(source, functional.pad(target[:-1], (1, 0))[None]))[0]
        over_all = 0.1 * vocab_size / (vocab_size - 1)
        total = total + functional.cross_entropy(logits, target, label_smoothing=over_all, reduction="sum")
    (total / n_tokens).backward()
    return total.item() / n_tokens, {name: p.grad.numpy().copy() for name, p in model.named_parameters()}


def train_by_hand(data: Path, settings: Settings, *, clip_norm: float | None) -> tuple[list[float], Arrays]:
    """Return the loss of every update and the last weights, in float64."""
    pieces, training = open_pieces(data), settings.training
    size, d_model = pieces.source_vocab_size, settings.model.d_model
    model = Transformer(settings.model, source_vocab_size=size, target_vocab_size=size)
    initialise(model, seed=training.seed)
    model.double()
    train = pieces.split("train")
    updates = []
    for epoch in range(3):
        limits = {"tokens_per_update": training.tokens_per_update, "max_length": training.max_length}
        lengths = (train.source.lengths, train.target.lengths)
        updates += plan_epoch(*lengths, **limits, seed=training.seed, epoch=epoch).updates
    weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
    first, second = ({name: np.zeros_like(w) for name, w in weights.items()} for _ in range(2))
    losses = []
    for step, pairs in enumerate(updates[: training.max_steps], start=1):
        loss, gradient = gradients(model, pieces, pairs)
        losses.append(loss)
        norm = np.sqrt(sum((g**2).sum() for g in gradient.values()))
        scale = min(1.0, clip_norm / norm) if clip_norm else 1.0
        rate = training.learning_rate_factor * d_model**-0.5 * min(step**-0.5, step * training.warmup_steps**-1.5)
        for name, weight in weights.items():
            g = gradient[name] * scale
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.98 * second[name] + 0.02 * g**2
            m, v = first[name] / (1 - 0.9**step), second[name] / (1 - 0.98**step)
            np.subtract(weight, rate * m / (np.sqrt(v) + 1e-9), out=weight)  # the model's own memory
    return losses, weights


@pytest.mark.parametrize("clip_norm", [None, 0.5])
def test_a_run_equals_a_loop_written_by_hand(toy: Any, tmp_path: Path, clip_norm: float | None) -> None:  # noqa: ANN401
    changes = [*NO_DROPOUT, *([f"training.clip_norm={clip_norm}"] if clip_norm else [])]
    toy.train(tmp_path / "run", *changes)
    losses, expected = train_by_hand(toy.corpus, toy.settings(*changes), clip_norm=clip_norm)
    logged = toy.metrics(tmp_path / "run", "training")
    assert [record["loss_nats"] for record in logged] == pytest.approx(losses, rel=1e-4)
    weights = open_model_folder(tmp_path / "run" / "last").weights()
    assert weights.keys() == expected.keys()
    for name, weight in weights.items():
        assert np.linalg.norm(weight - expected[name]) <= 2e-3 * np.linalg.norm(expected[name]), name
    if clip_norm:
        assert any(record["gradient_norm"] > clip_norm for record in logged)
