"""The largest of many numbers, ties to the lower index."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


def top(values: Float[Tensor, "*rows V"], n: int) -> tuple[Float[Tensor, "*rows N"], Int[Tensor, "*rows N"]]:
    """Return the n largest of each row with their indices, in falling order; of equals, the lower index first.

    `Tensor.topk` alone leaves the choice among equals open.
    """
    size = values.size(-1)
    if n >= size:
        best = values.sort(dim=-1, descending=True, stable=True)
        return best.values, best.indices
    found = values.topk(n + 1, dim=-1)
    largest, indices = _equals_by_index(found.values[..., :n], found.indices[..., :n])
    last, next_one = found.values[..., n - 1], found.values[..., n]
    tied = (last == next_one) & (last > float("-inf"))
    if bool(tied.any()):
        exact = values[tied].sort(dim=-1, descending=True, stable=True)
        largest[tied], indices[tied] = exact.values[..., :n], exact.indices[..., :n]
    return largest, indices


def _equals_by_index(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    by_index = indices.sort(dim=-1)
    by_value = values.gather(-1, by_index.indices).sort(dim=-1, descending=True, stable=True)
    return by_value.values, by_index.values.gather(-1, by_value.indices)


def pick(values: Tensor, places: Int[Tensor, "B N"]) -> Tensor:
    """Return values[b, places[b, n]], whatever further dimensions `values` has."""
    rows = torch.arange(places.size(0), device=places.device)[:, None]
    return values[rows, places]
