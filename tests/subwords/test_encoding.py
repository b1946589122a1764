"""`nmt bpe`: what is on disk afterwards, read back by numpy and SentencePiece alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from nmt_cli.batches.corpus import open_pieces
from nmt_cli.config import ModelConfig, SearchConfig, SubwordConfig, TextConfig
from nmt_cli.corpora.data_folder import DataFolder
from nmt_cli.errors import DataError, ModelError, UsageError
from nmt_cli.files import new_directory
from nmt_cli.model_folder import ModelDescription, write_model_folder
from nmt_cli.subwords.encoding import encode_corpus

PROGRAM = Path(sys.executable).parent / "nmt"
MakeData = Callable[..., DataFolder]
ENGLISH = ["the quick brown fox", "", "jumps  over </s> the lazy dog", "▁ a\u2028b", "she sells sea shells"] * 4
GERMAN = ["der schnelle braune Fuchs", "x", "springt über den faulen Hund", "Öl", ""] * 4
SPLITS = {"train": (ENGLISH, GERMAN), "valid": (ENGLISH[:3], GERMAN[:3]), "test": ([], [])}


def read_side(folder: Path, split: str, side: str, subwords: str = "subwords.model") -> list[str]:
    """Return the lines of a side by the file format's own words: numpy arrays, each sentence with its end symbol."""
    ids = np.load(folder / f"{split}.{side}.ids.npy", allow_pickle=False)
    offsets = np.load(folder / f"{split}.{side}.offsets.npy", allow_pickle=False)
    assert (ids.dtype, offsets.dtype) == (np.uint16, np.int64)
    assert offsets[0] == 0
    assert offsets[-1] == len(ids)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / subwords))
    lines = []
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        sentence = ids[first:last].tolist()
        assert sentence[-1] == 1
        assert not {0, 1, 2} & set(sentence[:-1])
        lines.append(processor.decode(sentence[:-1]))
    return lines


def test_every_split_is_encoded_and_reads_back_as_its_text(make_data: MakeData, tmp_path: Path) -> None:
    data = make_data(SPLITS)
    report = encode_corpus(data, tmp_path / "out", SubwordConfig(vocab_size=330))
    for split, (source, target) in SPLITS.items():
        for side, lines in (("source", source), ("target", target)):
            assert read_side(tmp_path / "out", split, side) == lines
            ids = np.load(tmp_path / "out" / f"{split}.{side}.ids.npy")
            assert report.tokens[split][side] == len(ids)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["sentences"] == {"train": 20, "valid": 3, "test": 0}
    assert manifest["data_digest"] == data.digest
    assert TextConfig.model_validate(manifest["text"]) == TextConfig(lowercase=True)
    pieces = open_pieces(tmp_path / "out")
    assert pieces.source_vocab_size == pieces.target_vocab_size == report.source_vocab_size <= 330
    assert len(pieces.split("train")) == 20


def test_lines_without_space_marks_are_cut_as_sentencepiece_cuts_them(make_data: MakeData, tmp_path: Path) -> None:
    encode_corpus(make_data(SPLITS), tmp_path / "out", SubwordConfig(vocab_size=330))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "out" / "subwords.model"))
    train = open_pieces(tmp_path / "out").split("train")
    for number, line in enumerate(GERMAN):
        assert train.target.sentence(number).tolist() == [*processor.encode(line), 1]


def test_separate_vocabularies_have_sizes_of_their_own(make_data: MakeData, tmp_path: Path) -> None:
    config = SubwordConfig(vocab_size=300, target_vocab_size=285)
    report = encode_corpus(make_data(SPLITS), tmp_path / "out", config)
    assert (report.source_vocab_size, report.target_vocab_size) == (300, 285)
    assert read_side(tmp_path / "out", "train", "source", "source.model") == ENGLISH
    assert read_side(tmp_path / "out", "train", "target", "target.model") == GERMAN
    pieces = open_pieces(tmp_path / "out")
    assert set(pieces.subwords) == {"source.model", "target.model"}
    assert not (tmp_path / "out" / "subwords.model").exists()


def test_subwords_are_learned_on_train_alone(make_data: MakeData, tmp_path: Path) -> None:
    others = {"valid": (["日本語"] * 9, ["Q"] * 9), "test": (["Ж"], ["Ж"])}
    report = encode_corpus(make_data(SPLITS | others), tmp_path / "out", SubwordConfig(vocab_size=2_000))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "out" / "subwords.model"))
    assert {processor.piece_to_id(letter) for letter in "日QЖ"} == {2}
    assert read_side(tmp_path / "out", "valid", "source") == ["日本語"] * 9
    assert report.tokens["test"] == {"source": 4, "target": 4}  # a space mark, two bytes, the end


def make_model(folder: Path, subwords: dict[str, Path]) -> Path:
    values = {"n_encoder_layers": 1, "n_decoder_layers": 1, "d_model": 8, "d_ff": 16, "n_heads": 2, "dropout": 0.1}
    description = ModelDescription(
        source_language="en",
        target_language="de",
        source_vocab_size=300,
        target_vocab_size=300,
        model=ModelConfig.model_validate(values),
        search=SearchConfig(),
        text=TextConfig(),
        step=1,
    )
    with new_directory(folder, manifest="model.json", kind="model") as scratch:
        write_model_folder(scratch, weights={"w": np.zeros(1)}, description=description, subwords=subwords)
    return folder


