"""Our weights under the names, and in the order of dimensions, of MarianMT in Hugging Face's `transformers`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmt_cli.config import ModelConfig

Array = np.ndarray[Any, Any]
Weights = Mapping[str, Array]
EPSILON = 1e-5
"""Of each LayerNorm in MarianMT; no setting changes it."""
IMPOSSIBLE = -1e4
"""Logit of a symbol that has no share in the probabilities, in float32 as in float16."""


def why_not_marian(config: ModelConfig) -> str | None:
    """Return the setting that MarianMT cannot express, None if it can express all."""
    if config.norm != "post":
        return f"model.norm is {config.norm}, and MarianMT has post"
    if config.positions != "interleaved":
        others = {"learned": "learns none", "concatenated": "has those of the paper (interleaved), not t2t's rates"}
        return f"model.positions is {config.positions}, and MarianMT {others[config.positions]}"
    if config.target_space:
        return "model.target_space is true, and MarianMT has none"
    if config.d_k != config.d_v or config.d_k * config.n_heads != config.d_model:
        return (
            f"model.d_k and model.d_v are {config.d_k} and {config.d_v}, "
            f"and MarianMT has d_model / n_heads ({config.d_model} / {config.n_heads})"
        )
    return None


def marian_weights(weights: Weights, config: ModelConfig) -> dict[str, Array]:
    """Return the tensors of a MarianMT that computes what our weights do.

    - MarianMT has all sines of the positions before all cosines, ours take turns: all weights follow, dimension by
      dimension of d_model.
    - Its decoder starts with the padding symbol. That is a new one behind the vocabulary, whose embedding is zero, as
      the first input of ours is; a bias keeps it out of the probabilities.
    - Its LayerNorm has an epsilon of its own. Of numbers that are s times as large, the norm with epsilon s^2 e is that
      of the numbers themselves with e, and so the states between the first norm and the last are made s times as
      large. At the first norm of each stack they come from embeddings and positions, which cannot be; there the
      variance is far above any epsilon.
    """
    order = np.concatenate([np.arange(0, config.d_model, 2), np.arange(1, config.d_model, 2)])
    scale = (EPSILON / config.layer_norm_epsilon) ** 0.5
    tensors = _embeddings(weights, config, order)
    for stack, n_layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        sublayers = ("self_attention", "cross_attention", "feed_forward")
        for number in range(n_layers):
            for sublayer in sublayers if stack == "decoder" else sublayers[::2]:
                is_first = (number, sublayer) == (0, sublayers[0])
                is_last = (number, sublayer) == (n_layers - 1, sublayers[-1])
                change = Change(order, scale_in=1.0 if is_first else scale, scale_out=1.0 if is_last else scale)
                ours, theirs = f"{stack}_layers.{number}.{sublayer}", f"model.{stack}.layers.{number}"
                tensors |= change.sublayer(weights, ours, theirs, sublayer)
    return {name: np.ascontiguousarray(tensor, dtype=np.float32) for name, tensor in tensors.items()}


@dataclass(frozen=True)
class Change:
    """What becomes of the weights of a sublayer and of the norm behind it."""

    order: Array
    """Places of our dimensions in the order of theirs."""
    scale_in: float
    """Of the states that the sublayer reads and adds to."""
    scale_out: float
    """Of the states behind its norm."""

    def sublayer(self, weights: Weights, ours: str, theirs: str, kind: str) -> dict[str, Array]:
        """Return the tensors of a sublayer of this kind."""
        if kind == "feed_forward":
            tensors = self._inward(weights, f"{ours}.inner", [f"{theirs}.fc1"])
            tensors |= self._outward(weights, f"{ours}.outer", f"{theirs}.fc2")
            return tensors | self._norm(weights, ours, f"{theirs}.final_layer_norm")
        theirs += ".self_attn" if kind == "self_attention" else ".encoder_attn"
        query, key, value = (f"{theirs}.{letter}_proj" for letter in "qkv")
        if kind == "self_attention":
            tensors = self._inward(weights, f"{ours}.query_key_value", [query, key, value])
        else:
            tensors = self._inward(weights, f"{ours}.query", [query])
            tensors |= self._inward(weights, f"{ours}.key_value", [key, value], is_memory=True)
        tensors |= self._outward(weights, f"{ours}.output", f"{theirs}.out_proj")
        return tensors | self._norm(weights, ours, f"{theirs}_layer_norm")

    def _inward(self, weights: Weights, ours: str, theirs: list[str], *, is_memory: bool = False) -> dict[str, Array]:
        """Return the linear maps that read d_model numbers, of which ours may hold several in one matrix.

        The encoder's memory is not scaled.
        """
        matrix = weights[f"{ours}.weight"][:, self.order] / (1.0 if is_memory else self.scale_in)
        bias = weights.get(f"{ours}.bias", np.zeros(len(matrix)))
        tensors: dict[str, Array] = {}
        for name, rows, numbers in zip(theirs, np.split(matrix, len(theirs)), np.split(bias, len(theirs)), strict=True):
            tensors |= {f"{name}.weight": rows, f"{name}.bias": numbers}
        return tensors

    def _outward(self, weights: Weights, ours: str, theirs: str) -> dict[str, Array]:
        """Return the linear map that writes d_model numbers."""
        matrix = weights[f"{ours}.weight"]
        bias = weights.get(f"{ours}.bias", np.zeros(len(matrix)))
        both = {f"{theirs}.weight": matrix, f"{theirs}.bias": bias}
        return {name: tensor[self.order] * self.scale_in for name, tensor in both.items()}

    def _norm(self, weights: Weights, ours: str, theirs: str) -> dict[str, Array]:
        return {
            f"{theirs}.{kind}": weights[f"{ours}_residual.norm.{kind}"][self.order] * self.scale_out
            for kind in ("weight", "bias")
        }


def _embeddings(weights: Weights, config: ModelConfig, order: Array) -> dict[str, Array]:
    def with_padding(matrix: Array) -> Array:
        return np.concatenate([matrix[:, order], np.zeros((1, config.d_model), dtype=matrix.dtype)])

    source = with_padding(weights["source_embedding.weight"])
    bias = np.zeros((1, len(source)), dtype=np.float32)
    bias[:, -1] = IMPOSSIBLE
    if config.tying == "three-way":
        return {"model.shared.weight": source, "final_logits_bias": bias}
    tensors = {
        "model.encoder.embed_tokens.weight": source,
        "model.decoder.embed_tokens.weight": with_padding(weights["target_embedding.weight"]),
        "final_logits_bias": bias,
    }
    if config.tying == "none":
        tensors["lm_head.weight"] = with_padding(weights["output.weight"])
    return tensors
