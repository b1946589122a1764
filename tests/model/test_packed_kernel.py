"""Where packed attention is used, how torch's kernel is called, and that it does what the reference does."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from nmt_cli.config import ModelConfig
from nmt_cli.model import packed_kernel as module
from nmt_cli.model.packed_kernel import adapt, packed_kernel, runs, why_padded
from nmt_cli.model.packing import Spans, one_sentence_at_a_time

QUERIES = Spans(torch.tensor([0, 1, 6, 8], dtype=torch.int32), 5)
KEYS = Spans(torch.tensor([0, 4, 5, 11], dtype=torch.int32), 6)
GPU = torch.device("cuda")


def config(**changes: object) -> ModelConfig:
    values = {"n_encoder_layers": 1, "n_decoder_layers": 1, "d_model": 64, "d_ff": 64, "n_heads": 2, "dropout": 0.1}
    return ModelConfig.model_validate(values | changes)


class Calls(list[dict[str, object]]):
    """Stands in for torch's function: notes how it was called."""

    def with_flag(  # torch 2.10
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        cu_seq_q: Tensor,
        cu_seq_k: Tensor,
        max_q: int,
        max_k: int,
        is_causal: bool = False,
        return_aux: object = None,
    ) -> Tensor:
        self.append({name: value for name, value in locals().items() if name != "self"})
        return value.new_full((len(query), *value.shape[1:]), 7.0)

    def with_window(  # torch 2.13
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        cu_seq_q: Tensor,
        cu_seq_k: Tensor,
        max_q: int,
        max_k: int,
        *,
        return_aux: object = None,
        scale: float | None = None,
        window_size: tuple[int, int] = (-1, -1),
    ) -> Tensor:
        self.append({name: value for name, value in locals().items() if name != "self"})
        return value.new_full((len(query), *value.shape[1:]), 7.0)


@pytest.mark.parametrize(
    ("signature", "name", "whole", "past"),
    [("with_flag", "is_causal", False, True), ("with_window", "window_size", (-1, -1), (-1, 0))],
)
def test_each_signature_gets_the_spans_and_its_own_word_for_causal(
    signature: str, name: str, whole: object, past: object
) -> None:
    calls = Calls()
    kernel = adapt(getattr(calls, signature))
    query, key, value = torch.ones(8, 2, 4), torch.ones(11, 2, 4), torch.ones(11, 2, 4)
    for causal in (False, True):
        assert torch.equal(kernel(query, key, value, QUERIES, KEYS, causal=causal), torch.full((8, 2, 4), 7.0))
    assert [call[name] for call in calls] == [whole, past]
    for call in calls:
        assert call["query"] is query
        assert call["key"] is key
        assert call["value"] is value
        assert call["cu_seq_q"] is QUERIES.starts
        assert call["cu_seq_k"] is KEYS.starts
        assert (call["max_q"], call["max_k"]) == (5, 6)
        assert call["return_aux"] is None
        assert call.get("scale") is None


def test_a_signature_without_a_known_word_for_causal_is_not_called() -> None:
    assert adapt(lambda query, *_others: query) is None


def test_the_installed_torch_has_a_signature_that_is_known() -> None:
    from torch.nn.attention.varlen import varlen_attn

    names = list(inspect.signature(varlen_attn).parameters)
    assert names[:7] == ["query", "key", "value", "cu_seq_q", "cu_seq_k", "max_q", "max_k"]
    assert adapt(varlen_attn) is not None


@pytest.mark.parametrize("causal", [False, True])
def test_the_reference_is_torchs_attention_of_each_sentence(causal: bool) -> None:
    torch.manual_seed(1)
    keys = QUERIES if causal else KEYS
    query = torch.randn(8, 3, 4).double()
    key, value = torch.randn(int(keys.starts[-1]), 3, 4).double(), torch.randn(int(keys.starts[-1]), 3, 6).double()
    found = one_sentence_at_a_time(query, key, value, QUERIES, keys, causal=causal)
    for first, last, first_key, last_key in zip(
        QUERIES.starts[:-1], QUERIES.starts[1:], keys.starts[:-1], keys.starts[1:], strict=True
    ):
        heads = (query[first:last], key[first_key:last_key], value[first_key:last_key])
        alone = functional.scaled_dot_product_attention(*(one.transpose(0, 1) for one in heads), is_causal=causal)
        assert torch.allclose(found[first:last], alone.transpose(0, 1), rtol=0, atol=1e-12)


