"""Sentences end to end in one row of tokens, without padding, and how attention stays within each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int, Int32
from torch import Tensor

from nmt_cli.model.attention import attend, hide


class Spans(NamedTuple):
    """Where each sentence stands: sentence i is tokens starts[i] to starts[i + 1] - 1."""

    starts: Int32[Tensor, " B1"]
    """[B + 1]: cumulative lengths, from 0 to the number of tokens."""
    longest: int
    """Tokens of the longest sentence."""


class Tokens(NamedTuple):
    """All real tokens of one side of a batch."""

    ids: Int[Tensor, " N"]
    places: Int[Tensor, " N"]
    """Position of each token in its sentence, from 0."""
    spans: Spans


@runtime_checkable
class Kernel(Protocol):
    """Attention of packed queries over packed keys, sentence by sentence, with scores divided by sqrt(K)."""

    def __call__(
        self,
        query: Float[Tensor, "N H K"],
        key: Float[Tensor, "M H K"],
        value: Float[Tensor, "M H V"],
        queries: Spans,
        keys: Spans,
        *,
        causal: bool,
    ) -> Float[Tensor, "N H V"]:
        """Mix the values that each query sees; `causal`: those up to its own position."""


@dataclass(frozen=True)
class Packed:
    """Sentences end to end, [N D]; a query sees the keys of its own sentence."""

    queries: Spans
    keys: Spans
    causal: bool
    kernel: Kernel

    def attend(
        self,
        query: Float[Tensor, "H N K"],
        key: Float[Tensor, "H M K"],
        value: Float[Tensor, "H M V"],
        *,
        dropout: float,
    ) -> Float[Tensor, "H N V"]:
        """Mix the values that each query sees."""
        if dropout:
            raise ValueError(f"attention dropout of {dropout}, but packed attention has none")
        query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
        return self.kernel(query, key, value, self.queries, self.keys, causal=self.causal).transpose(0, 1)


def one_sentence_at_a_time(
    query: Float[Tensor, "N H K"],
    key: Float[Tensor, "M H K"],
    value: Float[Tensor, "M H V"],
    queries: Spans,
    keys: Spans,
    *,
    causal: bool,
) -> Float[Tensor, "N H V"]:
    """Do what a kernel must, slowly, on any device and in any precision: the reference for tests."""
    seen = []
    sentences = zip(_apart(query, queries), _apart(key, keys), _apart(value, keys), strict=True)
    for one_query, one_key, one_value in sentences:
        visible = torch.ones(one_query.size(2), one_key.size(2), dtype=torch.bool, device=query.device)
        bias = hide((visible.tril() if causal else visible)[None, None], query.dtype)
        seen.append(attend(one_query, one_key, one_value, bias)[0].transpose(0, 1))
    return torch.cat(seen)


def _apart(heads: Float[Tensor, "N H K"], spans: Spans) -> list[Float[Tensor, "1 H T K"]]:
    return [sentence.transpose(0, 1)[None] for sentence in heads.tensor_split(spans.starts[1:-1].tolist())]
