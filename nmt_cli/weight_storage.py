"""The forms in which a model folder keeps its weights: float32, float16, or int8 with a scale a row.

An int8 matrix W [R C] is two tensors: NAME holds q = round(scale * W), and NAME.scale [R] the 127 / max |W| of each
row, in float32; this is how CTranslate2 keeps a matrix too. Everything that is no matrix (biases, norms) stays float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nmt_cli.config import StorageForm
from nmt_cli.errors import ModelError

Array = np.ndarray[Any, Any]
Tensors = Mapping[str, Array]
SCALE = ".scale"
LARGEST = 127
SMALLEST_MAXIMUM = np.float32(LARGEST) / np.finfo(np.float32).max
"""Of a row of which the scale is still a number."""


def stored(weights: Tensors, form: StorageForm) -> dict[str, Array]:
    """Return the tensors that keep weights in a form; float32 takes them as they are."""
    if form == "float32":
        return dict(weights)
    tensors: dict[str, Array] = {}
    for name, array in weights.items():
        if form == "float16":
            tensors[name] = array.astype(np.float16)
        elif array.ndim == 2:  # noqa: PLR2004 - a matrix
            tensors[name], tensors[name + SCALE] = quantised(array)
        else:
            tensors[name] = array.astype(np.float32)
    return tensors


def restored(tensors: Tensors, form: StorageForm, *, where: str) -> dict[str, Array]:
    """Return the weights that tensors keep, in float32 unless they were stored as they are.

    Raises:
        ModelError: a matrix or a scale is missing or has other numbers than it can have; all are named.
    """
    if form == "float32":
        return dict(tensors)
    if form == "float16":
        return {name: array.astype(np.float32) for name, array in tensors.items()}
    scales = {name for name in tensors if name.endswith(SCALE) and name.removesuffix(SCALE) in tensors}
    problems = [
        problem
        for name, array in tensors.items()
        if name not in scales and (problem := _problem(name, array, tensors.get(name + SCALE)))
    ]
    if problems:
        raise ModelError(f"{where}: int8 weights that cannot be read: {'; '.join(sorted(problems))}")
    return {
        name: dequantised(array, tensors[name + SCALE]) if array.dtype == np.int8 else array.astype(np.float32)
        for name, array in tensors.items()
        if name not in scales
    }


def quantised(matrix: Array) -> tuple[Array, Array]:
    """Return the int8 numbers [R C] of a matrix and the scale [R] of each row; a row of zeros has scale 1."""
    exact = matrix.astype(np.float32)
    largest = np.abs(exact).max(axis=1, initial=0.0)
    largest = np.where(largest == 0, np.float32(LARGEST), np.maximum(largest, SMALLEST_MAXIMUM))
    scale = (LARGEST / largest).astype(np.float32)
    return np.clip(np.rint(exact * scale[:, None]), -LARGEST, LARGEST).astype(np.int8), scale


def dequantised(numbers: Array, scale: Array) -> Array:
    """Return the float32 matrix [R C] of int8 numbers and the scale [R] of each row."""
    matrix: Array = numbers.astype(np.float32) / scale[:, None]
    return matrix


def _problem(name: str, array: Array, scale: Array | None) -> str | None:
    """Return what is wrong with a tensor of an int8 model that is no scale."""
    if (array.dtype == np.int8) != (scale is not None):
        return f"{name} has a scale but is {array.dtype}" if scale is not None else f"{name + SCALE} is missing"
    if scale is None:
        return None
    if scale.shape != array.shape[:1] or array.ndim != 2:  # noqa: PLR2004 - a matrix
        return f"{name} is {list(array.shape)}, but its scale {list(scale.shape)}"
    if scale.dtype != np.float32 or not (np.isfinite(scale) & (scale > 0)).all():
        return f"{name + SCALE} holds what is no positive number"
    return None
