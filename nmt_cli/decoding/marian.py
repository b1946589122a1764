"""A reader of MarianMT folders, to check those that we write: the forward pass of `transformers`, without it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from nmt_cli.decoding.marian_weights import EPSILON
from nmt_cli.errors import ModelError
from nmt_cli.files import read_json
from nmt_cli.model_folder import read_tensors


class Marian:
    """A MarianMT as its folder describes it, in float32."""

    def __init__(self, config: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Take what is in config.json and model.safetensors."""
        self._config, self._tensors = config, tensors

    @classmethod
    def load(cls, folder: Path) -> Marian:
        """Read a folder.

        Raises:
            ModelError: it is incomplete or damaged.
        """
        config = read_json(folder / "config.json", error=ModelError)
        tensors = read_tensors(folder / "model.safetensors")
        return cls(config, {name: torch.from_numpy(tensor) for name, tensor in tensors.items()})

    @torch.no_grad()
    def score(self, source: Sequence[int], target: Sequence[int]) -> float:
        """Return the log-probability of a target given its source, in nats; both hold their end symbol."""
        memory = self._encode(torch.tensor(source))
        inputs = torch.tensor([self._config["decoder_start_token_id"], *target[:-1]])
        states = self._embed("decoder", inputs)
        for number in range(self._config["decoder_layers"]):
            layer = f"model.decoder.layers.{number}"
            states = self._attend(f"{layer}.self_attn", states, states, is_causal=True)
            states = self._attend(f"{layer}.encoder_attn", states, memory)
            states = self._feed_forward(layer, states)
        logits = states @ self._matrix("lm_head", "decoder").T + self._tensors["final_logits_bias"][0]
        chosen = logits.log_softmax(dim=-1).gather(-1, torch.tensor(target)[:, None])
        return float(chosen.sum())

    def _encode(self, source: Tensor) -> Float[Tensor, "S D"]:
        states = self._embed("encoder", source)
        for number in range(self._config["encoder_layers"]):
            layer = f"model.encoder.layers.{number}"
            states = self._feed_forward(layer, self._attend(f"{layer}.self_attn", states, states))
        return states

    def _matrix(self, name: str, side: str) -> Tensor:
        """Return an embedding or the output matrix: its own, or the one that it is tied to."""
        candidates = (f"{name}.weight", f"model.{side}.embed_tokens.weight", "model.shared.weight")
        return next(self._tensors[each] for each in candidates if each in self._tensors)

    def _embed(self, side: str, ids: Tensor) -> Float[Tensor, "T D"]:
        d_model = int(self._config["d_model"])
        rates = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        angles = torch.arange(len(ids), dtype=torch.float64)[:, None] * rates
        positions = torch.cat([angles.sin(), angles.cos()[:, : d_model // 2]], dim=1).float()
        scale = math.sqrt(d_model) if self._config["scale_embedding"] else 1.0
        return self._matrix(f"model.{side}.embed_tokens", side)[ids] * scale + positions

    def _attend(
        self, name: str, states: Float[Tensor, "T D"], seen: Float[Tensor, "S D"], *, is_causal: bool = False
    ) -> Float[Tensor, "T D"]:
        n_heads = self._config["decoder_attention_heads" if ".decoder." in name else "encoder_attention_heads"]
        query, key, value = (
            self._linear(f"{name}.{letter}_proj", given).view(len(given), n_heads, -1).transpose(0, 1)
            for letter, given in (("q", states), ("k", seen), ("v", seen))
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)
        changed = self._linear(f"{name}.out_proj", mixed.transpose(0, 1).flatten(1))
        return self._norm(f"{name}_layer_norm", states + changed)

    def _feed_forward(self, layer: str, states: Float[Tensor, "T D"]) -> Float[Tensor, "T D"]:
        inner = getattr(functional, self._config["activation_function"])(self._linear(f"{layer}.fc1", states))
        return self._norm(f"{layer}.final_layer_norm", states + self._linear(f"{layer}.fc2", inner))

    def _linear(self, name: str, states: Tensor) -> Tensor:
        return functional.linear(states, self._tensors[f"{name}.weight"], self._tensors[f"{name}.bias"])

    def _norm(self, name: str, states: Tensor) -> Tensor:
        weight, bias = self._tensors[f"{name}.weight"], self._tensors[f"{name}.bias"]
        return functional.layer_norm(states, weight.shape, weight, bias, EPSILON)
