"""Files in, a data folder out: what is kept, where it goes, what the report says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nmt_cli.config import CleaningConfig, TextConfig
from nmt_cli.corpora.data_folder import open_data_folder
from nmt_cli.corpora.own_files import corpus_files, default_folder, languages_of
from nmt_cli.corpora.preparing import (
    CorpusFiles,
    Languages,
    PrepareConfig,
    prepare_files,
    prepare_settings,
    prepare_splits,
)
from nmt_cli.corpora.reading import PairFiles
from nmt_cli.corpora.report import Preparation
from nmt_cli.errors import DataError, MachineError, UsageError

ENGLISH_GERMAN = Languages("en", "de")
Pairs = list[tuple[str, str]]


def pair_files(folder: Path, stem: str, pairs: Pairs) -> PairFiles:
    for side, language in enumerate(ENGLISH_GERMAN):
        (folder / f"{stem}.{language}").write_bytes("".join(f"{pair[side]}\n" for pair in pairs).encode())
    return PairFiles(folder / f"{stem}.en", folder / f"{stem}.de")


def distinct(n_pairs: int) -> Pairs:
    return [(f"the house number {n}", f"das Haus Nummer {n}") for n in range(n_pairs)]


def prepared(tmp_path: Path, train: Pairs, config: PrepareConfig | None = None, **held_out: Pairs) -> Preparation:
    files = CorpusFiles(
        pair_files(tmp_path, "own", train),
        **{split: pair_files(tmp_path, f"own-{split}", pairs) for split, pairs in held_out.items()},
    )
    return prepare_files(files, tmp_path / "out", ENGLISH_GERMAN, config or PrepareConfig())


def lines_of(tmp_path: Path, name: str) -> list[str]:
    text = (tmp_path / "out" / name).read_bytes().decode()
    assert text.endswith("\n")
    return text.split("\n")[:-1]


def pairs_in(tmp_path: Path, split: str) -> Pairs:
    return list(zip(lines_of(tmp_path, f"{split}.en"), lines_of(tmp_path, f"{split}.de"), strict=True))


def report_in(tmp_path: Path) -> dict[str, object]:
    report = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert isinstance(report, dict)
    return report


def test_every_good_pair_is_in_exactly_one_split_in_the_order_of_the_files(tmp_path: Path) -> None:
    done = prepared(tmp_path, distinct(200))
    splits = {split: pairs_in(tmp_path, split) for split in ("train", "valid", "test")}
    assert (
        {split: len(pairs) for split, pairs in splits.items()} == done.counts == {"train": 160, "valid": 20, "test": 20}
    )
    assert sorted(pair for pairs in splits.values() for pair in pairs) == sorted(distinct(200))
    for pairs in splits.values():
        assert pairs == [pair for pair in distinct(200) if pair in set(pairs)]


def test_the_folder_opens_and_holds_nothing_but_what_the_design_names(tmp_path: Path) -> None:
    done = prepared(tmp_path, distinct(20), PrepareConfig(text=TextConfig(lowercase=True)))
    data = open_data_folder(tmp_path / "out")
    assert (data.source_language, data.target_language, data.counts) == ("en", "de", done.counts)
    assert data.text == TextConfig(lowercase=True)
    expected = {f"{split}.{language}" for split in ("train", "valid", "test") for language in ("en", "de")}
    assert {path.name for path in (tmp_path / "out").iterdir()} == expected | {
        "report.json",
        "report.html",
        "manifest.json",
    }


def test_the_same_files_give_the_same_bytes_and_another_seed_gives_others(tmp_path: Path) -> None:
    files = CorpusFiles(pair_files(tmp_path, "own", distinct(300)))
    digests = []
    for name, seed in [("a", 1), ("b", 1), ("c", 2)]:
        config = PrepareConfig(cleaning=CleaningConfig(seed=seed))
        prepare_files(files, tmp_path / name, ENGLISH_GERMAN, config)
        digests.append(open_data_folder(tmp_path / name).digest)
    assert digests[0] == digests[1] != digests[2]


def test_the_report_counts_each_reason_and_shows_five_examples_with_their_lines(tmp_path: Path) -> None:
    train = [
        *distinct(4),
        *[("", f"leer {n}") for n in range(7)],
        ("one two three four five six seven eight nine ten", "x"),
        ("a\x1b[1m \u202e", "\xa0"),
        ("word " * 300, "Wort " * 300),
        ("the  house number 2", "das Haus Nummer 2 "),
    ]
    done = prepared(tmp_path, train)
    assert done.kept == 4
    assert dict(done.dropped.counts) == {"empty": 8, "ratio": 1, "too_long": 1, "duplicate": 1}
    report = report_in(tmp_path)
    assert (report["lines"], report["kept"]) == (15, 4)
    dropped = report["dropped"]
    assert isinstance(dropped, dict)
    assert [example["line"] for example in dropped["empty"]["examples"]] == [5, 6, 7, 8, 9]
    assert dropped["empty"]["pairs"] == 8
    assert dropped["duplicate"]["examples"] == [
        {"line": 15, "source": "the house number 2", "target": "das Haus Nummer 2"}
    ]
    assert len(dropped["too_long"]["examples"][0]["source"]) == 301
    assert done.summary()[-2] == "4 of 15 pairs kept; dropped: 8 empty, 1 ratio, 1 too_long, 1 duplicate"


def test_control_and_bidirectional_characters_are_escaped_in_the_report(tmp_path: Path) -> None:
    prepared(tmp_path, [*distinct(3), ("a\x1b[1m \u202eb", "\xa0")])
    text = (tmp_path / "out" / "report.json").read_text(encoding="utf-8")
    assert "a\\\\x1b[1m \\\\u202eb" in text
    assert not {"\x1b", "\u202e"} & set(text)


def test_the_lengths_in_the_report_are_those_worked_by_hand(tmp_path: Path) -> None:
    # 1 to 9 words a source, the target always one word longer.
    train = [(" ".join("a" * n), " ".join("b" * (n + 1))) for n in range(1, 10)]
    prepared(tmp_path, train)
    words = report_in(tmp_path)["words_a_sentence"]
    assert isinstance(words, dict)
    assert words["train"]["source"] == {
        "mean": 5.0,
        "p5": 1,
        "p25": 3,
        "p50": 5,
        "p75": 7,
        "p95": 9,
        "p99": 9,
        "max": 9,
    }
    assert words["train"]["target"]["mean"] == 6.0


def test_separators_blank_lines_and_marks_change_no_alignment(tmp_path: Path) -> None:
    # User report 1, with a partner that numbers the lines.
    records = (
        b"a b\nc\xe2\x80\xa8d\ne\xc2\x85f\ng\x0bh\x0ci\nj\rk\nl\x1cm\x1dn\x1eo\n\np\xe2\x80\xa9q\r\n\xef\xbb\xbfr\ns"
    )
    (tmp_path / "t.en").write_bytes(records)
    (tmp_path / "t.de").write_bytes(b"".join(b"%d\n" % n for n in range(1, 11)))
    files = CorpusFiles(PairFiles(tmp_path / "t.en", tmp_path / "t.de"))
    done = prepare_files(files, tmp_path / "out", ENGLISH_GERMAN, PrepareConfig())
    assert (done.lines, done.kept, dict(done.dropped.counts)) == (10, 9, {"empty": 1})
    texts = ["a b", "c d", "e f", "g h i", "j k", "l m n o", "p q", "r", "s"]
    assert pairs_in(tmp_path, "train") == [
        (text, str(n)) for text, n in zip(texts, [1, 2, 3, 4, 5, 6, 8, 9, 10], strict=True)
    ]


def test_an_empty_line_of_either_side_takes_its_partner_with_it(tmp_path: Path) -> None:
    prepared(tmp_path, [("one", "eins"), ("", "zwei"), ("three", " "), ("four", "vier")])
    assert pairs_in(tmp_path, "train") == [("one", "eins"), ("four", "vier")]


def test_every_line_of_given_validation_and_test_files_is_kept_in_its_place(tmp_path: Path) -> None:
    valid = [("Same  twice", "zweimal"), ("Same twice", "zweimal"), ("", "leer"), ("word " * 400, "kurz")]
    done = prepared(tmp_path, distinct(30), valid=valid, test=distinct(2))
    assert pairs_in(tmp_path, "valid") == [
        ("Same twice", "zweimal"),
        ("Same twice", "zweimal"),
        ("", "leer"),
        (("word " * 400).strip(), "kurz"),
    ]
    assert done.counts == {"train": 28, "valid": 4, "test": 2}
    assert any("1 pairs have an empty side" in warning for warning in done.warnings)


def test_pairs_of_train_with_a_sentence_of_given_files_are_dropped_counted_and_announced(tmp_path: Path) -> None:
    train = [*distinct(30), ("THE HOUSE", "ein anderes"), ("another", "das Haus")]
    done = prepared(tmp_path, train, valid=[("the house", "das Haus")])
    assert done.counts == {"train": 30, "valid": 1}
    assert dict(done.dropped.counts) == {"overlap_with_held_out": 2}
    assert any(warning.startswith("2 pairs left out of train") for warning in done.warnings)


def test_overlap_that_is_kept_and_overlap_of_given_files_are_announced(tmp_path: Path) -> None:
    config = PrepareConfig(cleaning=CleaningConfig(drop_overlap=False))
    done = prepared(tmp_path, distinct(30), config, valid=distinct(3), test=distinct(2))
    assert done.counts == {"train": 30, "valid": 3, "test": 2}
    assert [warning for warning in done.warnings if "share a sentence" in warning] == [
        "3 pairs of train share a sentence with valid",
        "2 pairs of train share a sentence with test",
        "2 pairs of valid share a sentence with test",
    ]


@pytest.mark.parametrize("n_pairs", [1, 9])
def test_fewer_than_ten_pairs_all_go_to_train_with_a_warning(tmp_path: Path, n_pairs: int) -> None:
    done = prepared(tmp_path, distinct(n_pairs))
    assert done.counts == {"train": n_pairs}
    (warning,) = done.warnings
    assert warning.startswith("held out 0 pairs for valid and 0 pairs for test:")
    assert open_data_folder(tmp_path / "out").counts == {"train": n_pairs}


def test_ten_pairs_give_one_for_validation_and_one_for_testing_without_a_warning(tmp_path: Path) -> None:
    done = prepared(tmp_path, distinct(10))
    assert (done.counts, done.warnings) == ({"train": 8, "valid": 1, "test": 1}, [])


@pytest.mark.parametrize(
    ("train", "expected"),
    [([], "none of 0 pairs is left (empty file)"), ([("", ""), ("", "")], "none of 2 pairs is left (2 empty)")],
)
def test_a_corpus_with_nothing_in_it_is_refused(tmp_path: Path, train: Pairs, expected: str) -> None:
    with pytest.raises(DataError, match=r"own\.en: ") as caught:
        prepared(tmp_path, train)
    assert expected in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_an_empty_validation_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"own-valid\.en: empty"):
        prepared(tmp_path, distinct(20), valid=[])


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    files = pair_files(tmp_path, "own", distinct(20))
    assert files.target is not None
    files.target.write_bytes(b"x\n" * 19)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(DataError, match="they must be parallel"):
        prepare_files(CorpusFiles(files), tmp_path / "out", ENGLISH_GERMAN, PrepareConfig())
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_full_disk_is_the_machines_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nmt_cli.corpora.preparing._distribute", full)
    with pytest.raises(MachineError, match="No space left"):
        prepared(tmp_path, distinct(20))
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_an_input_is_never_written_even_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("out")
    files = CorpusFiles(pair_files(tmp_path / "out", "own", distinct(20)))
    for out in (tmp_path / "out", tmp_path, tmp_path / "link", tmp_path / "out" / "own.en"):
        with pytest.raises(UsageError, match="which is to be written"):
            prepare_files(files, out, ENGLISH_GERMAN, PrepareConfig(), force=True)


def test_moses_and_lower_casing_are_done_to_every_split_in_its_language(tmp_path: Path) -> None:
    config = PrepareConfig(text=TextConfig(moses=True, lowercase=True))
    train = [(f"It's {n}.", f"It's {n}.") for n in range(10)]
    prepared(tmp_path, train, config, valid=[("Don't!", "Nicht!")])
    assert lines_of(tmp_path, "train.en")[0] == "it 's 0 ."
    assert lines_of(tmp_path, "train.de")[0] == "it ' s 0 ."
    assert pairs_in(tmp_path, "valid") == [("don 't !", "nicht !")]


def test_a_corpus_that_comes_in_splits_goes_through_untouched_but_for_the_text_steps(tmp_path: Path) -> None:
    splits = {"train": [("a  b", "c"), ("a b", "c"), ("", "")], "valid": [("a b", "c")], "test": [("x", "y\n")]}
    done = prepare_splits(splits, tmp_path / "out", ENGLISH_GERMAN, PrepareConfig(), force=False)
    assert pairs_in(tmp_path, "train") == [("a b", "c"), ("a b", "c"), ("", "")]
    assert pairs_in(tmp_path, "test") == [("x", "y")]
    assert open_data_folder(tmp_path / "out").counts == done.counts == {"train": 3, "valid": 1, "test": 1}


def test_a_pipe_is_read_as_a_file_is(tmp_path: Path) -> None:
    files = pair_files(tmp_path, "own", distinct(20))
    read_end, write_end = os.pipe()
    os.write(write_end, files.source.read_bytes())
    os.close(write_end)
    piped = CorpusFiles(PairFiles(Path(f"/dev/fd/{read_end}"), files.target))
    try:
        done = prepare_files(piped, tmp_path / "out", ENGLISH_GERMAN, PrepareConfig())
    finally:
        os.close(read_end)
    assert done.kept == 20


def test_settings_of_both_sections_can_be_assigned_and_unknown_ones_are_named() -> None:
    config = prepare_settings(moses=True, assignments=["text.nfc=false", "cleaning.max_ratio=3", "cleaning.n_test=0"])
    assert config.text == TextConfig(moses=True, nfc=False)
    assert config.cleaning == CleaningConfig(max_ratio=3.0, n_test=0)
    with pytest.raises(UsageError, match=r"'cleaning\.max_word', did you mean 'max_words'"):
        prepare_settings(assignments=["cleaning.max_word=3"])
    with pytest.raises(UsageError, match="'training'"):
        prepare_settings(assignments=["training.seed=3"])


@pytest.mark.parametrize("code", ["en", "de", "pt-BR", "zh-Hans", "a1"])
def test_a_language_code_has_letters_digits_and_hyphens(code: str) -> None:
    assert languages_of(code, "xx") == (code, "xx")


@pytest.mark.parametrize("code", ["", "e n", "../en", "en_US", "-en", "en-", "é", "en\n", "en.de"])
def test_anything_else_is_no_language_code(code: str) -> None:
    with pytest.raises(UsageError, match="--target-lang"):
        languages_of("xx", code)


def test_both_languages_are_needed_and_they_differ() -> None:
    with pytest.raises(UsageError, match="--source-lang is needed"):
        languages_of(None, "de")
    with pytest.raises(UsageError, match="--target-lang is needed"):
        languages_of("en", None)
    with pytest.raises(UsageError, match="both 'en'"):
        languages_of("en", "EN")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("x/train.en", "train-en-de"),
        ("corpus.en.gz", "corpus-en-de"),
        ("pairs.tsv.zst", "pairs-en-de"),
        ("europarl-v7.de-en.en", "europarl-v7.de-en-en-de"),
        ("plain", "plain-en-de"),
        (".en", ".en-en-de"),
    ],
)
def test_the_default_folder_is_named_by_the_file_and_the_languages(source: str, name: str) -> None:
    assert default_folder(CorpusFiles(PairFiles(Path(source))), ENGLISH_GERMAN) == Path("data") / name


def test_files_are_named_once_and_a_target_needs_its_source() -> None:
    a, b, none = Path("a"), Path("b"), (None, None)
    assert corpus_files((a, b), none, none) == CorpusFiles(PairFiles(a, b))
    with pytest.raises(UsageError, match="give --source and --target"):
        corpus_files(none, none, none)
    with pytest.raises(UsageError, match="--valid-target b: give --valid-source too"):
        corpus_files((a, None), (None, b), none)
    with pytest.raises(UsageError, match="given twice"):
        corpus_files((a, b), none, (Path("./a"), None))
