"""Padding changes nothing, and neither does how an update is cut (report 14)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from nmt_cli.batches.corpus import EncodedCorpus, EncodedSide
from nmt_cli.batches.cutting import cut_update
from nmt_cli.batches.padding import pad_batch
from nmt_cli.batches.plan import Cursor, Indices
from nmt_cli.batches.prepared import PreparedUpdate, prepare_update
from nmt_cli.config import ModelConfig, TrainingConfig
from nmt_cli.model.initialisation import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.gradient import ONE_RANK, accumulate_gradient, batch_loss
from nmt_cli.training.ranks import Ranks

V = 50
ALL = np.arange(16)


def side(seed: int) -> EncodedSide:
    """Return 16 sentences of 3 to 40 tokens, the end symbol (1) included, none padded."""
    generator = np.random.default_rng(seed)
    lengths = np.array([3, 40, *generator.integers(3, 41, size=14)])
    ids = generator.integers(3, V, size=lengths.sum()).astype(np.uint16)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids[offsets[1:] - 1] = 1
    return EncodedSide(ids, offsets)


CORPUS = EncodedCorpus(side(1), side(2))
N_TARGET = int(CORPUS.target.offsets[-1])


def make_model(norm: str = "post", dtype: torch.dtype = torch.float32) -> Transformer:
    values = {"n_encoder_layers": 2, "n_decoder_layers": 2, "d_model": 32, "d_ff": 64, "n_heads": 4, "dropout": 0.0}
    model = Transformer(ModelConfig.model_validate(values | {"norm": norm}), source_vocab_size=V, target_vocab_size=V)
    initialise(model, seed=1)
    return model.to(dtype).train()


def training(micro_batch_tokens: int) -> TrainingConfig:
    values = {"max_steps": 9, "tokens_per_update": 10**6, "warmup_steps": 4, "save_every_steps": 5}
    return TrainingConfig.model_validate(values | {"validate_every_steps": 5, "micro_batch_tokens": micro_batch_tokens})


def gradient(model: Transformer) -> Tensor:
    flat = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    model.zero_grad(set_to_none=True)
    return flat


def difference(one: Tensor, two: Tensor) -> float:
    return float((one - two).norm() / two.norm())


def accumulate(
    model: Transformer, pairs: Indices, config: TrainingConfig, *, step: int, ranks: Ranks = ONE_RANK
) -> tuple[Tensor, PreparedUpdate]:
    """Accumulate the gradient of a rank's share; return its losses, and the update as the rank saw it."""
    update = prepare_update(
        CORPUS,
        pairs,
        cursor=Cursor(step),
        micro_batch_tokens=config.micro_batch_tokens or 0,
        rank=ranks.rank,
        world_size=ranks.world_size,
    )
    return accumulate_gradient(model, update, config), update


def by_single_pairs(model: Transformer) -> tuple[float, Tensor]:
    """Return smoothed loss and gradient from pairs one at a time, with torch's loss and no padding anywhere."""
    total = 0.0
    for pair in ALL:
        source = torch.from_numpy(CORPUS.source.sentence(pair).astype(np.int64))[None]
        target = torch.from_numpy(CORPUS.target.sentence(pair).astype(np.int64))[None]
        logits = model.logits(model(source, functional.pad(target[:, :-1], (1, 0))))
        loss = functional.cross_entropy(logits[0], target[0], label_smoothing=0.1 * V / (V - 1), reduction="sum")
        (loss / N_TARGET).backward()
        total += loss.item()
    return total, gradient(model)


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-6), (torch.float64, 1e-13)])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_one_batch_and_unequal_micro_batches_and_single_pairs_give_one_gradient(
    norm: str, dtype: torch.dtype, bound: float
) -> None:
    model = make_model(norm, dtype)
    expected_loss, expected = by_single_pairs(model)
    pairs = ALL[np.lexsort((CORPUS.source.lengths, CORPUS.target.lengths))]
    counts = set()
    for micro_batch_tokens in (10_000, 200, 41, 1):
        config = training(micro_batch_tokens)
        parts = cut_update(pairs, CORPUS.source.lengths, CORPUS.target.lengths, micro_batch_tokens=micro_batch_tokens)
        counts.add(len(parts))
        losses, update = accumulate(model, pairs, config, step=3)
        assert difference(gradient(model), expected) < bound
        assert float(losses[0]) == pytest.approx(expected_loss, rel=10 * bound)
        assert (update.source_lengths.sum(), update.target_tokens) == (int(CORPUS.source.offsets[-1]), N_TARGET)
    assert {1, 4, 16} <= counts


