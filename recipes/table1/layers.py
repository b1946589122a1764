"""The layers of Table 1, each as a function of states: n positions of width d in, as many out."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from nmt_cli.model.attention import attend


def self_attention(states: Tensor) -> Tensor:
    """Mix every position with every other: scores and mixing alone, of one head."""
    n = states.size(0)
    every = torch.zeros(1, 1, n, n, dtype=states.dtype, device=states.device)
    heads = states[None, None]
    return attend(heads, heads, heads, every)[0, 0]


def restricted_attention(states: Tensor, r: int) -> Tensor:
    """Mix every position with the r / 2 nearest ones on each side, and itself."""
    n, half = states.size(0), r // 2
    windows = functional.pad(states, (0, 0, half, half)).unfold(0, 2 * half + 1, 1)  # [n d r+1]
    places = torch.arange(n, device=states.device)[:, None] + torch.arange(-half, half + 1, device=states.device)
    hidden = torch.zeros(places.shape, dtype=states.dtype, device=states.device)
    hidden = hidden.masked_fill((places < 0) | (places >= n), float("-inf"))
    scores = torch.bmm(states[:, None], windows) * states.size(1) ** -0.5 + hidden[:, None]
    return torch.bmm(torch.softmax(scores, dim=-1), windows.transpose(1, 2))[:, 0]


def recurrent(states: Tensor, of_input: Tensor, of_state: Tensor) -> Tensor:
    """Go through the positions with an LSTM; both weights [d 4d]."""
    state = cell = torch.zeros_like(states[:1])
    outputs = []
    for position in states.split(1):
        gates = position @ of_input + state @ of_state
        entry, forget, candidate, exit_ = gates.chunk(4, dim=1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(entry) * torch.tanh(candidate)
        state = torch.sigmoid(exit_) * torch.tanh(cell)
        outputs.append(state)
    return torch.cat(outputs)


def convolution(states: Tensor, weight: Tensor, *, dilation: int = 1, centred: bool = True) -> Tensor:
    """Mix every position with neighbours at multiples of the dilation: weight [d d k]; else only with earlier ones."""
    reach = (weight.size(2) - 1) * dilation
    left = reach // 2 if centred else reach
    padded = functional.pad(states.T[None], (left, reach - left))
    return functional.conv1d(padded, weight, dilation=dilation)[0].T
