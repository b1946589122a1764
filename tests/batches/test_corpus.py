"""Folders of pieces: what they hold, and every way in which one may be wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.batches.corpus import open_pieces, the_only_corpus
from nmt_cli.errors import DataError, UsageError
from nmt_cli.files import sha256_of_json, write_json


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        open_pieces(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_sentences_are_read_as_written(pieces_folder: Path) -> None:
    pieces = open_pieces(pieces_folder)
    train = pieces.split("train")
    assert [train.source.sentence(i).tolist() for i in range(len(train))] == [[5, 1], [6, 7, 1], [1]]
    assert [train.target.sentence(i).tolist() for i in range(len(train))] == [[9, 9, 1], [8, 1], [1]]
    assert train.target.lengths.tolist() == [3, 2, 1]
    assert (pieces.source_vocab_size, pieces.target_vocab_size) == (300, 300)
    assert pieces.text.lowercase
    assert pieces.subwords == {"subwords.model": pieces_folder / "subwords.model"}
    assert pieces.subwords_of("target") == pieces_folder / "subwords.model"


def test_ids_stay_on_disk(pieces_folder: Path) -> None:
    assert isinstance(open_pieces(pieces_folder).split("train").source.ids, np.memmap)


def test_the_data_folder_stands_for_the_pieces_in_it(pieces_folder: Path) -> None:
    assert open_pieces(pieces_folder.parent).path == pieces_folder


def test_a_split_without_pairs_is_refused(pieces_folder: Path) -> None:
    pieces = open_pieces(pieces_folder)
    for split in ("valid", "test"):
        assert not pieces.has(split)
        with pytest.raises(DataError, match=f"has no {split} pairs"):
            pieces.split(split)


def test_a_missing_folder_a_file_and_a_data_folder_without_pieces_are_named(tmp_path: Path) -> None:
    assert "no such folder" in refusal(tmp_path / "none")
    (tmp_path / "file").write_text("x")
    assert "a file; a folder of `nmt bpe` is expected" in refusal(tmp_path / "file")
    assert "manifest.json is missing" in refusal(tmp_path)
    write_json(tmp_path / "manifest.json", {"kind": "data"})
    assert f"a data folder without pieces; run nmt bpe {tmp_path} first" in refusal(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    assert "not valid JSON" in refusal(tmp_path)


@pytest.mark.parametrize("name", ["train.source.ids.npy", "train.target.offsets.npy", "subwords.model"])
def test_one_changed_byte_in_any_file_is_seen_and_the_file_named(pieces_folder: Path, name: str) -> None:
    content = bytearray((pieces_folder / name).read_bytes())
    content[-1] ^= 1
    (pieces_folder / name).write_bytes(content)
    assert str(pieces_folder / name) in refusal(pieces_folder)
    (pieces_folder / name).unlink()
    assert f"{pieces_folder / name}: missing from its folder" in refusal(pieces_folder)


def test_an_edited_manifest_is_seen(pieces_folder: Path) -> None:
    manifest = pieces_folder / "manifest.json"
    values = json.loads(manifest.read_bytes())
    write_json(manifest, values | {"source_vocab_size": 301})
    assert f"{manifest}: damaged or edited" in refusal(pieces_folder)
    fields = {name: value for name, value in values.items() if name not in {"files", "digest"}}
    write_json(manifest, fields | {"digest": sha256_of_json(fields)})
    assert f"{manifest}: damaged or edited" in refusal(pieces_folder)


def test_pickled_arrays_are_not_read(pieces_folder: Path) -> None:
    np.save(pieces_folder / "train.source.ids.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "damaged or edited" in refusal(pieces_folder)


def test_the_only_corpus_is_found_and_none_or_several_are_refused(pieces_folder: Path, tmp_path: Path) -> None:
    corpora = tmp_path / "corpora"
    with pytest.raises(UsageError, match="no encoded corpus under"):
        the_only_corpus(corpora)
    shutil.copytree(pieces_folder, corpora / "one" / "pieces")
    (corpora / "two").mkdir()
    assert the_only_corpus(corpora) == corpora / "one"
    shutil.copytree(pieces_folder, corpora / "two" / "pieces")
    with pytest.raises(UsageError) as caught:
        the_only_corpus(corpora)
    assert str(corpora / "one") in str(caught.value)
    assert str(corpora / "two") in str(caught.value)
