"""Layers compiled by torch.compile, where that works."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from nmt_cli.model.attention import Layout, Padded
from nmt_cli.model.layers import DecoderLayer, EncoderLayer
from nmt_cli.model.packing import Packed, Spans
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.packed_loss import kernel_for


def compile_layers(model: Transformer, warn: Callable[[str], None]) -> None:
    """Have every layer compiled at its first use; warn in one line, and leave them as they are, where that fails.

    Layers of a kind share what is compiled, for any length and number of sentences; names of parameters
    stay. What is compiled is tried first on spare layers, so that no update is ever half done.
    """
    problem = _try_compiling(model)
    if problem is not None:
        warn(f"machine.compile: torch.compile does not work here, the layers run uncompiled ({problem})")
        return
    for layer in (*model.encoder_layers, *model.decoder_layers):
        layer.compile(dynamic=True)


def _try_compiling(model: Transformer) -> str | None:
    """Run one layer of each kind forward and backward as training will; return what went wrong, in one line."""
    device = model.output.weight.device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), torch.enable_grad():
        encoder = EncoderLayer(model.config).to(device, model.output.weight.dtype)
        decoder = DecoderLayer(model.config).to(device, model.output.weight.dtype)
        try:
            for layer in (encoder, decoder):
                layer.compile(dynamic=True)
            source, target, layouts = _some_sentences(model)
            memory = encoder(source, layouts[0])
            decoder(target, memory, layouts[1], layouts[2]).sum().backward()
        except (RuntimeError, ImportError, OSError) as error:
            return _in_one_line(error)
    return None


def _some_sentences(model: Transformer) -> tuple[Tensor, Tensor, tuple[Layout, Layout, Layout]]:
    """Return states of a few sentences as training lays them out, with what the layers need to know."""
    weight = model.output.weight
    dtype, d_model = model.precision or weight.dtype, model.config.d_model
    kernel = kernel_for(model)
    if kernel is None:
        source, target = (weight.new_zeros(3, length, d_model, dtype=dtype) for length in (5, 4))
        past, visible = (weight.new_zeros(*shape, dtype=dtype) for shape in ((1, 1, 4, 4), (3, 1, 1, 5)))
        layouts: tuple[Layout, Layout, Layout] = (Padded(visible), Padded(past), Padded(visible))
    else:
        # No two sizes are equal that need not be: what is compiled would hold for equal ones only.
        sources = Spans(weight.new_tensor([0, 4, 7], dtype=torch.int32), 4)
        targets = Spans(weight.new_tensor([0, 1, 6], dtype=torch.int32), 5)
        source, target = (weight.new_zeros(n_tokens, d_model, dtype=dtype) for n_tokens in (7, 6))
        layouts = (
            Packed(sources, sources, causal=False, kernel=kernel),
            Packed(targets, targets, causal=True, kernel=kernel),
            Packed(targets, sources, causal=False, kernel=kernel),
        )
    return source.requires_grad_(), target.requires_grad_(), layouts


def _in_one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
