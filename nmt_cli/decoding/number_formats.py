"""In which numbers the torch engine computes; scores are in float32 at least, whatever they are."""

from __future__ import annotations

from collections.abc import Callable

import torch

from nmt_cli.decoding.int8 import to_int8
from nmt_cli.errors import UsageError
from nmt_cli.model.transformer import Transformer

CAST = {"bfloat16": torch.bfloat16, "float16": torch.float16}
ON = {"cpu": ("float32", "bfloat16", "int8"), "cuda": ("float32", "bfloat16", "float16")}
"""What pays on each kind of device."""


def number_format(compute_type: str, device: torch.device) -> Callable[[Transformer], Transformer]:
    """Return what turns a model in float32 that was just loaded into one that computes in this type.

    Raises:
        UsageError: a type that the engine does not compute in on such a device.
    """
    chosen = "float32" if compute_type == "auto" else "int8" if compute_type == "int8_float32" else compute_type
    there_are = ON[device.type]
    if chosen not in there_are:
        raise UsageError(
            f"compute type {compute_type}: not by the engine torch on a {'GPU' if device.type == 'cuda' else 'CPU'}, "
            f"which has {', '.join(there_are)}; choose one of them, or --engine ctranslate2"
        )
    if chosen == "int8":
        return to_int8
    if chosen == "float32":
        return lambda model: model
    return lambda model: model.to(CAST[chosen])
