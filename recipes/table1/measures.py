"""What Table 1 says of each layer, measured: work, chain of operations, path between the ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from layers import convolution, recurrent, restricted_attention, self_attention

Layer = Callable[[Tensor], Tensor]


def make_layer(kind: str, *, d: int, k: int = 3, r: int = 16, device: str = "cpu") -> Layer:
    """Return a layer with random weights, in float64."""
    draw = {"dtype": torch.float64, "device": device}
    if kind == "self-attention":
        return self_attention
    if kind == "restricted":
        return lambda states: restricted_attention(states, r)
    if kind == "recurrent":
        weights = torch.randn(d, 4 * d, **draw) * d**-0.5, torch.randn(d, 4 * d, **draw) * d**-0.5
        return lambda states: recurrent(states, *weights)
    weight = torch.randn(d, d, k, **draw) * (d * k) ** -0.5
    return lambda states: convolution(states, weight)


def multiply_adds(kind: str, *, n: int, d: int, k: int = 3, r: int = 16) -> int:
    """Return the multiply-adds of a layer by its shapes."""
    return {
        "self-attention": 2 * n * n * d,
        "restricted": 2 * n * (r + 1) * d,
        "recurrent": 8 * n * d * d,
        "convolution": k * n * d * d,
    }[kind]


def counted(kind: str, *, n: int, d: int, k: int = 3, r: int = 16) -> int:
    """Return the multiply-adds that torch's counter sees; nothing is computed."""
    layer = make_layer(kind, d=d, k=k, r=r, device="meta")
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(torch.empty(n, d, dtype=torch.float64, device="meta"))
    return int(counter.get_total_flops()) // 2


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the power of the size that the values grow with: a line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def longest_chain(output: Tensor) -> int:
    """Return the operations that had to wait for each other: the longest way through the graph of a result."""
    lengths: dict[object, int] = {}
    stack = [(output.grad_fn, False)]
    while stack:
        node, is_done = stack.pop()
        if node is None or node in lengths:
            continue
        before = [other for other, _ in node.next_functions if other is not None]
        if is_done:
            lengths[node] = 1 + max((lengths[other] for other in before), default=0)
        else:
            stack += [(node, True), *((other, False) for other in before)]
    return lengths[output.grad_fn]


def sequential_operations(kind: str, *, n: int, d: int = 4) -> int:
    """Return the longest chain of operations of a layer over n positions."""
    layer = make_layer(kind, d=d)
    return longest_chain(layer(torch.randn(n, d, dtype=torch.float64, requires_grad=True)))


def sees(kind: str, layer: int, *, n: int, k: int = 3, r: int = 16) -> np.ndarray:
    """Return which positions each position takes in at a layer (counted from 0), as a mask [n n]."""
    back = np.arange(n)[:, None] - np.arange(n)[None, :]
    match kind:
        case "self-attention":
            return np.ones((n, n), dtype=bool)
        case "restricted":
            return np.abs(back) <= r // 2
        case "recurrent":  # a layer is a step here
            return (back == 0) | (back == 1)
        case "contiguous, one-sided":
            return (back >= 0) & (back < k)
        case "contiguous, centred":
            return np.abs(back) <= (k - 1) // 2
        case "dilated":
            apart = k**layer
            return (back >= 0) & (back % apart == 0) & (back // apart < k)
    raise ValueError(kind)


def path_length(kind: str, *, n: int, k: int = 3, r: int = 16) -> int:
    """Return the layers, or steps, after which the last position can depend on the first."""
    reached = np.zeros(n, dtype=bool)
    reached[0] = True
    layers = 0
    while not reached[-1]:
        reached = (sees(kind, layers, n=n, k=k, r=r) & reached).any(axis=1)
        layers += 1
    return layers


def expected_path(kind: str, *, n: int, k: int = 3, r: int = 16) -> int:
    """Return the path length that theory has."""
    return {
        "self-attention": 1,
        "restricted": math.ceil((n - 1) / (r // 2)),
        "recurrent": n - 1,
        "contiguous, one-sided": math.ceil((n - 1) / (k - 1)),
        "contiguous, centred": math.ceil((n - 1) / ((k - 1) // 2)),
        "dilated": next(layers for layers in range(n) if k**layers >= n),
    }[kind]


def gradient_reaches(kind: str, layers: int, *, n: int, k: int = 3, r: int = 16, d: int = 4) -> bool:
    """Tell whether the last output of a stack of random layers changes with its first input.

    Of the recurrent layer, `layers` are steps: the output that many positions after the first is looked at.
    """
    first = torch.randn(n, d, dtype=torch.float64, requires_grad=True)
    states, last = first, -1
    if kind == "recurrent":
        states, last = make_layer("recurrent", d=d)(states), layers
    else:
        for layer in range(layers):
            states = _of_stack(kind, layer, d=d, k=k, r=r)(states)
    (gradient,) = torch.autograd.grad(states[last].sum(), first)
    return bool(gradient[0].abs().max() > 0)


def _of_stack(kind: str, layer: int, *, d: int, k: int, r: int) -> Layer:
    if kind in {"self-attention", "restricted"}:
        return make_layer(kind, d=d, r=r)
    weight = torch.randn(d, d, k, dtype=torch.float64)
    dilation = k**layer if kind == "dilated" else 1
    return lambda states: convolution(states, weight, dilation=dilation, centred=kind == "contiguous, centred")
