"""The gradient of one update, micro-batch by micro-batch."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmt_cli.batches.corpus import EncodedCorpus
from nmt_cli.batches.padding import Batch, pad_batch
from nmt_cli.batches.plan import Indices, cut_update
from nmt_cli.config import TrainingConfig
from nmt_cli.model.loss import SummedLoss, summed_loss
from nmt_cli.model.transformer import Transformer


class UpdateLoss(NamedTuple):
    """What an update amounts to."""

    smoothed: float
    """Sum over target tokens, in nats; what was minimised."""
    plain: float
    """Sum over target tokens, in nats, without smoothing."""
    source_tokens: int
    target_tokens: int
    positions: int
    """Padded positions of both sides that went through the model."""


def accumulate_gradient(
    model: Transformer, corpus: EncodedCorpus, pairs: Indices, config: TrainingConfig, *, step: int
) -> UpdateLoss:
    """Add to the gradients those of the update's loss: sum over its target tokens / their number.

    The sum is divided once by what the whole update holds, so how it is cut does not matter. Dropout
    draws from (seed, step, micro-batch).
    """
    source_lengths, target_lengths = corpus.source.lengths, corpus.target.lengths
    source_tokens, target_tokens = int(source_lengths[pairs].sum()), int(target_lengths[pairs].sum())
    smoothed = plain = torch.zeros(())
    positions = 0
    parts = cut_update(pairs, source_lengths, target_lengths, micro_batch_tokens=config.micro_batch_tokens)
    for place, part in enumerate(parts):
        torch.manual_seed(dropout_seed(config.seed, step, place))
        batch = pad_batch(corpus, part)
        loss = batch_loss(model, batch, smoothing=config.label_smoothing)
        (loss.smoothed / target_tokens).backward()  # type: ignore[no-untyped-call]
        smoothed = smoothed + loss.smoothed.detach().cpu()
        plain = plain + loss.plain.detach().cpu()
        positions += batch.source.size + batch.target_out.size
    return UpdateLoss(float(smoothed), float(plain), source_tokens, target_tokens, positions)


def batch_loss(model: Transformer, batch: Batch, *, smoothing: float) -> SummedLoss:
    """Return the loss summed over the real target tokens of a batch."""
    device = model.output.weight.device
    states = model(_tensor(batch.source, device), _tensor(batch.target_in, device))
    real = _tensor(np.flatnonzero(batch.target_out), device)
    gold = _tensor(batch.target_out[batch.target_out != 0], device)
    return summed_loss(states.flatten(0, 1).index_select(0, real), model.output.weight, gold, smoothing=smoothing)


def _tensor(ids: Indices, device: torch.device) -> Tensor:
    return torch.from_numpy(ids).to(device, non_blocking=True)


def dropout_seed(seed: int, step: int, micro_batch: int) -> int:
    """Return the seed of a micro-batch's dropout, unrelated to those around it."""
    digest = hashlib.sha256(f"{seed}/{step}/{micro_batch}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
