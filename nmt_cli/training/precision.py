"""In which precision the products of training are taken."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Literal

import torch

from nmt_cli.model.transformer import Transformer

Precision = Literal["float32", "bfloat16"]


def default_precision(device: torch.device) -> Precision:
    """Return bfloat16 for a GPU that multiplies in it, else float32."""
    return (
        "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    )


def work_in(model: Transformer, precision: Precision | None) -> None:
    """Have the states of a model in a precision; its weights stay float32."""
    model.precision = torch.bfloat16 if precision == "bfloat16" else None


@contextlib.contextmanager
def in_full(model: Transformer) -> Iterator[None]:
    """Have a model work in the precision of its weights for the block."""
    before, model.precision = model.precision, None
    try:
        yield
    finally:
        model.precision = before
