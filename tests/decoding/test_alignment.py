"""Alignments: against the cross-attention that a plain pass through the model computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from sentencepiece import SentencePieceProcessor
from torch import Tensor, nn

from nmt_cli import Translator
from nmt_cli.config import SearchConfig
from nmt_cli.decoding.alignment import alignments
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.model.transformer import Transformer
from nmt_cli.subwords.segmenter import END, PAD

Maker = Callable[..., Transformer]
SOURCES = [[5, 9, 14, 7, END], [8, END], [11, 4, 4, 30, 22, 17, END]]
TARGETS = [[6, 6, 19, END], [25, 12, 13, 3, END], [40, END]]


def weights_seen(model: Transformer, layer: int, source: list[int], target: list[int]) -> Tensor:
    """Return the mean weights [T S] of a layer, from what its projections gave in a plain pass over one pair."""
    attention = model.decoder_layers[layer].get_submodule("cross_attention")
    seen: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[[nn.Module, object, Tensor], None]:
        return lambda _module, _inputs, output: seen.update({name: output})

    hooks = [attention.get_submodule(name).register_forward_hook(keep(name)) for name in ("query", "key_value")]
    with torch.no_grad():
        model(torch.tensor([source]), torch.tensor([[PAD, *target[:-1]]]))
    for hook in hooks:
        hook.remove()
    n_heads, width = model.config.n_heads, model.config.d_model // model.config.n_heads
    total = torch.zeros(len(target), len(source))
    for head in range(n_heads):
        columns = slice(head * width, (head + 1) * width)
        query, key = seen["query"][0, :, columns], seen["key_value"][0, :, columns]
        total += torch.softmax(query @ key.T / width**0.5, dim=-1)
    return total / n_heads


@pytest.mark.parametrize(("n_layers", "chosen"), [(1, 0), (2, 0), (3, 1)])
def test_a_piece_belongs_to_the_one_that_the_last_layer_but_one_looks_at_most(
    random_transformer: Maker, n_layers: int, chosen: int
) -> None:
    model = random_transformer(vocab_size=50, n_decoder_layers=n_layers)
    padded = [
        nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in side], batch_first=True) for side in (SOURCES, TARGETS)
    ]
    found = alignments([model], *padded)
    for source, target, pairs in zip(SOURCES, TARGETS, found, strict=True):
        most = weights_seen(model, chosen, source, target).argmax(dim=1).tolist()
        expected = [(place, j) for j, place in enumerate(most[:-1]) if source[place] != END]
        assert list(pairs) == expected


def test_two_models_align_by_the_mean_of_their_weights(random_transformer: Maker) -> None:
    models = [random_transformer(vocab_size=50, seed=seed) for seed in (2, 3)]
    [pairs] = alignments(models, torch.tensor(SOURCES[2:]), torch.tensor(TARGETS[1:2]))
    mean = sum(weights_seen(model, 0, SOURCES[2], TARGETS[1]) for model in models)
    assert isinstance(mean, Tensor)
    most = mean.argmax(dim=1).tolist()
    assert list(pairs) == [(place, j) for j, place in enumerate(most[:-1]) if SOURCES[2][place] != END]


def test_hypotheses_have_alignments_only_when_asked(random_transformer: Maker) -> None:
    engine = TorchEngine([random_transformer(vocab_size=50)])
    config = SearchConfig(beam_size=3, n_best=2, max_extra=4)
    plain = engine.search(SOURCES, config)
    aligned = engine.search(SOURCES, config.model_copy(update={"alignments": True}))
    assert [[h.ids for h in found] for found in plain] == [[h.ids for h in found] for found in aligned]
    assert all(h.alignment is None for found in plain for h in found)
    for source, found in zip(SOURCES, aligned, strict=True):
        for hypothesis in found:
            assert hypothesis.alignment is not None
            assert all(i < len(source) - 1 and j < len(hypothesis.ids) for i, j in hypothesis.alignment)


def test_an_output_that_fills_the_last_position_of_the_model_is_aligned(random_transformer: Maker) -> None:
    engine = TorchEngine([random_transformer(vocab_size=50, positions="learned", max_positions=30)])
    found = engine.search(SOURCES, SearchConfig(beam_size=1, max_extra=99, min_length=30, alignments=True))
    assert all(h.is_cut and len(h.ids) == 30 and h.alignment is not None for [h] in found)


def test_a_translation_tells_the_pieces_that_its_alignment_counts(model_folder: Path) -> None:
    translator = Translator.load(model_folder)
    search = translator.search.model_copy(update={"alignments": True, "min_length": 4})
    [translation] = translator.translate(["the red dog sees the bridge"], search=search)
    best = translation.candidates[0]
    assert translation.source_pieces is not None
    assert best.pieces is not None
    assert "".join(translation.source_pieces).replace("\u2581", " ").strip() == "the red dog sees the bridge"
    assert (
        SentencePieceProcessor(model_file=str(model_folder / "subwords.model")).decode(list(best.pieces)) == best.text
    )
    assert best.alignment
    assert max(i for i, _ in best.alignment) < len(translation.source_pieces)
