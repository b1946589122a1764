"""From which length on self-attention takes longer than a recurrent or a convolutional layer, on one core."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

HEADS = 8
ROUNDS = 3
SECONDS_A_LENGTH = 4.0
"""When the rounds of a length have taken so long, no further one is begun."""


class Attention(nn.Module):
    """Self-attention with its four projections, by torch's fused kernel."""

    def __init__(self, d: int) -> None:
        """Make the projections."""
        super().__init__()
        self.inputs, self.output = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        """Return the states [1 n d] mixed."""
        n, d = states.shape[1:]
        query, key, value = self.inputs(states).view(1, n, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.output(mixed.transpose(1, 2).reshape(1, n, d))


class Convolution(nn.Module):
    """A convolution over neighbours."""

    def __init__(self, d: int, k: int) -> None:
        """Make the kernel."""
        super().__init__()
        self.kernel = nn.Conv1d(d, d, k, padding=k // 2, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        """Return the states [1 n d] mixed."""
        return self.kernel(states.transpose(1, 2)).transpose(1, 2)


def timed(lengths: Sequence[int], *, d: int, k: int) -> dict[str, list[float]]:
    """Return seconds of a forward pass of each layer at each length, in turns, the least of some rounds.

    CPU time of this process, so that others on the machine disturb less.
    """
    lstm = nn.LSTM(d, d, batch_first=True, bias=False)
    layers = {"self-attention": Attention(d), "recurrent": lstm, "convolution": Convolution(d, k)}
    found: dict[str, list[float]] = {name: [] for name in layers}
    with torch.no_grad():
        for n in lengths:
            states = torch.randn(1, n, d)
            best = dict.fromkeys(layers, math.inf)
            begun = time.perf_counter()
            for _ in range(ROUNDS):
                for name, layer in layers.items():
                    before = time.process_time()
                    layer(states)
                    best[name] = min(best[name], time.process_time() - before)
                if time.perf_counter() - begun > SECONDS_A_LENGTH:
                    break
            for name, seconds in best.items():
                found[name].append(seconds)
    return found


def crossing(lengths: Sequence[int], seconds: Mapping[str, Sequence[float]], other: str) -> float | None:
    """Return the length from which on self-attention stays slower, between two lengths by their logarithms.

    0 where it is slower at every length, None where it is not slower at the longest.
    """
    ratios = [math.log(ours / theirs) for ours, theirs in zip(seconds["self-attention"], seconds[other], strict=True)]
    if ratios[-1] <= 0:
        return None
    below = max((place for place, ratio in enumerate(ratios) if ratio <= 0), default=None)
    if below is None:
        return 0.0
    share = -ratios[below] / (ratios[below + 1] - ratios[below])
    return math.exp(math.log(lengths[below]) + share * math.log(lengths[below + 1] / lengths[below]))


def by_work(other: str, *, d: int, k: int, with_projections: bool) -> float:
    """Return the length at which both have as many multiply-adds; 0 where self-attention never has fewer.

    2 n^2 d, and 4 n d^2 of projections, against 8 n d^2 or k n d^2.
    """
    theirs = 8 if other == "recurrent" else k
    return max(0.0, (theirs - 4 * with_projections) * d / 2)
