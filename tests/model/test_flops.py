"""Model FLOPs against numbers worked by hand, the figures of the paper's schedules, and torch's own counter."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from nmt_cli.config import ModelConfig
from nmt_cli.model.flops import MultiplyAdds
from nmt_cli.model.transformer import Transformer
from nmt_cli.settings_files import resolve

TABLE_3 = {
    "base": [],
    "A h=1": ["n_heads=1", "d_k=512", "d_v=512"],
    "A h=4": ["n_heads=4", "d_k=128", "d_v=128"],
    "A h=16": ["n_heads=16", "d_k=32", "d_v=32"],
    "A h=32": ["n_heads=32", "d_k=16", "d_v=16"],
    "B d_k=16": ["d_k=16"],
    "B d_k=32": ["d_k=32"],
    "C N=2": ["n_encoder_layers=2", "n_decoder_layers=2"],
    "C N=4": ["n_encoder_layers=4", "n_decoder_layers=4"],
    "C N=8": ["n_encoder_layers=8", "n_decoder_layers=8"],
    "C d=256": ["d_model=256", "d_k=32", "d_v=32"],
    "C d=1024": ["d_model=1024", "d_k=128", "d_v=128"],
    "C d_ff=1024": ["d_ff=1024"],
    "C d_ff=4096": ["d_ff=4096"],
    "D dropout": ["dropout=0.0"],
    "E learned": ["positions=learned"],
    "t2t-2017": ["reading=t2t-2017"],
    "unequal": ["n_encoder_layers=5", "n_decoder_layers=3", "d_k=24", "d_v=40"],
    "pre-norm, nothing tied": ["norm=pre", "tying=none"],
}


def model_config(*changes: str, preset: str = "base") -> ModelConfig:
    return resolve(preset=preset, config=None, assignments=[f"model.{change}" for change in changes]).model


def flops(config: ModelConfig, source: list[int], target: list[int], *, target_vocab_size: int = 37_000) -> int:
    counts = MultiplyAdds.of(config, target_vocab_size=target_vocab_size)
    return counts.training_flops(np.array(source), np.array(target))


def test_a_model_of_one_layer_costs_what_the_shapes_say() -> None:
    widths = ["d_model=4", "d_ff=10", "n_heads=2", "d_k=3", "d_v=5"]
    config = model_config("n_encoder_layers=1", "n_decoder_layers=1", *widths)
    # A source token: queries and keys 4x6 each, values 4x10, output 10x4, feed-forward 4x10 and 10x4: 208;
    # and the decoder's keys and values 4x16: 64. A target token: 128 + 80 of its own, 24 + 40 towards the
    # memory, and the output 4x7: 300. Each position seen: two heads of 3 + 5.
    assert MultiplyAdds.of(config, target_vocab_size=7) == MultiplyAdds(272, 300, 16, 16, 16)
    # 3 source and 2 target tokens: 3 x 272 + 2 x 300 and 16 times 9 + 6 + (1 + 2) seen; then 6 FLOPs each.
    assert flops(config, [3], [2], target_vocab_size=7) == 6 * (816 + 600 + 16 * 18)
    # Another pair of 1 and 4 is added: 272 + 1,200 and 16 times 1 + 4 + 10.
    assert flops(config, [3, 1], [2, 4], target_vocab_size=7) == 6 * (1_704 + 272 + 1_200 + 16 * 15)


@pytest.mark.parametrize(
    ("preset", "products", "seen", "published"),
    [("base", 62_984_192, 6_144, 0.381e9), ("big", 214_048_768, 12_288, 1.290e9)],
)
def test_the_paper_s_models_cost_what_their_schedules_are_counted_with(
    preset: str, products: int, seen: int, published: float
) -> None:
    config, tokens = model_config(preset=preset), 30
    a_pair_of_tokens = flops(config, [tokens], [tokens]) / tokens
    # Base without attention: 6 layers of 3,145,728 and of 3,670,016, 6 times 524,288 for keys and values of
    # the memory, 512 x 37,000. Attention: 6 layers x 1,024, thrice, a token seeing 30, 30 and (1 + … + 30) / 30.
    assert a_pair_of_tokens == 6 * (products + seen * (30 + 30 + 15.5))
    assert a_pair_of_tokens == pytest.approx(published, rel=0.0015)


@torch.no_grad()
def counted_forward(model: Transformer, source: torch.Tensor, target: torch.Tensor) -> int:
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model.logits(model(source, target))
    return int(counter.get_total_flops())


@pytest.mark.parametrize("row", TABLE_3)
def test_torch_counts_the_same_products_in_every_model_of_table_3(row: str) -> None:
    config, n_source, n_target, vocab_size = model_config(*TABLE_3[row]), 5, 4, 300
    with torch.device("meta"):
        model = Transformer(config, source_vocab_size=vocab_size, target_vocab_size=vocab_size).eval()
        ids = torch.ones(2, n_source, dtype=torch.int64), torch.ones(2, n_target, dtype=torch.int64)
        counted = counted_forward(model, *ids)
    # The program multiplies the whole square of a target by itself and hides what lies ahead: 3 + 2 + 1 of 16.
    hidden = 2 * config.n_decoder_layers * config.n_heads * (config.d_k + config.d_v) * (3 + 2 + 1)
    ours = flops(config, [n_source] * 2, [n_target] * 2, target_vocab_size=vocab_size)
    assert ours == 3 * (counted - 2 * hidden)


def test_backward_takes_twice_as_many_products_as_forward() -> None:
    config = model_config("n_encoder_layers=2", "n_decoder_layers=1", "d_model=16", "d_ff=24", "d_k=3", "d_v=5")
    model = Transformer(config, source_vocab_size=50, target_vocab_size=50)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    ids, gold = torch.arange(1, 7).view(2, 3), torch.tensor([1, 2])
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        logits = model.logits(model(ids, torch.zeros(2, 1, dtype=torch.int64)))
        functional.cross_entropy(logits.flatten(0, 1), gold).backward()
    assert counter.get_total_flops() == flops(config, [3, 3], [1, 1], target_vocab_size=50)


def test_the_sum_over_a_large_corpus_is_exact() -> None:
    counts = MultiplyAdds.of(model_config(preset="big"), target_vocab_size=37_000)
    lengths, n = np.full(20_000, 60_000, dtype=np.uint16), 60_000
    of_one = 6 * (n * 214_048_768 + 12_288 * (2 * n**2 + n * (n + 1) // 2))
    assert counts.training_flops(lengths, lengths) == 20_000 * of_one > 2**63
