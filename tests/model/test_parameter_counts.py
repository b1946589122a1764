"""Parameter counts of the paper's models, worked out by hand from its shapes (table 3)."""

from __future__ import annotations

import pytest
import torch

from nmt_cli.model.transformer import Transformer, parameter_count
from nmt_cli.settings_files import resolve

BASE = (60_485_632, 63_045_632, 65_073_152, 65_126_400)
TABLE_3 = [
    ("base", [], *BASE),
    ("A h=1", ["n_heads=1", "d_k=512", "d_v=512"], *BASE),
    ("A h=4", ["n_heads=4", "d_k=128", "d_v=128"], *BASE),
    ("A h=16", ["n_heads=16", "d_k=32", "d_v=32"], *BASE),
    ("A h=32", ["n_heads=32", "d_k=16", "d_v=16"], *BASE),
    ("B d_k=16", ["d_k=16"], 53_407_744, 55_967_744, 57_995_264, 58_034_688),
    ("B d_k=32", ["d_k=32"], 55_767_040, 58_327_040, 60_354_560, 60_398_592),
    ("C N=2", ["n_encoder_layers=2", "n_decoder_layers=2"], 31_084_544, 33_644_544, 35_672_064, 35_700_736),
    ("C N=4", ["n_encoder_layers=4", "n_decoder_layers=4"], 45_785_088, 48_345_088, 50_372_608, 50_413_568),
    ("C N=8", ["n_encoder_layers=8", "n_decoder_layers=8"], 75_186_176, 77_746_176, 79_773_696, 79_839_232),
    ("C d=256", ["d_model=256", "d_k=32", "d_v=32"], 25_536_512, 26_816_512, 27_830_272, 27_856_896),
    ("C d=1024", ["d_model=1024", "d_k=128", "d_v=128"], 158_695_424, 163_815_424, 167_870_464, 167_976_960),
    ("C d_ff=1024", ["d_ff=1024"], 47_890_432, 50_450_432, 52_477_952, 52_531_200),
    ("C d_ff=4096", ["d_ff=4096"], 85_676_032, 88_236_032, 90_263_552, 90_316_800),
    ("D dropout", ["dropout=0.2"], *BASE),
    ("E learned", ["positions=learned"], 60_747_776, 63_307_776, 65_335_296, 65_388_544),
    ("big", [], 209_051_648, 214_171_648, 218_226_688, 218_333_184),
]
PARSING = ["n_encoder_layers=4", "n_decoder_layers=4", "d_model=1024", "d_k=128", "d_v=128"]
OTHERS = [
    ("base", PARSING, 16_384, 16_384, 100_728_832),
    ("base", PARSING, 16_000, 16_000, 100_335_616),
    ("base", PARSING, 32_768, 32_768, 117_506_048),
    ("base", PARSING, 32_000, 32_000, 116_719_616),
    ("base", [*PARSING, "tying=none"], 1 << 14, 1 << 9, 101_777_408),
    ("base", [*PARSING, "tying=none"], 1 << 15, 1 << 9, 118_554_624),
    ("base", [*PARSING, "tying=none", "n_encoder_layers=6", "n_decoder_layers=6"], 1 << 14, 1 << 9, 143_753_216),
    ("base", [*PARSING, "d_ff=4096", "n_heads=16", "d_k=64", "d_v=64"], 32_768, 32_768, 151_076_864),
    ("big", ["dropout=0.1"], 32_000, 32_000, 209_051_648),
    ("big", ["dropout=0.1", "d_ff=8192", "tying=none"], 32_000, 32_000, 375_300_096),
]


def count(preset: str, changes: list[str], source_vocab_size: int, target_vocab_size: int) -> int:
    settings = resolve(preset=preset, config=None, assignments=[f"model.{change}" for change in changes])
    with torch.device("meta"):
        model = Transformer(settings.model, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size)
    return parameter_count(model)


@pytest.mark.parametrize("row", TABLE_3, ids=[row[0] for row in TABLE_3])
def test_every_row_of_table_3_has_its_count_to_the_unit(row: tuple[str, list[str], int, int, int, int]) -> None:
    name, changes, *expected = row
    preset = "big" if name == "big" else "base"
    found = [count(preset, changes, size, size) for size in (32_000, 37_000, 40_960)]
    found.append(count(preset, [*changes, "attention_bias=true", "target_space=true"], 40_960, 40_960))
    assert found == expected


@pytest.mark.parametrize(("preset", "changes", "source", "target", "expected"), OTHERS)
def test_parsing_and_english_french_models_have_their_count(
    preset: str, changes: list[str], source: int, target: int, expected: int
) -> None:
    assert count(preset, changes, source, target) == expected


def test_the_reading_of_june_2017_has_biases_and_the_target_space() -> None:
    assert count("base", ["reading=t2t-2017"], 40_960, 40_960) == BASE[3]


def test_pre_norm_adds_two_norms() -> None:
    assert count("base", ["norm=pre"], 37_000, 37_000) == BASE[1] + 4 * 512


@pytest.mark.parametrize(
    ("preset", "encoder", "decoder"), [("base", 3_150_336, 4_199_936), ("big", 12_592_128, 16_788_480)]
)
def test_a_layer_has_its_count(preset: str, encoder: int, decoder: int) -> None:
    with torch.device("meta"):
        model = Transformer(resolve(preset=preset, config=None).model, source_vocab_size=300, target_vocab_size=300)
    assert {parameter_count(layer) for layer in model.encoder_layers} == {encoder}
    assert {parameter_count(layer) for layer in model.decoder_layers} == {decoder}
