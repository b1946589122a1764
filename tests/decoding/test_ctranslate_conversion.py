"""A converted model finds given outputs as probable as ours does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ctranslate2
import pytest

from nmt_cli.decoding.ctranslate_conversion import convert_to_ctranslate2
from nmt_cli.decoding.ctranslate_engine import why_not_model
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.errors import UsageError
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_folder import ModelFolder, open_model_folder, subword_files, write_model_folder
from nmt_cli.subwords.segmenter import END, Segmenter

Maker = Callable[..., Transformer]
LINES = [
    f"the {a} {b} sees the {c} with water" for a in ("red", "old") for b in ("dog", "cat") for c in ("train", "river")
]


def folder_with(model_folder: Path, target: Path, make: Maker, **changes: object) -> ModelFolder:
    """Write a model of another architecture with the subwords of a folder."""
    opened = open_model_folder(model_folder)
    model = make(vocab_size=opened.description.source_vocab_size, **changes)
    target.mkdir()
    write_model_folder(
        target,
        weights={name: parameter.detach().numpy() for name, parameter in model.named_parameters()},
        description=opened.description.model_copy(update={"model": model.config}),
        subwords=subword_files(opened),
    )
    return open_model_folder(target)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "pre"},
        {"positions": "concatenated"},
        {"positions": "learned", "max_positions": 90},
        {"attention_bias": True},
        {"tying": "three-way"},
    ],
    ids=str,
)
def test_it_scores_what_the_original_does(
    model_folder: Path,
    tmp_path: Path,
    random_transformer: Maker,
    changes: dict[str, object],
) -> None:
    folder = folder_with(model_folder, tmp_path / "model", random_transformer, **changes)
    (tmp_path / "converted").mkdir()
    convert_to_ctranslate2(folder, tmp_path / "converted")
    converted = ctranslate2.Translator(str(tmp_path / "converted"), inter_threads=1, intra_threads=1)
    engine, segmenter = TorchEngine.load(folder), Segmenter.load(folder.source_subwords)
    encoded = segmenter.encode(LINES)
    sources = [[*ids, END] for ids in encoded]
    pieces = [list(segmenter.pieces(ids)) for ids in sources]
    forced = converted.score_batch(pieces, [list(segmenter.pieces(ids)) for ids in encoded])
    assert [sum(found.log_probs) for found in forced] == pytest.approx(engine.score(sources, sources), abs=1e-3)


def test_what_cannot_be_expressed_is_refused_with_the_reason(
    model_folder: Path,
    tmp_path: Path,
    random_transformer: Maker,
) -> None:
    narrow = folder_with(model_folder, tmp_path / "narrow", random_transformer, d_k=4)
    assert why_not_model(narrow.description.model) is not None
    with pytest.raises(UsageError, match=r"heads are of 4 and 8 numbers.*--engine torch"):
        convert_to_ctranslate2(narrow, tmp_path)
