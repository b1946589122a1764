"""A model folder in the form of CTranslate2, by CTranslate2's own specification; numpy only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.specs import TransformerSpec, common_spec

from nmt_cli.config import ModelConfig
from nmt_cli.errors import UsageError
from nmt_cli.model_folder import ModelFolder
from nmt_cli.subwords.segmenter import END, PAD, UNKNOWN, Segmenter

Array = np.ndarray[Any, Any]
Weights = Mapping[str, Array]
MOST_POSITIONS = 2_048
"""Rows of the table of sinusoids, which CTranslate2 cannot work out in our order by itself."""


def why_not(config: ModelConfig) -> str | None:
    """Return what CTranslate2 cannot express of a model, None if it can express all."""
    if config.target_space:
        return "it has a target space"
    if config.d_k != config.d_v or config.d_k * config.n_heads != config.d_model:
        return f"its heads are of {config.d_k} and {config.d_v} numbers, not d_model / n_heads"
    return None


def n_positions(config: ModelConfig) -> int:
    """Return how many positions a side a converted model has."""
    return config.max_positions if config.positions == "learned" else MOST_POSITIONS


def convert_to_ctranslate2(folder: ModelFolder, target: Path, *, quantization: str | None = None) -> None:
    """Write a model of ours into an empty folder, as CTranslate2 loads it.

    `quantization` is that of the stored weights, as CTranslate2 names it (int8, float16, ...); None: float32.

    Raises:
        UsageError: CTranslate2 cannot express the model.
    """
    description = folder.description
    config = description.model
    reason = why_not(config)
    if reason is not None:
        raise UsageError(f"{folder.path}: CTranslate2 cannot express this model: {reason}; use --engine torch")
    spec = TransformerSpec.from_config(
        (config.n_encoder_layers, config.n_decoder_layers),
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation=common_spec.Activation.RELU,
    )
    weights = folder.weights()
    _fill(spec, weights, config)
    source, target_side = Segmenter.load(folder.source_subwords), Segmenter.load(folder.target_subwords)
    names = source.pieces(range(source.vocab_size)), target_side.pieces(range(target_side.vocab_size))
    spec.register_source_vocabulary(list(names[0]))
    spec.register_target_vocabulary(list(names[1]))
    spec.config.unk_token, spec.config.eos_token = names[1][UNKNOWN], names[1][END]
    # The first decoder input is a zero vector, which no symbol has; this one is never looked up.
    spec.config.bos_token = spec.config.decoder_start_token = names[1][PAD]
    spec.config.layer_norm_epsilon = config.layer_norm_epsilon
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(target))


def _fill(spec: Any, weights: Weights, config: ModelConfig) -> None:  # noqa: ANN401 - CTranslate2 gives no types
    source = weights["source_embedding.weight"]
    target = weights.get("target_embedding.weight", source)
    output = weights.get("output.weight", target)
    for side, embedding, name in ((spec.encoder, source, "source"), (spec.decoder, target, "target")):
        embeddings = side.embeddings if name == "target" else side.embeddings[0]
        embeddings.weight = embedding
        side.scale_embeddings = True
        side.position_encodings.encodings = _positions(weights.get(f"{name}_positions.table"), config)
    spec.decoder.start_from_zero_embedding = True
    spec.decoder.projection.weight = output
    if config.norm == "pre":
        _norm(spec.encoder.layer_norm, weights, "encoder_norm")
        _norm(spec.decoder.layer_norm, weights, "decoder_norm")
    for number, layer in enumerate(spec.encoder.layer):
        _attention(layer.self_attention, weights, f"encoder_layers.{number}.self_attention", "query_key_value")
        _feed_forward(layer.ffn, weights, f"encoder_layers.{number}.feed_forward")
    for number, layer in enumerate(spec.decoder.layer):
        name = f"decoder_layers.{number}"
        _attention(layer.self_attention, weights, f"{name}.self_attention", "query_key_value")
        _attention(layer.attention, weights, f"{name}.cross_attention", "query", "key_value")
        _feed_forward(layer.ffn, weights, f"{name}.feed_forward")


def _attention(spec: Any, weights: Weights, name: str, *projections: str) -> None:  # noqa: ANN401
    for linear, projection in zip(spec.linear, (*projections, "output"), strict=True):
        _linear(linear, weights, f"{name}.{projection}")
    _norm(spec.layer_norm, weights, f"{name}_residual.norm")


def _feed_forward(spec: Any, weights: Weights, name: str) -> None:  # noqa: ANN401
    _linear(spec.linear_0, weights, f"{name}.inner")
    _linear(spec.linear_1, weights, f"{name}.outer")
    _norm(spec.layer_norm, weights, f"{name}_residual.norm")


def _linear(spec: Any, weights: Weights, name: str) -> None:  # noqa: ANN401
    spec.weight = weights[f"{name}.weight"]
    if f"{name}.bias" in weights:
        spec.bias = weights[f"{name}.bias"]


def _norm(spec: Any, weights: Weights, name: str) -> None:  # noqa: ANN401
    spec.gamma, spec.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]


def _positions(table: Array | None, config: ModelConfig) -> Array:
    """Return what is added to the embeddings: a learned table, scaled, or sinusoids in the model's own order."""
    if table is not None:
        return np.asarray(table * config.d_model**0.5, dtype=np.float32)
    places, d_model = np.arange(MOST_POSITIONS, dtype=np.float64)[:, None], config.d_model
    if config.positions == "interleaved":
        angles = places / 10_000 ** (np.arange(0, d_model, 2) / d_model)
        both = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(MOST_POSITIONS, -1)
        return np.asarray(both[:, :d_model], dtype=np.float32)
    half = d_model // 2
    angles = places * np.exp(-np.log(10_000) / max(half - 1, 1) * np.arange(half))
    both = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return np.asarray(np.pad(both, ((0, 0), (0, d_model - 2 * half))), dtype=np.float32)
