"""The loss of a batch without any padding, where the device has a kernel for it."""

from __future__ import annotations

import torch

from nmt_cli.batches.packing import PackedBatch, PackedSide
from nmt_cli.model.loss import SummedLoss, summed_loss
from nmt_cli.model.packed_kernel import packed_kernel
from nmt_cli.model.packing import Kernel, Spans, Tokens
from nmt_cli.model.transformer import Transformer


def kernel_for(model: Transformer) -> Kernel | None:
    """Return the kernel for a model where it stands; None: its batches stay padded."""
    weight = model.output.weight
    return packed_kernel(model.config, device=weight.device, dtype=model.precision or weight.dtype)


def packed_loss(model: Transformer, batch: PackedBatch, kernel: Kernel, *, smoothing: float) -> SummedLoss:
    """Return the loss summed over the target tokens of a batch: the same number as that of the padded batch."""
    device = model.output.weight.device
    states = model.forward_packed(_tokens(batch.source, device), _tokens(batch.target_in, device), kernel)
    gold = torch.from_numpy(batch.target_out).to(device, non_blocking=True)
    return summed_loss(states, model.output.weight, gold, smoothing=smoothing)


def _tokens(side: PackedSide, device: torch.device) -> Tokens:
    ids, places, starts = (
        torch.from_numpy(row).to(device, non_blocking=True) for row in (side.ids, side.places, side.starts)
    )
    return Tokens(ids, places, Spans(starts, side.longest))
