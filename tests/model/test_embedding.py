"""Embeddings and positions against numbers worked by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from nmt_cli.model.embedding import concatenated_sinusoids, interleaved_sinusoids
from nmt_cli.model.transformer import Transformer

MakeModel = Callable[..., Transformer]


def test_position_one_has_the_values_of_the_paper() -> None:
    assert interleaved_sinusoids(2, 4)[1].tolist() == pytest.approx([0.841471, 0.540302, 0.0099998, 0.99995], abs=1e-6)
    assert concatenated_sinusoids(2, 4)[1].tolist() == pytest.approx([0.841471, 0.0001, 0.540302, 1.0], abs=1e-6)


@pytest.mark.parametrize("d_model", [2, 6, 7, 64])
def test_interleaved_positions_follow_the_formula_entry_by_entry(d_model: int) -> None:
    table = interleaved_sinusoids(300, d_model)
    for position in (0, 1, 17, 299):
        for column in range(d_model):
            angle = position / 10_000 ** ((column - column % 2) / d_model)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert table[position, column].item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("d_model", [4, 7, 64])
def test_concatenated_positions_follow_the_formula_entry_by_entry(d_model: int) -> None:
    table = concatenated_sinusoids(300, d_model)
    half = d_model // 2
    for position in (0, 1, 17, 299):
        for column in range(half):
            angle = position * math.exp(-column * math.log(10_000) / (half - 1))
            assert table[position, column].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, half + column].item() == pytest.approx(math.cos(angle), abs=1e-6)
    assert table[:, 2 * half :].abs().sum() == 0


def test_the_longest_wavelength_of_t2t_is_ten_thousand_times_the_shortest() -> None:
    table = concatenated_sinusoids(2, 512).double()
    assert torch.asin(table[1, 255]).item() == pytest.approx(1e-4, rel=1e-6)


@pytest.mark.parametrize("layout", ["interleaved", "concatenated", "learned"])
def test_positions_from_the_middle_are_rows_of_the_whole_table(small_model: MakeModel, layout: str) -> None:
    positions = small_model(positions=layout, max_positions=1000).target_positions
    like = torch.zeros(1)
    whole = positions(0, 700, like)
    assert torch.equal(positions(255, 3, like), whole[255:258])
    assert torch.equal(positions(699, 1, like), whole[699:])


def test_padding_embeds_to_exactly_zero_and_the_rest_to_scaled_rows(small_model: MakeModel) -> None:
    embedding = small_model().source_embedding
    found = embedding(torch.tensor([[0, 7, 1, 0]]))
    assert torch.equal(found[0, [0, 3]], torch.zeros(2, 16))
    assert torch.allclose(found[0, 1], embedding.weight[7] * 4.0)
    assert torch.allclose(found[0, 2], embedding.weight[1] * 4.0)


@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
def test_the_first_decoder_input_is_a_zero_vector_plus_position_zero(small_model: MakeModel, layout: str) -> None:
    table = interleaved_sinusoids if layout == "interleaved" else concatenated_sinusoids
    first = small_model(positions=layout).embed_target(torch.tensor([[0, 9]]), first=0)[0, 0]
    assert torch.equal(first, table(1, 16)[0])


def test_learned_positions_are_added_and_have_an_end(small_model: MakeModel) -> None:
    model = small_model(positions="learned", max_positions=6)
    embedded = model.embed_target(torch.tensor([[0, 0, 0]]), first=2)[0]
    assert torch.allclose(embedded, model.target_positions.table[2:5] * 4.0)
    assert model.source_positions.table is not model.target_positions.table
    assert model.target_positions.limit == 6
    with pytest.raises(ValueError, match="position 6 is past the learned table of 6 rows"):
        model.embed_target(torch.zeros(1, 7, dtype=torch.int64), first=0)


def test_the_target_space_is_one_vector_added_to_every_source_position(small_model: MakeModel) -> None:
    model = small_model(target_space=True, n_encoder_layers=1)
    seen: list[torch.Tensor] = []
    model.encoder_layers[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    source = torch.tensor([[4, 5, 0]])
    model.encode(source)
    expected = model.source_embedding(source) + interleaved_sinusoids(3, 16) + model.target_space[0]
    assert torch.allclose(seen[0], expected)
