"""Pairs out of files: what is refused, by name and place, and what is only noticed."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from nmt_cli.corpora.reading import CheckedFile, PairFiles, RawPair, read_pairs
from nmt_cli.errors import DataError

# User report 1: ten records, whatever else in them looks like the end of a line.
TEN_RECORDS = (
    b"a b\nc\xe2\x80\xa8d\ne\xc2\x85f\ng\x0bh\x0ci\nj\rk\nl\x1cm\x1dn\x1eo\n\np\xe2\x80\xa9q\r\n\xef\xbb\xbfr\ns"
)


def pairs_of(*paths: Path) -> list[RawPair]:
    return list(read_pairs([CheckedFile(path) for path in paths]))


def refusal(*paths: Path) -> str:
    with pytest.raises(DataError) as caught:
        pairs_of(*paths)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstandard.compress)],
)
def test_ten_records_give_ten_pairs_packed_or_not(tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]) -> None:
    source = written(tmp_path / f"t.en{ending}", pack(TEN_RECORDS))
    target = written(tmp_path / "t.de", b"".join(b"%d\n" % n for n in range(10)))
    pairs = pairs_of(source, target)
    assert [pair.target for pair in pairs] == [str(n) for n in range(10)]
    assert [pair.source for pair in pairs][5:] == ["l\x1cm\x1dn\x1eo", "", "p\u2029q", "r", "s"]


def test_a_thousand_pairs_stay_a_thousand_with_a_lone_cr_in_line_17_and_a_vt_in_line_400(tmp_path: Path) -> None:
    lines = [b"line %d" % n for n in range(1, 1001)]
    lines[16] = b"a\rb"
    lines[399] = b"a\x0bb"
    source = CheckedFile(written(tmp_path / "t.en", b"\n".join(lines)))
    target = CheckedFile(written(tmp_path / "t.de", b"x\n" * 1000))
    assert len(list(read_pairs([source, target]))) == 1000
    assert source.warnings() == [f"{tmp_path}/t.en:17: CR inside the line, read as a space; in the file: 1"]
    assert target.warnings() == []


@pytest.mark.parametrize(("n_source", "n_target"), [(5, 4), (4, 5), (0, 3), (3, 0), (1000, 999)])
def test_unequal_counts_are_refused_with_both_names_and_both_counts(
    tmp_path: Path, n_source: int, n_target: int
) -> None:
    source = written(tmp_path / "t.en", b"x\n" * n_source)
    target = written(tmp_path / "t.de", b"x\n" * n_target)
    message = refusal(source, target)
    assert f"{source}: {n_source:,} lines, but {target}: {n_target:,};" in message


def test_up_to_one_bad_line_in_a_hundred_is_a_problem_of_its_pair_alone(tmp_path: Path) -> None:
    source = CheckedFile(written(tmp_path / "t.en", b"fine\n" * 40 + b"caf\xe9\n" + b"fine\n" * 59))
    target = CheckedFile(written(tmp_path / "t.de", b"gut\n" * 100))
    pairs = list(read_pairs([source, target]))
    assert [number for number, pair in enumerate(pairs) if pair.problem == "bad_bytes"] == [40]
    assert source.warnings() == [f"{source.path}:41:4: not UTF-8; lines of this kind in the file: 1"]


def test_more_bad_lines_than_that_refuse_the_file_with_the_first_line_and_column(tmp_path: Path) -> None:
    good = written(tmp_path / "t.en", b"fine\n" * 100)
    bad = written(tmp_path / "t.de", b"fine\n" * 40 + b"caf\xe9\n" * 2 + b"fine\n" * 58)
    assert refusal(good, bad).startswith(f"{bad}:41:4: not UTF-8, and so are 2 of 100 lines")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["\ufeff", ""], ids=["mark", "no mark"])
def test_utf_16_is_called_by_its_name(tmp_path: Path, encoding: str, mark: str) -> None:
    path = written(tmp_path / "t.en", f"{mark}A man sleeps.\nA dog runs.\n".encode(encoding))
    message = refusal(path, written(tmp_path / "t.de", b"x\ny\n"))
    assert "UTF-16" in message
    assert str(path) in message


def test_a_single_nul_is_text(tmp_path: Path) -> None:
    source = written(tmp_path / "t.en", b"one\ntw\x00o and more of it\nthree\n")
    assert len(pairs_of(source, written(tmp_path / "t.de", b"x\ny\nz\n"))) == 3


@pytest.mark.parametrize("data", [b"one\rtwo\rthree\r", b"one\rtwo\rthree", b"one\rtwo\n", b"a\rb\nc\rd\re\n"])
def test_a_file_whose_lines_end_in_cr_alone_is_refused(tmp_path: Path, data: bytes) -> None:
    path = written(tmp_path / "t.en", data)
    assert refusal(path, written(tmp_path / "t.de", data)).startswith(f"{path}:1: lines end in CR alone")


def test_crlf_and_a_cr_at_the_very_end_are_no_lone_cr(tmp_path: Path) -> None:
    path = written(tmp_path / "t.en", b"one\r\ntwo\r\nthree\r")
    assert len(pairs_of(path, written(tmp_path / "t.de", b"x\ny\nz\n"))) == 3


def test_two_columns_are_read_without_any_rule_for_quotation_marks(tmp_path: Path) -> None:
    path = written(tmp_path / "t.tsv", b'a\tb\n"c\td"\textra\tmore\nlonely\n\t\ne\xff\tf\n' + b"x\ty\n" * 95)
    pairs = pairs_of(path)
    assert pairs[:5] == [
        ("a", "b", None),
        ('"c', 'd"', None),
        ("lonely", "", "missing_column"),
        ("", "", None),
        ("e\ufffd", "f", "bad_bytes"),
    ]
    assert len(pairs) == 100


def test_a_file_without_columns_asks_for_the_second_file(tmp_path: Path) -> None:
    path = written(tmp_path / "t.en", b"one\ntwo\n")
    assert "--target" in refusal(path)


def test_a_damaged_source_is_blamed_and_not_the_target(tmp_path: Path) -> None:
    source = written(tmp_path / "t.en.gz", gzip.compress(b"line\n" * 1000)[:-10])
    target = written(tmp_path / "t.de", b"line\n" * 1000)
    assert refusal(source, target).startswith(f"{source}: damaged")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    good = written(tmp_path / "t.en", b"x\n")
    assert refusal(good, tmp_path / "no.de") == f"{tmp_path}/no.de: no such file"
    assert refusal(tmp_path, good).startswith(f"{tmp_path}: is a folder")


def test_the_paths_of_a_pair_of_files_are_source_then_target() -> None:
    assert PairFiles(Path("a"), Path("b")).paths == [Path("a"), Path("b")]
    assert PairFiles(Path("a.tsv")).paths == [Path("a.tsv")]
