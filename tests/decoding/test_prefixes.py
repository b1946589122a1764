"""A file of beginnings beside the input."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt_cli.decoding.prefixes import open_prefixes
from nmt_cli.errors import DataError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "text.begun"
    path.write_bytes("Es\n\nx\u2028y\r\nDer".encode())
    return path


def test_each_line_of_the_input_has_its_own_over_several_chunks(path: Path) -> None:
    with open_prefixes(path) as prefixes:
        assert prefixes is not None
        assert prefixes.take(1, before=0, name="a") == ["Es"]
        assert prefixes.take(3, before=1, name="a") == ["", "x\u2028y", "Der"]
        prefixes.refuse_more(4, "a")


def test_work_that_goes_on_begins_where_it_stopped(path: Path) -> None:
    with open_prefixes(path) as prefixes:
        assert prefixes is not None
        assert prefixes.take(2, before=2, name="a") == ["x\u2028y", "Der"]
        prefixes.refuse_more(4, "a")


def test_fewer_or_more_than_lines_are_refused(path: Path) -> None:
    with open_prefixes(path) as prefixes:
        assert prefixes is not None
        with pytest.raises(DataError, match=r"begun: fewer lines than a, which has at least 5"):
            prefixes.take(5, before=0, name="a")
    with open_prefixes(path) as prefixes:
        assert prefixes is not None
        prefixes.take(3, before=0, name="a")
        with pytest.raises(DataError, match=r"begun: 4 lines, but a: 3; they must be parallel"):
            prefixes.refuse_more(3, "a")


def test_bad_bytes_are_named_and_no_file_is_no_prefixes(path: Path) -> None:
    path.write_bytes(b"a\nb\xff")
    with open_prefixes(path) as prefixes:
        assert prefixes is not None
        with pytest.raises(DataError, match=r"begun:2:2: not UTF-8"):
            prefixes.take(2, before=0, name="a")
    with open_prefixes(None) as none:
        assert none is None
