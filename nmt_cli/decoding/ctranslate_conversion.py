"""A model folder in the form of CTranslate2, by CTranslate2's own specification; numpy only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.config import ModelConfig
from nmt_cli.decoding.ctranslate_engine import MOST_POSITIONS, why_not_model
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.model_folder import ModelFolder
from nmt_cli.subwords.segmenter import END, PAD, UNKNOWN, Segmenter

Array = np.ndarray[Any, Any]
Weights = Mapping[str, Array]


@contextlib.contextmanager
def _without_torch() -> Iterator[None]:
    """Have imports find no torch, unless it has been imported: CTranslate2 looks for it, and we have no use for it."""
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]


with _without_torch():
    from ctranslate2.specs import TransformerSpec, common_spec


def convert_to_ctranslate2(folder: ModelFolder, target: Path, *, quantization: str | None = None) -> None:
    """Write a model of ours into an empty folder, as CTranslate2 loads it.

    `quantization` is that of the stored weights, as CTranslate2 names it (int8, float16, ...); None: float32.

    Raises:
        UsageError: CTranslate2 cannot express the model.
        ModelError: a weight is not finite.
    """
    description = folder.description
    config = description.model
    reason = why_not_model(config)
    if reason is not None:
        raise UsageError(f"{folder.path}: CTranslate2 cannot do this: {reason}; use --engine torch")
    spec = TransformerSpec.from_config(
        (config.n_encoder_layers, config.n_decoder_layers),
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation=common_spec.Activation.RELU,
    )
    weights = folder.weights()
    for name, weight in weights.items():
        if not np.isfinite(weight).all():
            raise ModelError(f"{folder.path}: {name} holds numbers that are not finite; the model is damaged")
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