@pytest.mark.parametrize("target_vocab_size", [None, 285])
@pytest.mark.parametrize("of", ["model", "pieces", "data folder"])
def test_the_subwords_of_a_model_or_a_corpus_encode_another_corpus(
    make_data: MakeData, tmp_path: Path, target_vocab_size: int | None, of: str
) -> None:
    config = SubwordConfig(vocab_size=300, target_vocab_size=target_vocab_size)
    encode_corpus(make_data(SPLITS), tmp_path / "first" / "pieces", config)
    pieces = open_pieces(tmp_path / "first")
    model = {"pieces": pieces.path, "data folder": pieces.path.parent}.get(of)
    model = model or make_model(tmp_path / "model", pieces.subwords)
    other = make_data({"train": (["a brown dog 日"], ["ein Hund"])}, name="other")
    encode_corpus(other, tmp_path / "second", None, model=model)
    names = [pieces.manifest["subwords"][side] for side in ("source", "target")]
    for name in names:
        assert (tmp_path / "second" / name).read_bytes() == (pieces.path / name).read_bytes()
    assert read_side(tmp_path / "second", "train", "source", names[0]) == ["a brown dog 日"]
    assert read_side(tmp_path / "second", "train", "target", names[1]) == ["ein Hund"]


def test_damaged_subwords_of_a_corpus_and_a_corpus_without_any_are_refused(make_data: MakeData, tmp_path: Path) -> None:
    data = make_data(SPLITS)
    encode_corpus(data, tmp_path / "first", SubwordConfig(vocab_size=300))
    content = bytearray((tmp_path / "first" / "subwords.model").read_bytes())
    content[100] ^= 1
    (tmp_path / "first" / "subwords.model").write_bytes(content)
    with pytest.raises(ModelError, match=r"subwords\.model: damaged or edited"):
        encode_corpus(data, tmp_path / "out", None, model=tmp_path / "first")
    manifest = tmp_path / "first" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"300", b"301"))
    with pytest.raises(ModelError, match=r"manifest\.json: damaged or edited"):
        encode_corpus(data, tmp_path / "out", None, model=tmp_path / "first")
    with pytest.raises(ModelError, match=r"no model folder .*; this is a data folder"):
        encode_corpus(data, tmp_path / "out", None, model=data.path)
    assert not (tmp_path / "out").exists()


def test_what_fails_leaves_nothing_and_what_exists_stays(make_data: MakeData, tmp_path: Path) -> None:
    data, config = make_data(SPLITS), SubwordConfig(vocab_size=330)
    with pytest.raises(DataError, match="this text needs at least"):
        encode_corpus(data, tmp_path / "out", SubwordConfig(vocab_size=260))
    with pytest.raises(ModelError, match="no such folder"):
        encode_corpus(data, tmp_path / "out", None, model=tmp_path / "none")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
    encode_corpus(data, tmp_path / "out", config)
    before = (tmp_path / "out" / "manifest.json").read_bytes()
    with pytest.raises(UsageError, match="give --force to replace it"):
        encode_corpus(data, tmp_path / "out", config)
    encode_corpus(data, tmp_path / "out", config, force=True)
    assert (tmp_path / "out" / "manifest.json").read_bytes() == before


def nmt(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], cwd=cwd, capture_output=True, text=True, check=False, encoding="utf-8")


def test_the_command_writes_beside_the_data_and_says_what_there_is(make_data: MakeData, tmp_path: Path) -> None:
    make_data(SPLITS)
    done = nmt("bpe", "data", "--vocab-size", "20000", cwd=tmp_path)
    pieces = open_pieces(tmp_path / "data")
    assert (done.returncode, done.stdout) == (0, "")
    lines = done.stderr.splitlines()
    assert lines[0] == f"the text has only {pieces.source_vocab_size:,} pieces to give, not 20,000"
    assert f"vocabulary {pieces.source_vocab_size:,}, train " in lines[1]
    assert len(lines) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["data"], 2, "give either --vocab-size, to learn subwords, or --model"),
        (["data", "--vocab-size", "300", "--model", "m"], 2, "give either --vocab-size"),
        (["data", "--vocab-size", "100"], 2, "vocab_size should be greater than or equal to 260"),
        (["data", "--vocab-size", "300", "--algorithm", "wordpiece"], 2, "algorithm"),
        (["data", "--vocab-size", "260"], 3, "this text needs at least"),
        (["none", "--vocab-size", "300"], 3, "none: no such folder"),
        (["data", "--model", "data"], 4, "no model folder"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_pieces(
    make_data: MakeData, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    make_data(SPLITS)
    done = nmt("bpe", *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not [path.name for path in (tmp_path / "data").iterdir() if "pieces" in path.name]


def test_a_damaged_data_folder_is_not_encoded(make_data: MakeData, tmp_path: Path) -> None:
    make_data(SPLITS)
    with (tmp_path / "data" / "train.de").open("ab") as stream:
        stream.write(b"more\n")
    done = nmt("bpe", "data", "--vocab-size", "300", cwd=tmp_path)
    assert done.returncode == 3
    assert "train.de: damaged or edited" in done.stderr
