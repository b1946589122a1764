"""The gradient of one update, micro-batch by micro-batch."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nmt_cli.batches.packing import pack
from nmt_cli.batches.padding import Batch
from nmt_cli.batches.plan import Indices
from nmt_cli.batches.prepared import PreparedUpdate
from nmt_cli.config import TrainingConfig
from nmt_cli.model.loss import SummedLoss, summed_loss
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.packed_loss import kernel_for, packed_loss
from nmt_cli.training.ranks import Ranks

ONE_RANK = Ranks()
N_LOSSES = 2


class Gradient:
    """The gradients of a model in one flat tensor, and behind them the two losses, which are summed with them."""

    def __init__(self, model: Transformer) -> None:
        """Make every parameter's gradient a part of the flat tensor."""
        parameters = list(model.parameters())
        first = parameters[0]
        n_numbers = sum(parameter.numel() for parameter in parameters)
        self._flat = torch.zeros(n_numbers + N_LOSSES, dtype=first.dtype, device=first.device)
        self._gradients, self.losses = self._flat[:n_numbers], self._flat[n_numbers:]
        """`losses`: smoothed and plain, summed over target tokens, in nats."""
        sizes = [parameter.numel() for parameter in parameters]
        for parameter, part in zip(parameters, torch.split(self._gradients, sizes), strict=True):
            parameter.grad = part.view_as(parameter)

    def clear(self) -> None:
        """Set all to zero."""
        self._flat.zero_()

    def sum_over(self, ranks: Ranks) -> None:
        """Sum gradients and losses over all ranks.

        Raises:
            LostRankError: a rank is gone.
        """
        if ranks.world_size > 1:
            ranks.sum_(self._flat)

    def norm(self) -> Float[Tensor, ""]:
        """Return the Euclidean norm of the gradient."""
        norm: Tensor = torch.linalg.vector_norm(self._gradients)
        return norm

    def clip(self, norm: Float[Tensor, ""], most: float) -> None:
        """Scale the gradient, whose norm is given, down to a norm of at most `most`."""
        self._gradients.mul_((most / (norm + 1e-6)).clamp(max=1.0))


def accumulate_gradient(model: Transformer, update: PreparedUpdate, config: TrainingConfig) -> Float[Tensor, 2]:
    """Add to the gradients this rank's share of the update's: sum over target tokens / all the update's.

    The sum is divided once by what the whole update holds, so how it is cut does not matter. Dropout
    draws from (seed, step, micro-batch). Returned are this rank's smoothed and plain losses, summed, in nats.
    """
    target_tokens = update.target_tokens
    losses = torch.zeros(N_LOSSES, dtype=model.output.weight.dtype, device=model.output.weight.device)
    for place, batch in update.micro_batches:
        torch.manual_seed(dropout_seed(config.seed, update.step, place))
        loss = batch_loss(model, batch, smoothing=config.label_smoothing)
        (loss.smoothed / target_tokens).backward()  # type: ignore[no-untyped-call]
        losses += torch.stack([loss.smoothed, loss.plain]).detach()
    return losses


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
