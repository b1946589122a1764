"""Streams of lines: chunks, what is counted, what strictness refuses."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nmt_cli.config import SearchConfig, TextConfig
from nmt_cli.decoding.hypothesis import Hypothesis
from nmt_cli.decoding.streaming import (
    Blocks,
    Tally,
    chunks_of_bytes,
    chunks_of_records,
    open_blocks,
    translate_blocks,
)
from nmt_cli.decoding.translator import Translator
from nmt_cli.errors import DataError
from nmt_cli.subwords.segmenter import END, Segmenter


class Copying:
    """An engine that gives the source back, n times over with ever more ends cut off."""

    max_source_length = None

    def __init__(self) -> None:
        """Have seen nothing."""
        self.sources: list[list[int]] = []

    def search(self, sources: Sequence[Sequence[int]], config: SearchConfig, **_more: object) -> list[list[Hypothesis]]:
        self.sources += [list(source) for source in sources]
        return [
            [Hypothesis(list(source[: -1 - k]), -1.0 - k, -0.5 - k) for k in range(config.n_best)] for source in sources
        ]


class Fixture:
    """A translator that copies."""

    def __init__(self, folder: Path) -> None:
        """Take the subwords of a model folder."""
        segmenter = Segmenter.load(folder / "subwords.model")
        self.engine = Copying()
        self.translator = Translator(
            self.engine, source=segmenter, target=segmenter, languages=("en", "de"), text=TextConfig()
        )

    def answers(self, data: bytes, *, chunk_lines: int = 2048, strict: bool = False, n_best: int = 1) -> list[str]:
        self.tally = Tally()
        search = SearchConfig(n_best=n_best)
        chunks = translate_blocks(
            self.translator, blocks_of(data), search, self.tally, strict=strict, chunk_lines=chunk_lines
        )
        return [str(translation) for chunk in chunks for translation in chunk]


def blocks_of(data: bytes, *, size: int = 700, waiting: bool = True) -> Blocks:
    blocks: Iterator[bytes] = iter([data[i : i + size] for i in range(0, len(data), size)])
    return Blocks("text.en", lambda: next(blocks, b""), lambda: waiting)


@pytest.fixture
def copying(model_folder: Path) -> Fixture:
    return Fixture(model_folder)


def test_blank_lines_do_not_shift_the_answers(copying: Fixture) -> None:
    blank = {*range(1, 2501, 4), 1, 2, 2499, 2500}
    lines = ["" if n in blank else f"the dog sees {n} cats" + " slowly" * (n % 13) for n in range(1, 2501)]
    assert copying.answers(("\n".join(lines) + "\n").encode(), chunk_lines=512) == lines
    assert len(copying.engine.sources) == 2500 - len(blank)


def test_blank_means_white_space_of_any_kind_and_characters_that_go(copying: Fixture) -> None:
    lines = ["", " ", "\t \u00a0", "\u3000\u2028", "\x00\x01", "\ufeff", "x"]
    assert copying.answers("\n".join(lines).encode()) == [""] * 6 + ["x"]
    assert len(copying.engine.sources) == 1


def test_thirteen_lines_give_thirteen_answers(copying: Fixture) -> None:
    lines = [f"cat {n}" for n in range(13)]
    assert copying.answers("\n".join(lines).encode(), chunk_lines=8) == lines


def test_a_chunk_ends_when_no_more_input_is_waiting() -> None:
    def lines(*, waiting: bool) -> list[list[str]]:
        blocks = blocks_of(b"a\nb\nc\r\nhalf", size=4, waiting=waiting)
        return [[record.text for record in chunk] for chunk in chunks_of_records(blocks, chunk_lines=2)]

    assert lines(waiting=False) == [["a", "b"], ["c"], ["half"]]
    assert lines(waiting=True) == [["a", "b"], ["c", "half"]]


def test_a_chunk_never_waits_for_a_line_that_has_not_ended() -> None:
    arrived = iter([b"first\nsec", b"ond\n", b""])
    chunks = chunks_of_records(Blocks("pipe", lambda: next(arrived), lambda: False))
    assert [record.text for record in next(chunks)] == ["first"]
    assert [record.text for record in next(chunks)] == ["second"]


def test_bytes_that_are_not_utf8_are_replaced_and_counted(copying: Fixture) -> None:
    assert copying.answers(b"the dog\nsch\xf6n \xe4\nx\n\xff\n") == ["the dog", "sch\ufffdn \ufffd", "x", "\ufffd"]
    assert copying.tally.summary(limit=1024) == ["2 lines not UTF-8, first text.en:2:4; bad bytes replaced"]


def test_strictness_refuses_such_bytes_by_file_line_and_column(copying: Fixture) -> None:
    with pytest.raises(DataError, match=r"^text\.en:5:3: not UTF-8"):
        copying.answers(b"a\nb\nc\nd\nx \xe4\n", strict=True, chunk_lines=2)


def test_a_line_over_the_limit_is_translated_in_parts_and_named(copying: Fixture) -> None:
    long = " ".join(["the dog sees a cat"] * 600)
    word = "x" * 20_000
    lines = ["a dog"] * 100
    lines[49], lines[69] = long, word
    answers = copying.answers("\n".join(lines).encode())
    assert answers[49] == long
    assert answers[69].replace(" ", "") == word
    assert [answer for n, answer in enumerate(answers) if n not in {49, 69}] == ["a dog"] * 98
    assert max(len(source) for source in copying.engine.sources) <= 1024
    assert all(source[-1] == END and END not in source[:-1] for source in copying.engine.sources)
    assert [warning.split(" tokens")[0].rpartition(": ")[0] for warning in copying.tally.warnings] == [
        "text.en:50",
        "text.en:70",
    ]
    assert copying.tally.summary(limit=1024) == ["2 inputs over the limit of 1,024 tokens, translated in parts"]


def test_strictness_refuses_a_line_over_the_limit(copying: Fixture) -> None:
    with pytest.raises(DataError, match=r"^text\.en:3: 3,\d\d\d tokens, over the limit of 1,024"):
        copying.answers(b"a\nb\n" + b"the " * 3200, strict=True)
    assert copying.answers(b"the " * 1000, strict=True)


def test_an_output_at_its_limit_is_counted(copying: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = Hypothesis([5], -9.0, -9.0, is_cut=True)
    monkeypatch.setattr(copying.engine, "search", lambda sources, *_, **__: [[cut]] * len(sources))
    copying.answers(b"a\nb\n\n")
    assert copying.tally.summary(limit=9) == [
        "2 outputs cut at the limit of length (source length + max_extra): lines 1, 2"
    ]


def test_outputs_that_loop_are_counted_and_the_first_few_named(
    copying: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    looping = Hypothesis([5, 6, 7] * 6, -9.0, -9.0)
    monkeypatch.setattr(copying.engine, "search", lambda sources, *_, **__: [[looping]] * len(sources))
    copying.answers(b"the dog\n\n" + b"the cat\n" * 6)
    assert copying.tally.summary(limit=9) == [
        "7 outputs ending in pieces repeated over and over: lines 1, 3, 4, 5, 6, …"
    ]


@pytest.mark.parametrize("size", [1, 3, 10, 1000])
def test_the_chunks_of_a_file_do_not_depend_on_how_its_bytes_come(size: int) -> None:
    data = b"".join(b"line %d\n" % n for n in range(23)) + b"end"
    chunks = list(chunks_of_bytes(blocks_of(data, size=size), chunk_lines=5))
    assert b"".join(chunks) == data
    assert [chunk.count(b"\n") for chunk in chunks] == [5, 5, 5, 5, 3]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_file_is_read_plain_or_packed(tmp_path: Path, ending: str) -> None:
    import gzip

    path = tmp_path / f"text.en{ending}"
    path.write_bytes(gzip.compress(b"a\n\nb") if ending else b"a\n\nb")
    with open_blocks(path) as blocks:
        assert [[record.text for record in chunk] for chunk in chunks_of_records(blocks)] == [["a", "", "b"]]


def test_a_named_pipe_is_read_as_it_comes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    holder = os.open(pipe, os.O_RDWR)
    os.write(holder, b"first\n")
    with open_blocks(pipe) as blocks:
        chunks = chunks_of_records(blocks)
        assert [record.text for record in next(chunks)] == ["first"]
        os.write(holder, b"second\n")
        assert [record.text for record in next(chunks)] == ["second"]
    os.close(holder)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in [tmp_path / "missing", tmp_path]:
        with pytest.raises(DataError, match=str(path)), open_blocks(path):
            pass
