"""`nmt bpe`: learn on the train split (or take a model's subwords) and encode every split to disk.

    subwords.model subwords.vocab (or source.* and target.*)
    {train,valid,test}.{source,target}.{ids,offsets}.npy      manifest.json (last)

`ids` holds the sentences one after the other, each with its end symbol; sentence i is
ids[offsets[i]:offsets[i + 1]].
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from nmt_cli.config import SubwordConfig
from nmt_cli.corpora.data_folder import DataFolder
from nmt_cli.errors import DataError, ModelError
from nmt_cli.files import (
    new_directory,
    open_for_reading,
    read_json,
    read_records,
    sha256_of_file,
)
from nmt_cli.model_folder import JOINT_SUBWORDS, SEPARATE_SUBWORDS, open_model_folder, subword_files
from nmt_cli.sealed import is_sealed, verify_file, write_sealed
from nmt_cli.subwords.learning import learn_subwords, sample_lines
from nmt_cli.subwords.segmenter import END, Segmenter

MANIFEST = "manifest.json"
KIND = "pieces"
LINES_AT_A_TIME = 20_000
SIDES = ("source", "target")


@dataclass(frozen=True)
class EncodingReport:
    """What `encode_corpus` wrote."""

    folder: Path
    source_vocab_size: int
    target_vocab_size: int
    tokens: dict[str, dict[str, int]]
    """Tokens, end symbols counted, by split and side."""


def encode_corpus(
    data: DataFolder, out: Path, config: SubwordConfig | None, *, model: Path | None = None, force: bool = False
) -> EncodingReport:
    """Write the pieces folder of a data folder, with subwords learned by `config` or those of `model`.

    `model` is a model folder, a folder of pieces, or a data folder with pieces in it.

    Raises:
        DataError: nothing to learn from, or too small a vocabulary.
        ModelError: `model` is no good folder of these kinds.
        UsageError: `out` may not be replaced.
    """
    with new_directory(out, manifest=MANIFEST, kind=KIND, force=force) as scratch:
        if model is not None:
            for name, path in _subwords_of(model).items():
                shutil.copyfile(path, scratch / name)
        elif config is not None:
            _learn(data, scratch, config)
        joint = (scratch / JOINT_SUBWORDS).exists()
        names = (JOINT_SUBWORDS, JOINT_SUBWORDS) if joint else SEPARATE_SUBWORDS
        segmenters = {side: Segmenter.load(scratch / name) for side, name in zip(SIDES, names, strict=True)}
        tokens = {split: _encode_split(data, split, scratch, segmenters) for split in data.counts}
        report = EncodingReport(out, segmenters["source"].vocab_size, segmenters["target"].vocab_size, tokens)
        values = {
            "kind": KIND,
            "format": 1,
            "source_language": data.source_language,
            "target_language": data.target_language,
            "source_vocab_size": report.source_vocab_size,
            "target_vocab_size": report.target_vocab_size,
            "subwords": dict(zip(SIDES, names, strict=True)),
            "settings": None if config is None else config.model_dump(),
            "text": data.text.model_dump(),
            "data_digest": data.digest,
            "sentences": data.counts,
            "tokens": tokens,
            "files": {path.name: sha256_of_file(path) for path in sorted(scratch.iterdir())},
        }
        write_sealed(scratch / MANIFEST, values)
    return report


def _subwords_of(model: Path) -> dict[str, Path]:
    """Return the subword files of a model, or of an encoded corpus, by name."""
    folder = model / KIND if (model / KIND / MANIFEST).is_file() else model
    manifest = read_json(folder / MANIFEST, error=ModelError) if (folder / MANIFEST).is_file() else {}
    if manifest.get("kind") != KIND:
        return subword_files(open_model_folder(model))
    subwords, files = manifest.get("subwords"), manifest.get("files")
    if not is_sealed(folder / MANIFEST, manifest) or not isinstance(subwords, dict) or not isinstance(files, dict):
        raise ModelError(f"{folder / MANIFEST}: damaged or edited: its digest is not that of its fields")
    for name in subwords.values():
        verify_file(folder / name, files.get(name), manifest=MANIFEST, error=ModelError)
    return {name: folder / name for name in subwords.values()}


def _learn(data: DataFolder, scratch: Path, config: SubwordConfig) -> None:
    joint = config.target_vocab_size is None
    plans = (
        [(JOINT_SUBWORDS, config.vocab_size, SIDES)]
        if joint
        else [
            (SEPARATE_SUBWORDS[0], config.vocab_size, SIDES[:1]),
            (SEPARATE_SUBWORDS[1], config.target_vocab_size or config.vocab_size, SIDES[1:]),
        ]
    )
    for name, size, sides in plans:
        lines = itertools.chain.from_iterable(_lines(_path(data, "train", side)) for side in sides)
        learn_subwords(
            sample_lines(lines, limit=config.max_sentences, seed=config.seed),
            scratch / name,
            vocab_size=size,
            algorithm=config.algorithm,
            character_coverage=config.character_coverage,
        )


def _path(data: DataFolder, split: str, side: str) -> Path:
    return data.file(split, data.source_language if side == "source" else data.target_language)


def _lines(path: Path) -> Iterator[str]:
    with open_for_reading(path) as stream:
        for record in read_records(stream):
            yield record.text


def _encode_split(data: DataFolder, split: str, scratch: Path, segmenters: dict[str, Segmenter]) -> dict[str, int]:
    tokens = {}
    for side, segmenter in segmenters.items():
        offsets = _encode_file(_path(data, split, side), scratch / f"{split}.{side}.ids.npy", segmenter)
        np.save(scratch / f"{split}.{side}.offsets.npy", offsets)
        if len(offsets) - 1 != data.counts[split]:
            raise DataError(f"{split}.{side}: {len(offsets) - 1:,} lines, but {data.counts[split]:,} in the manifest")
        tokens[side] = int(offsets[-1])
    return tokens


def _encode_file(path: Path, out: Path, segmenter: Segmenter) -> np.ndarray[Any, np.dtype[np.int64]]:
    dtype = np.dtype(np.uint16 if segmenter.vocab_size <= 1 << 16 else np.int32)
    lengths: list[int] = []
    with out.open("wb") as stream:
        _write_header(stream, dtype, n_ids=0)
        for lines in _batched(_lines(path), LINES_AT_A_TIME):
            encoded = [[*ids, END] for ids in segmenter.encode(lines, threads=-1)]
            lengths += [len(ids) for ids in encoded]
            np.fromiter(itertools.chain.from_iterable(encoded), dtype=dtype).tofile(stream)
        stream.seek(0)
        _write_header(stream, dtype, n_ids=sum(lengths))
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _write_header(stream: BinaryIO, dtype: np.dtype[Any], *, n_ids: int) -> None:
    # numpy pads the header so that the length may grow without moving the data.
    values = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n_ids,)}
    np.lib.format.write_array_header_1_0(stream, values)


def _batched(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    iterator = iter(lines)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
