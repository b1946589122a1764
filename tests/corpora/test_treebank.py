"""A treebank becomes a data folder: which files, which text, and what scoring needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from nmt_cli.corpora.data_folder import open_data_folder
from nmt_cli.corpora.treebank import TreebankConfig, prepare_treebank
from nmt_cli.errors import DataError, UsageError


def write(folder: Path, number: str, noun: str, extra: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = f"( (S (NP-SBJ (DT A) (NN {noun})) (VP (VBZ sits)\n  (NP (-NONE- *)))) )\n{extra}"
    (folder / f"wsj_{number}.mrg").write_text(text)


def test_sections_2_to_21_train_22_validates_and_23_tests(tmp_path: Path) -> None:
    bank = tmp_path / "wsj"
    for number, noun in [
        ("0199", "no"),
        ("0200", "cat"),
        ("2199", "dog"),
        ("2200", "cow"),
        ("2300", "hen"),
        ("2400", "no"),
    ]:
        write(bank / number[:2], number, noun)
    done = prepare_treebank(bank, tmp_path / "data", TreebankConfig())
    data = open_data_folder(tmp_path / "data")
    assert data.counts == done.counts == {"train": 2, "valid": 1, "test": 1}
    assert data.file("train", "en").read_text() == "A cat sits\nA dog sits\n"
    assert data.file("test", "brackets").read_text() == "(S (NP XX XX )NP (VP XX )VP )S\n"
    assert (data.path / "test.tags").read_text() == "DT NN VBZ\n"
    assert (data.path / "test.trees").read_text() == "(TOP (S (NP (DT A) (NN hen)) (VP (VBZ sits))))\n"


def test_a_part_of_the_treebank_is_split_by_ranges_of_files(tmp_path: Path) -> None:
    for number in ("0001", "0002", "0003"):
        write(tmp_path / "wsj", number, "cat", "((S (-NONE- *)))\n")
    config = TreebankConfig(train="0001-0001", valid="0002-0002", test="0003-0003", form="t2t")
    done = prepare_treebank(tmp_path / "wsj", tmp_path / "data", config)
    assert (tmp_path / "data" / "train.brackets").read_text() == "S NP DT NN /NP VP VBZ /VP /S\n"
    assert done.dropped.counts == {"tree_without_words": 3}
    assert (done.lines, done.kept) == (6, 3)


def test_a_split_without_files_is_refused_with_the_way_out(tmp_path: Path) -> None:
    write(tmp_path / "wsj", "0200", "cat")
    with pytest.raises(
        DataError, match=r"no files for valid wsj_2200-2299, test wsj_2300-2399; .*--set treebank\.train"
    ):
        prepare_treebank(tmp_path / "wsj", tmp_path / "data", TreebankConfig())
    assert not (tmp_path / "data").exists()


def test_a_file_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "wsj" / "a", "0200", "cat")
    write(tmp_path / "wsj" / "b", "0200", "cat")
    with pytest.raises(DataError, match="has the number 0200 too"):
        prepare_treebank(tmp_path / "wsj", tmp_path / "data", TreebankConfig())


def test_a_file_in_two_splits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"treebank\.train ends with file 2200, but treebank\.valid begins with 2200"):
        prepare_treebank(tmp_path, tmp_path / "data", TreebankConfig(train="0200-2200"))


@pytest.mark.parametrize("value", ["2-21", "0300-0200", "all"])
def test_what_is_no_range_is_refused(value: str) -> None:
    with pytest.raises(ValidationError, match="no range of files"):
        TreebankConfig(train=value)
