"""Attention against torch's own and against loops over heads, queries and keys."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from nmt_cli.model.attention import MultiHeadAttention, Padded, attend, hide


def bias_of(kind: str) -> Tensor:
    visible = {
        "all": torch.ones(1, 1, 1, 7, dtype=torch.bool),
        "padding": torch.arange(7) < torch.tensor([7, 3, 1])[:, None, None, None],
        "causal": torch.ones(7, 7, dtype=torch.bool).tril()[None, None],
    }[kind]
    return hide(visible, torch.float64)


@pytest.mark.parametrize("kind", ["all", "padding", "causal"])
@pytest.mark.parametrize(("d_k", "d_v"), [(5, 5), (2, 9)])
def test_attention_equals_torchs_scaled_dot_product(kind: str, d_k: int, d_v: int) -> None:
    torch.manual_seed(1)
    query, key = torch.randn(3, 4, 7, d_k).double(), torch.randn(3, 4, 7, d_k).double()
    value, bias = torch.randn(3, 4, 7, d_v).double(), bias_of(kind)
    tensors = [tensor.requires_grad_() for tensor in (query, key, value)]
    ours = attend(query, key, value, bias)
    theirs = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-13)
    weight = torch.randn_like(ours)
    ours_gradients = torch.autograd.grad((ours * weight).sum(), tensors)
    theirs_gradients = torch.autograd.grad((theirs * weight).sum(), tensors)
    for one, two in zip(ours_gradients, theirs_gradients, strict=True):
        assert torch.allclose(one, two, rtol=0, atol=1e-12)


def test_huge_scores_stay_finite_and_pick_the_largest() -> None:
    query, key = torch.full((1, 1, 1, 4), 1e4), torch.tensor([-1e4, 1e4, 0.0])[None, None, :, None].expand(1, 1, 3, 4)
    value = torch.tensor([1.0, 2.0, 3.0])[None, None, :, None]
    assert attend(query, key, value, torch.zeros(1, 1, 1, 3)).item() == 2.0


@torch.no_grad()
def attention_by_loops(module: MultiHeadAttention, states: Tensor, memory: Tensor, visible: list[list[bool]]) -> Tensor:
    """Return equation 1 for one sentence, a head, a query and a key at a time; heads concatenated, then W^O."""
    n_heads, d_k, d_v = module.n_heads, module.d_k, module.d_v
    if module.is_over_memory:
        w_query, w_keys_values = module.query.weight, module.key_value.weight
    else:
        w_query, w_keys_values = module.query_key_value.weight.tensor_split([n_heads * d_k])
    w_key, w_value = w_keys_values.tensor_split([n_heads * d_k])
    rows = []
    for position, state in enumerate(states):
        heads = []
        for head in range(n_heads):
            keys, values = slice(head * d_k, (head + 1) * d_k), slice(head * d_v, (head + 1) * d_v)
            query = w_query[keys] @ state
            seen = [place for place in range(len(memory)) if visible[position][place]]
            powers = [math.exp(float(query @ (w_key[keys] @ memory[place])) / math.sqrt(d_k)) for place in seen]
            total = sum(powers)
            heads.append(
                sum(p / total * (w_value[values] @ memory[place]) for p, place in zip(powers, seen, strict=True))
            )
        rows.append(module.output.weight @ torch.cat(heads))
    return torch.stack(rows)


@pytest.mark.parametrize("over_memory", [False, True])
@pytest.mark.parametrize(("d_k", "d_v"), [(4, 4), (3, 5), (6, 2)])
def test_many_heads_equal_one_head_after_the_other(over_memory: bool, d_k: int, d_v: int) -> None:
    torch.manual_seed(2)
    module = MultiHeadAttention(
        12, n_heads=3, d_k=d_k, d_v=d_v, bias=False, dropout=0.0, over_memory=over_memory
    ).double()
    states, memory = torch.randn(5, 12).double(), torch.randn(6, 12).double()
    if over_memory:
        visible = [[True, True, False, True, False, True]] * 5
        layout = Padded(hide(torch.tensor(visible)[None, None], torch.float64))
        found = module.over_memory(states[None], memory[None], layout)
    else:
        memory, visible = states, [[key <= query for key in range(5)] for query in range(5)]
        found = module.over_itself(states[None], Padded(hide(torch.tensor(visible)[None, None], torch.float64)))
    assert torch.allclose(found[0], attention_by_loops(module, states, memory, visible), rtol=0, atol=1e-12)
