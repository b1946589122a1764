"""Opening a file to read, plain or packed, and what is said when it is not what its name says."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from nmt_cli.errors import DataError
from nmt_cli.files import read_lines
from nmt_cli.packed import open_for_reading

TEXT = "".join(f"{n} plus {n * n} ü\u2028\n" for n in range(5000)).encode()
PACKERS = [("t.gz", gzip.compress), ("t.bz2", bz2.compress), ("t.xz", lzma.compress), ("t.zst", zstandard.compress)]


@pytest.mark.parametrize(("name", "pack"), [("t", bytes), *PACKERS])
def test_a_packed_file_reads_as_the_plain_one(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / name).write_bytes(pack(TEXT))
    assert read_lines(tmp_path / name) == TEXT.decode().split("\n")[:-1]


@pytest.mark.parametrize(("name", "pack"), PACKERS)
def test_a_file_of_two_packed_parts_reads_as_both(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / name).write_bytes(pack(b"one\n") + pack(b"two\n"))
    assert read_lines(tmp_path / name) == ["one", "two"]


@pytest.mark.parametrize(("name", "pack"), PACKERS)
@pytest.mark.parametrize("damage", ["cut", "garbage", "flipped"])
def test_a_damaged_packed_file_is_one_line_that_names_it(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes], damage: str
) -> None:
    whole = pack(TEXT)
    middle = len(whole) // 2
    broken = {
        "cut": whole[:middle],
        "garbage": b"this is plain text\n",
        "flipped": whole[:middle] + bytes(byte ^ 0xFF for byte in whole[middle : middle + 8]) + whole[middle + 8 :],
    }[damage]
    (tmp_path / name).write_bytes(broken)
    with pytest.raises(DataError) as caught:
        read_lines(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    assert "damaged" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_in_place_of_a_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder; a file is expected"):
        read_lines(tmp_path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.en: no such file"):
        read_lines(tmp_path / "nowhere.en")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.touch(mode=0o000)
    with pytest.raises(DataError, match="cannot be read"):
        read_lines(path)


def test_a_file_missing_inside_the_reading_block_is_not_blamed_on_the_file_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    with pytest.raises(FileNotFoundError, match="other"), open_for_reading(tmp_path / "there"):
        (tmp_path / "other").read_bytes()


@pytest.mark.parametrize("name", ["t", "t.gz"])
def test_an_empty_file_has_no_lines_and_an_empty_packed_one_is_whole(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
    assert read_lines(tmp_path / name) == []


def test_a_long_line_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.zst").write_bytes(zstandard.compress(b"x" * 1_000_000 + b"\ny"))
    assert [len(line) for line in read_lines(tmp_path / "t.zst")] == [1_000_000, 1]


def test_a_file_is_closed_when_the_block_ends_before_its_end(tmp_path: Path) -> None:
    # An open file would be reported as a warning, and warnings are errors here.
    (tmp_path / "t.gz").write_bytes(gzip.compress(TEXT))
    with open_for_reading(tmp_path / "t.gz") as stream:
        assert stream.readline().startswith(b"0 plus 0")
