"""The loss of a batch without any padding, where the device has a kernel for it."""

from __future__ import annotations

import torch
from torch import Tensor

from nmt_cli.batches.packing import IdRow, PackedBatch, PackedSide, Starts
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
    return summed_loss(states, model.output.weight, _tensor(batch.target_out, device), smoothing=smoothing)


def _tokens(side: PackedSide, device: torch.device) -> Tokens:
    ids, places, starts = (_tensor(row, device) for row in (side.ids, side.places, side.starts))
    return Tokens(ids, places, Spans(starts, side.longest))


def _tensor(row: IdRow | Starts, device: torch.device) -> Tensor:
    tensor = torch.from_numpy(row)
    # From other memory a copy to a GPU waits for all that was asked of it before.
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