@pytest.mark.parametrize("n_ranks", [2, 3, 20])
@pytest.mark.parametrize("micro_batch_tokens", [10_000, 41])
def test_the_shares_of_all_ranks_sum_to_the_gradient(n_ranks: int, micro_batch_tokens: int) -> None:
    model = make_model(dtype=torch.float64)
    whole_losses, _ = accumulate(model, ALL, training(10_000), step=1)
    whole = gradient(model)
    shares, losses, updates = [], [], []
    for rank in range(n_ranks):
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        ranks = Ranks(rank, n_ranks)
        share, update = accumulate(model, ALL, training(micro_batch_tokens), step=1, ranks=ranks)
        losses.append(share)
        updates.append(update)
        shares.append(gradient(model))
    assert difference(torch.stack(shares).sum(dim=0), whole) < 1e-13
    assert torch.stack(losses).sum(dim=0).tolist() == pytest.approx(whole_losses.tolist(), rel=1e-12)
    assert {update.target_tokens for update in updates} == {N_TARGET}
    assert len({update.positions for update in updates}) == 1


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(16)), st.lists(st.integers(1, 15), max_size=6))
def test_any_partition_of_an_update_gives_its_gradient(order: list[int], cuts: list[int]) -> None:
    model = make_model(dtype=torch.float64)
    accumulate(model, ALL, training(10_000), step=1)
    whole = gradient(model)
    for part in np.split(np.array(order), sorted(set(cuts))):
        (batch_loss(model, pad_batch(CORPUS, part), smoothing=0.1).smoothed / N_TARGET).backward()
    assert difference(gradient(model), whole) < 1e-13


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_ten_more_pad_columns_change_no_state_no_loss_and_no_gradient(norm: str) -> None:
    model = make_model(norm)
    batch = pad_batch(CORPUS, ALL)
    padded = replace(
        batch,
        **{name: np.pad(getattr(batch, name), ((0, 0), (0, 10))) for name in ("source", "target_in", "target_out")},
    )
    states = model(torch.from_numpy(batch.source), torch.from_numpy(batch.target_in))
    more = model(torch.from_numpy(padded.source), torch.from_numpy(padded.target_in))[:, : states.size(1)]
    real = torch.from_numpy(batch.target_out != 0)
    assert torch.allclose(states[real], more[real], rtol=0, atol=2e-6)
    losses, gradients = [], []
    for one in (batch, padded):
        loss = batch_loss(model, one, smoothing=0.1)
        (loss.smoothed / N_TARGET).backward()
        losses.append((loss.smoothed.item(), loss.plain.item()))
        gradients.append(gradient(model))
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)
    assert difference(gradients[1], gradients[0]) < 1e-6
    assert padded.target_tokens == batch.target_tokens == N_TARGET


def test_dropout_depends_on_seed_step_and_micro_batch_only() -> None:
    values = {"n_encoder_layers": 1, "n_decoder_layers": 1, "d_model": 32, "d_ff": 64, "n_heads": 4, "dropout": 0.3}
    model = Transformer(ModelConfig.model_validate(values), source_vocab_size=V, target_vocab_size=V)
    initialise(model, seed=1)

    def at(step: int, **changes: int) -> Tensor:
        torch.manual_seed(int(torch.randint(10**6, ())))  # whatever was drawn before
        accumulate(model, ALL, training(200).model_copy(update=changes), step=step)
        return gradient(model)

    first = at(7)
    assert torch.equal(at(7), first)
    assert difference(at(8), first) > 0.01
    assert difference(at(7, seed=2), first) > 0.01
    micro_batches = [pad_batch(CORPUS, np.array([0])), pad_batch(CORPUS, np.array([0]))]
    assert np.array_equal(micro_batches[0].source, micro_batches[1].source)
    accumulate(model, np.array([0, 0]), training(1), step=7)
    twice = gradient(model)
    accumulate(model, np.array([0]), training(1), step=7)
    assert difference(gradient(model), twice) > 0.01  # the second of two equal micro-batches drew otherwise