@pytest.fixture(name="any_kernel_runs")
def fixture_any_kernel_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Pretend that there is a GPU on which a kernel runs, or does not."""

    def pretend(*, does: bool = True) -> None:
        why_padded.cache_clear()
        monkeypatch.setattr(module, "runs", lambda _kernel, **_how: does)

    yield pretend
    why_padded.cache_clear()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("changes", [{}, {"reading": "t2t-2017", "norm": "pre", "ffn_dropout": 0.1}, {"n_heads": 8}])
def test_half_precision_on_a_gpu_is_packed(
    changes: dict[str, object], dtype: torch.dtype, any_kernel_runs: Callable[..., None]
) -> None:
    any_kernel_runs()
    assert why_padded(config(**changes), device=GPU, dtype=dtype) is None
    assert packed_kernel(config(**changes), device=GPU, dtype=dtype) is not None


@pytest.mark.parametrize(
    ("changes", "device", "dtype", "why"),
    [
        ({}, "cpu", torch.bfloat16, "the device is cpu"),
        ({}, "cuda", torch.float32, "the precision is float32"),
        ({"attention_dropout": 0.1}, "cuda", torch.bfloat16, "model.attention_dropout is 0.1"),
        ({"d_k": 16}, "cuda", torch.bfloat16, "model.d_k is 16 and model.d_v 32"),
        ({"d_k": 12, "d_v": 12}, "cuda", torch.bfloat16, "model.d_k is 12, no multiple of 8 up to 256"),
        ({"d_k": 264, "d_v": 264}, "cuda", torch.bfloat16, "model.d_k is 264, no multiple of 8 up to 256"),
    ],
)
def test_these_settings_stay_padded(
    changes: dict[str, object], device: str, dtype: torch.dtype, why: str, any_kernel_runs: Callable[..., None]
) -> None:
    any_kernel_runs()
    where = {"device": torch.device(device), "dtype": dtype}
    assert why_padded(config(**changes), **where) == why
    assert packed_kernel(config(**changes), **where) is None


def test_a_kernel_that_does_not_run_or_is_not_there_leaves_batches_padded(
    any_kernel_runs: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    any_kernel_runs(does=False)
    where = {"device": GPU, "dtype": torch.bfloat16}
    assert why_padded(config(), **where) == "packed attention does not run on this device"
    assert packed_kernel(config(), **where) is None
    any_kernel_runs()
    monkeypatch.setattr(module, "_torchs_kernel", lambda: None)
    assert why_padded(config(), **where) == "this torch has no packed attention that is known here"
    assert packed_kernel(config(), **where) is None


def test_a_kernel_is_tried_forward_and_backward() -> None:
    def refuses(*_arguments: object, causal: bool) -> Tensor:
        raise RuntimeError(f"no kernel image for causal={causal}")

    def gives_nan(query: Tensor, *_arguments: object, causal: bool) -> Tensor:
        return query * (float("nan") if causal else 1.0)

    where = {"n_heads": 2, "width": 8, "device": torch.device("cpu"), "dtype": torch.bfloat16}
    with torch.no_grad():
        assert runs(one_sentence_at_a_time, **where)
        assert not runs(refuses, **where)
        assert not runs(gives_nan, **where)
        assert not runs(adapt(Calls().with_window), **where)  # its result has no gradient


@pytest.mark.gpu
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [8, 64, 128])
def test_torchs_kernel_does_what_the_reference_does(width: int, causal: bool) -> None:
    kernel = packed_kernel(config(d_k=width, d_v=width), device=GPU, dtype=torch.bfloat16)
    assert kernel is not None
    torch.manual_seed(1)
    queries = Spans(QUERIES.starts.cuda(), QUERIES.longest)
    keys = queries if causal else Spans(KEYS.starts.cuda(), KEYS.longest)
    n_keys = int(keys.starts[-1])
    tensors = [torch.randn(n, 2, width, device=GPU).bfloat16().requires_grad_() for n in (8, n_keys, n_keys)]
    weight = torch.randn(8, 2, width, device=GPU)
    results = []
    for attend, precision in ((kernel, torch.bfloat16), (one_sentence_at_a_time, torch.float32)):
        mixed = attend(*(tensor.to(precision) for tensor in tensors), queries, keys, causal=causal)
        gradients = torch.autograd.grad((mixed * weight).sum(), tensors)
        results.append([mixed, *gradients])
    for ours, reference in zip(*results, strict=True):
        assert torch.allclose(ours.float(), reference.float(), rtol=2e-2, atol=3e-2)
