"""Torch's kernel for packed attention (`torch.nn.attention.varlen`): whether it can be used, and how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from nmt_cli.config import ModelConfig
from nmt_cli.model.packing import Kernel, Spans

PRECISIONS = (torch.bfloat16, torch.float16)
WIDEST_HEAD = 256
HEAD_STEP = 8
"""Widths of heads are multiples of it (flash attention)."""


def packed_kernel(config: ModelConfig, *, device: torch.device, dtype: torch.dtype) -> Kernel | None:
    """Return the kernel that attends over packed sentences; None: attention has to be over padded ones."""
    return None if why_padded(config, device=device, dtype=dtype) else _torchs_kernel()


@lru_cache
def why_padded(config: ModelConfig, *, device: torch.device, dtype: torch.dtype) -> str | None:
    """Return what keeps attention over padded sentences, as a clause; None: nothing does.

    `dtype` is the precision of the model's states.
    """
    width = config.d_k
    obstacles = {
        f"the device is {device.type}": device.type != "cuda",
        f"the precision is {str(dtype).removeprefix('torch.')}": dtype not in PRECISIONS,
        f"model.attention_dropout is {config.attention_dropout}": config.attention_dropout > 0,
        f"model.d_k is {width} and model.d_v {config.d_v}": width != config.d_v,
        f"model.d_k is {width}, no multiple of {HEAD_STEP} up to {WIDEST_HEAD}": width % HEAD_STEP
        or width > WIDEST_HEAD,
    }
    for clause, stands in obstacles.items():
        if stands:
            return clause
    kernel = _torchs_kernel()
    if kernel is None:
        return "this torch has no packed attention that is known here"
    if not runs(kernel, n_heads=config.n_heads, width=width, device=device, dtype=dtype):
        return "packed attention does not run on this device"
    return None


@lru_cache
def _torchs_kernel() -> Kernel | None:
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    return adapt(varlen_attn)


def adapt(varlen_attn: Callable[..., Any]) -> Kernel | None:
    """Return torch's function as a kernel, however its version is told to hide the future; None: no known way."""
    known = inspect.signature(varlen_attn).parameters
    if "window_size" in known:
        hide_future: dict[str, Any] = {"window_size": (-1, 0)}  # all before, nothing after
    elif "is_causal" in known:
        hide_future = {"is_causal": True}
    else:
        return None

    def kernel(query: Tensor, key: Tensor, value: Tensor, queries: Spans, keys: Spans, *, causal: bool) -> Tensor:
        how = hide_future if causal else {}
        mixed: Tensor = varlen_attn(
            query, key, value, queries.starts, keys.starts, queries.longest, keys.longest, **how
        )
        return mixed

    return kernel


def runs(kernel: Kernel, *, n_heads: int, width: int, device: torch.device, dtype: torch.dtype) -> bool:
    """Try a kernel, forward and backward, on two sentences of one and two tokens."""
    spans = Spans(torch.tensor([0, 1, 3], dtype=torch.int32, device=device), 2)
    try:
        with torch.enable_grad():
            states = torch.ones(3, n_heads, width, device=device, dtype=dtype, requires_grad=True)
            kernel(states, states, states, spans, spans, causal=True).sum().backward()  # type: ignore[no-untyped-call]
    except RuntimeError:
        return False
    return states.grad is not None and bool(states.grad.isfinite().all())
