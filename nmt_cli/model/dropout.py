"""Dropout (paper, section 5.4), with masks that a CPU draws quickly."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

STEPS = 1 << 16
"""A probability is rounded to a multiple of 1 / STEPS on a CPU, and at most to 1 - 1 / STEPS."""


def dropout(states: Float[Tensor, "*shape"], probability: float, *, training: bool = True) -> Float[Tensor, "*shape"]:
    """Set each number to zero with a probability, and scale the others up to the same mean.

    On a CPU, where layers are not compiled, four numbers share one draw of 64 bits of torch's generator.
    """
    if not training or probability == 0.0:
        return states
    if states.device.type != "cpu" or torch.compiler.is_compiling():  # what is compiled draws its masks well
        return functional.dropout(states, probability)
    dropped = min(round(probability * STEPS), STEPS - 1)
    draws = torch.empty((states.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    kept = draws.view(torch.int16)[: states.numel()].view(states.shape) >= dropped - STEPS // 2
    return states * kept.to(states.dtype).mul_(STEPS / (STEPS - dropped))
