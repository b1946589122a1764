"""The whole Transformer (paper, section 3)."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nmt_cli.config import ModelConfig
from nmt_cli.model.attention import Layout, Padded, hide
from nmt_cli.model.dropout import dropout
from nmt_cli.model.embedding import N_TARGET_SPACES, Embedding, Positions
from nmt_cli.model.layers import DecoderLayer, EncoderLayer
from nmt_cli.model.packing import Kernel, Packed, Tokens
from nmt_cli.model.projection import LayerNorm
from nmt_cli.subwords.segmenter import PAD


class Transformer(nn.Module):
    """Encoder, decoder and output projection; its first decoder input is a zero vector (the padding symbol)."""

    def __init__(self, config: ModelConfig, *, source_vocab_size: int, target_vocab_size: int) -> None:
        """Make the parameters; `initialisation.initialise` or a model folder fills them."""
        super().__init__()
        if config.tying == "three-way" and source_vocab_size != target_vocab_size:
            raise ValueError(f"three-way tying of vocabularies of {source_vocab_size} and {target_vocab_size}")
        self.config = config
        self.source_embedding = Embedding(source_vocab_size, config.d_model)
        self.target_embedding = (
            self.source_embedding if config.tying == "three-way" else Embedding(target_vocab_size, config.d_model)
        )
        self.output = self.target_embedding if config.tying != "none" else Embedding(target_vocab_size, config.d_model)
        self.source_positions = Positions(config)
        self.target_positions = Positions(config)
        self.target_space = nn.Parameter(torch.empty(N_TARGET_SPACES, config.d_model)) if config.target_space else None
        self.encoder_layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_encoder_layers))
        self.decoder_layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        self.encoder_norm, self.decoder_norm = _final_norm(config), _final_norm(config)
        self.precision: torch.dtype | None = None
        """Of the states between embeddings and loss, where it is not that of the parameters."""
        self.output_projection: nn.Module | None = None
        """What `logits` uses in place of the output matrix."""

    def forward(self, source: Int[Tensor, "B S"], target_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Return the decoder's states, which `logits` projects to the vocabulary."""
        return self.decode(target_in, self.encode(source), source != PAD)

    def forward_packed(self, source: Tokens, target_in: Tokens, kernel: Kernel) -> Float[Tensor, "N D"]:
        """Return the decoder's states of pairs that lie end to end: the same function, without any padding."""
        states = self.source_embedding(source.ids)
        states = self._enter_encoder(states, self.source_positions.at(source.places, source.spans.longest, states))
        memory = self._run_encoder(states, Packed(source.spans, source.spans, causal=False, kernel=kernel))
        states = self.target_embedding(target_in.ids)
        positions = self.target_positions.at(target_in.places, target_in.spans.longest, states)
        past = Packed(target_in.spans, target_in.spans, causal=True, kernel=kernel)
        sources = Packed(target_in.spans, source.spans, causal=False, kernel=kernel)
        return self._run_decoder(self._drop(states + positions), memory, past, sources)

    def encode(self, source: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Return the memory of padded sources."""
        states = self.source_embedding(source)
        states = self._enter_encoder(states, self.source_positions(0, source.size(1), states))
        return self._run_encoder(states, Padded(hide((source != PAD)[:, None, None, :], states.dtype)))

    def decode(
        self, target_in: Int[Tensor, "B T"], memory: Float[Tensor, "B S D"], source_visible: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B T D"]:
        """Return the states of every target position, each seeing the memory and the positions up to its own."""
        length = target_in.size(1)
        states = self.embed_target(target_in, first=0)
        past = torch.ones(length, length, dtype=torch.bool, device=target_in.device).tril()
        layout = Padded(hide(past[None, None], states.dtype))
        memory_layout = Padded(hide(source_visible[:, None, None, :], states.dtype))
        return self._run_decoder(states, memory, layout, memory_layout)

    def embed_target(self, target_in: Int[Tensor, "B T"], *, first: int) -> Float[Tensor, "B T D"]:
        """Return the decoder's input for target positions from `first` on."""
        states = self.target_embedding(target_in)
        return self._drop(states + self.target_positions(first, target_in.size(1), states))

    def logits(self, states: Float[Tensor, "*shape D"]) -> Float[Tensor, "*shape V"]:
        """Project states to the vocabulary, without bias (section 3.4)."""
        if self.output_projection is not None:
            projected: Tensor = self.output_projection(states)
            return projected
        return functional.linear(states, self.output.weight)

    def _enter_encoder(self, embedded: Float[Tensor, "*B S D"], positions: Float[Tensor, "S D"]) -> Tensor:
        if self.target_space is not None:
            embedded = embedded + self.target_space[0]
        return self._drop(embedded + positions)

    def _run_encoder(self, states: Float[Tensor, "*B S D"], layout: Layout) -> Float[Tensor, "*B S D"]:
        for layer in self.encoder_layers:
            states = layer(states, layout)
        encoded: Tensor = self.encoder_norm(states)
        return encoded

    def _run_decoder(
        self, states: Float[Tensor, "*B T D"], memory: Float[Tensor, "*B S D"], layout: Layout, memory_layout: Layout
    ) -> Float[Tensor, "*B T D"]:
        for layer in self.decoder_layers:
            states = layer(states, memory, layout, memory_layout)
        decoded: Tensor = self.decoder_norm(states)
        return decoded

    def _drop(self, states: Tensor) -> Tensor:
        states = states if self.precision is None else states.to(self.precision)
        return dropout(states, self.config.dropout, training=self.training)


def _final_norm(config: ModelConfig) -> nn.Module:
    """Return the norm at the end of a stack, which only the pre-norm form has."""
    return LayerNorm(config.d_model, eps=config.layer_norm_epsilon) if config.norm == "pre" else nn.Identity()


def parameter_count(model: nn.Module) -> int:
    """Return the number of trained numbers; a tied matrix counts once (table 3)."""
    return sum(parameter.numel() for parameter in model.parameters())
