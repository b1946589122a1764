"""The gradient of one update, micro-batch by micro-batch."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmt_cli.batches.corpus import EncodedCorpus
from nmt_cli.batches.packing import pack
from nmt_cli.batches.padding import Batch, pad_batch
from nmt_cli.batches.plan import MICRO_BATCH_TOKENS, Indices, cut_update
from nmt_cli.config import TrainingConfig
from nmt_cli.model.flops import MultiplyAdds
from nmt_cli.model.loss import SummedLoss, summed_loss
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.packed_loss import kernel_for, packed_loss
from nmt_cli.training.ranks import Ranks

ONE_RANK = Ranks()


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
    model_flops: int = 0
    """Arithmetic that the model asks for on these pairs; see `model.flops`."""


class UpdateResult(NamedTuple):
    """What came of an update."""

    loss: UpdateLoss
    learning_rate: float
    gradient_norm: float
    """Before clipping."""
    finite: bool
    """Whether the weights were changed."""


class Gradient:
    """The gradients of a model in one flat tensor, with room for two sums of losses behind them."""

    def __init__(self, model: Transformer) -> None:
        """Make every parameter's gradient a part of the flat tensor."""
        parameters = list(model.parameters())
        self._flat = torch.zeros(sum(p.numel() for p in parameters) + 2, device=parameters[0].device)
        first = 0
        for parameter in parameters:
            parameter.grad = self._flat[first : first + parameter.numel()].view_as(parameter)
            first += parameter.numel()

    def clear(self) -> None:
        """Set all gradients to zero."""
        self._flat.zero_()

    def sum_over(self, ranks: Ranks, loss: UpdateLoss) -> UpdateLoss:
        """Sum gradients and losses over all ranks; return the loss of the whole update."""
        if ranks.world_size == 1:
            return loss
        self._flat[-2], self._flat[-1] = loss.smoothed, loss.plain
        ranks.sum_(self._flat)
        smoothed, plain = self._flat[-2:].tolist()
        return loss._replace(smoothed=smoothed, plain=plain)


def accumulate_gradient(
    model: Transformer,
    corpus: EncodedCorpus,
    pairs: Indices,
    config: TrainingConfig,
    *,
    step: int,
    ranks: Ranks = ONE_RANK,
) -> UpdateLoss:
    """Add to the gradients this rank's share of the update's: sum over target tokens / all the update's.

    The sum is divided once by what the whole update holds, so how it is cut does not matter. Dropout
    draws from (seed, step, micro-batch). Of the result only the two losses are this rank's alone.
    """
    source_lengths, target_lengths = corpus.source.lengths, corpus.target.lengths
    source_tokens, target_tokens = int(source_lengths[pairs].sum()), int(target_lengths[pairs].sum())
    smoothed = plain = torch.zeros(())
    positions = 0
    parts = cut_update(
        pairs,
        source_lengths,
        target_lengths,
        micro_batch_tokens=config.micro_batch_tokens or MICRO_BATCH_TOKENS,
        n_ranks=ranks.world_size,
    )
    for place, part in enumerate(parts):
        positions += len(part) * int(source_lengths[part].max() + target_lengths[part].max())
        if place % ranks.world_size != ranks.rank:
            continue
        torch.manual_seed(dropout_seed(config.seed, step, place))
        batch = pad_batch(corpus, part)
        loss = batch_loss(model, batch, smoothing=config.label_smoothing)
        (loss.smoothed / target_tokens).backward()  # type: ignore[no-untyped-call]
        smoothed = smoothed + loss.smoothed.detach().cpu()
        plain = plain + loss.plain.detach().cpu()
    multiply_adds = MultiplyAdds.of(model.config, target_vocab_size=len(model.output.weight))
    model_flops = multiply_adds.training_flops(source_lengths[pairs], target_lengths[pairs])
    return UpdateLoss(float(smoothed), float(plain), source_tokens, target_tokens, positions, model_flops)


def batch_loss(model: Transformer, batch: Batch, *, smoothing: float) -> SummedLoss:
    """Return the loss summed over the real target tokens of a batch."""
    kernel = kernel_for(model)
    if kernel is not None:
        return packed_loss(model, pack(batch), kernel, smoothing=smoothing)
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
