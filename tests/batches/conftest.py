"""Corpora of given sentences, in memory and on disk."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.batches.corpus import EncodedCorpus, EncodedSide
from nmt_cli.files import sha256_of_file, sha256_of_json, write_json

Sentences = Sequence[Sequence[int]]


def side(sentences: Sentences) -> EncodedSide:
    offsets = np.cumsum([0, *map(len, sentences)])
    return EncodedSide(np.array(list(itertools.chain(*sentences)), dtype=np.uint16), offsets)


@pytest.fixture
def corpus_of() -> Callable[[Sentences, Sentences], EncodedCorpus]:
    return lambda source, target: EncodedCorpus(side(source), side(target))


@pytest.fixture
def pieces_folder(tmp_path: Path) -> Path:
    """A folder of pieces written file by file, with three train pairs and no others."""
    folder = tmp_path / "data" / "pieces"
    folder.mkdir(parents=True)
    for name, sentences in (("source", [[5, 1], [6, 7, 1], [1]]), ("target", [[9, 9, 1], [8, 1], [1]])):
        written = side(sentences)
        np.save(folder / f"train.{name}.ids.npy", written.ids)
        np.save(folder / f"train.{name}.offsets.npy", written.offsets)
    (folder / "subwords.model").write_bytes(b"pieces")
    values = {
        "kind": "pieces",
        "format": 1,
        "source_language": "en",
        "target_language": "de",
        "source_vocab_size": 300,
        "target_vocab_size": 300,
        "subwords": {"source": "subwords.model", "target": "subwords.model"},
        "text": {"lowercase": True},
        "sentences": {"train": 3, "valid": 0},
        "files": {path.name: sha256_of_file(path) for path in sorted(folder.iterdir())},
    }
    write_json(folder / "manifest.json", values | {"digest": sha256_of_json(values)})
    return folder
