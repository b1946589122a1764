"""The limit of a micro-batch from what two of them took."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest
import torch

from nmt_cli.batches.padding import Batch
from nmt_cli.config import ModelConfig
from nmt_cli.model.initialisation import initialise
from nmt_cli.model.loss import SummedLoss
from nmt_cli.model.transformer import Transformer
from nmt_cli.training import memory
from nmt_cli.training.gradient import batch_loss
from nmt_cli.training.memory import SMALLEST_LIMIT, limit_for, longest_batch, measured_limit

MIB = 1 << 20


@pytest.mark.parametrize(
    ("fixed", "per_position", "free", "limit"),
    [
        (100 * MIB, 10_000, 1_000 * MIB, 73_216),  # (800 - 100) MiB / 10,000 = 73,400.3, in steps of 256
        (0, 10_000, 1_000 * MIB, 83_712),  # 83,886.08
        (0, 10_000_000, 1_000 * MIB, 512),  # 83 would fit: not less than is tried
        (0, 1, 1_000 * MIB, 131_072),
        (900 * MIB, 10_000, 1_000 * MIB, 512),
    ],
)
def test_it_is_what_a_line_through_two_measurements_says(fixed: int, per_position: int, free: int, limit: int) -> None:
    assert limit_for(lambda positions: fixed + per_position * positions, free_bytes=free) == limit


def tiny() -> Transformer:
    sizes = {"n_encoder_layers": 1, "n_decoder_layers": 1, "d_model": 32, "d_ff": 64, "n_heads": 4, "dropout": 0.0}
    model = Transformer(ModelConfig.model_validate(sizes), source_vocab_size=50, target_vocab_size=50)
    initialise(model, seed=1)
    return model


def test_what_is_tried_is_full_of_real_tokens() -> None:
    batch = longest_batch(1_024, 256)
    assert batch.source.shape == batch.target_out.shape == (4, 256)
    assert batch.target_tokens == 1_024
    assert batch_loss(tiny(), batch, smoothing=0.1).smoothed.isfinite()
    assert longest_batch(100, 256).source.shape == (1, 256)


@pytest.mark.parametrize(("max_length", "length"), [(256, 256), (5_000, 1_024)])
def test_what_is_tried_has_as_many_positions_as_is_reckoned_with_however_long_pairs_may_be(
    monkeypatch: pytest.MonkeyPatch, max_length: int, length: int
) -> None:
    tried: list[tuple[int, ...]] = []
    for name in ("reset_peak_memory_stats", "memory_allocated", "max_memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda _device: 0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _device: (MIB, MIB))

    def loss(_model: Transformer, batch: Batch, *, smoothing: float) -> SummedLoss:
        tried.append(batch.target_out.shape)
        return SummedLoss(*torch.full((2,), smoothing, requires_grad=True))

    monkeypatch.setattr(memory, "batch_loss", loss)
    measured_limit(tiny(), max_length=max_length)
    assert tried == [(n // length, length) for n in (1_024, 1_024, 4_096)]


def test_where_not_even_what_is_tried_fits_the_limit_is_the_smallest_and_the_update_may_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", full)
    model = tiny()
    assert measured_limit(model, max_length=256) == SMALLEST_LIMIT


@pytest.mark.gpu
def test_on_a_gpu_what_is_measured_fits_and_leaves_no_gradient() -> None:
    model = tiny().cuda()
    limit = measured_limit(model, max_length=256)
    assert all(parameter.grad is None for parameter in model.parameters())
    batch_loss(model, longest_batch(limit, 256), smoothing=0.1).smoothed.backward()
    assert torch.cuda.max_memory_allocated() < torch.cuda.mem_get_info()[1]


PAGES_ASKED_FOR = """
import resource, sys
import torch
from nmt_cli.training.memory import keep_freed_memory

if sys.argv[1] == "keep":
    keep_freed_memory()
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def take_and_free():
    several = [torch.zeros(1 << 24) for _ in range(2)]  # of 64 MiB: more than the library keeps by itself
take_and_free()
before = faults()
for _ in range(5):
    take_and_free()
print(faults() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="an option of the GNU C library")
def test_memory_that_was_freed_is_taken_again_without_new_pages() -> None:
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", PAGES_ASKED_FOR, how], capture_output=True, check=True).stdout)
        for how in ("keep", "give back")
    )
    assert kept < given_back / 5  # a part of the heap may still be new the second time


USED_BY_SHAPES = """
import ctypes, sys
from nmt_cli.training.memory import keep_few_primitives
if sys.argv[1] == "few":
    keep_few_primitives()
import torch
torch.set_num_threads(1)
fields = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
class Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in fields]
heap = ctypes.CDLL(None).mallinfo2
heap.restype = Heap
weight = torch.randn(64, 1024, dtype=torch.bfloat16)
for rows in range(400, 1200, 8):
    torch.nn.functional.linear(torch.randn(rows, 1024, dtype=torch.bfloat16), weight)
    if rows == 560:
        before = heap().uordblks + heap().hblkhd
print(heap().uordblks + heap().hblkhd - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks the GNU C library")
def test_memory_in_use_does_not_grow_with_the_shapes_that_went_by() -> None:
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("a C library without mallinfo2")
    environment = {name: value for name, value in os.environ.items() if not name.endswith("CACHE_CAPACITY")}
    grown = {}
    for how in ("few", "all"):
        run = subprocess.run(
            [sys.executable, "-c", USED_BY_SHAPES, how], capture_output=True, text=True, check=True, env=environment
        )
        grown[how] = int(run.stdout)
    if grown["all"] < 8 * MIB:
        pytest.skip("torch keeps nothing here for shapes that went by")
    assert grown["few"] < 4 * MIB
