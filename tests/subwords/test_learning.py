"""Learning subwords from messy text (report 21), and the sample that it reads."""

from __future__ import annotations

import collections
import re
from pathlib import Path

import pytest
import sentencepiece

from nmt_cli.errors import DataError
from nmt_cli.subwords.learning import learn_subwords, sample_lines
from nmt_cli.subwords.segmenter import Segmenter

N_FIXED = 3 + 256
MESSY = [
    "double  space",
    " leading and trailing ",
    "\ttabs\there",
    "no\u00a0break ideo\u3000graphic zero\u200dwidth",
    "",
    "   ",
    "e\u0301 a\u0308",
    "👍🏽 👩\u200d👩\u200d👧",
    "x" * 100_000,
    "a\0b",
    "▅ block",
    "\ufdd0 ▁",
    "</s> <unk> <0x41>",
]


def test_messy_text_is_learned_and_every_line_of_it_comes_back(tmp_path: Path) -> None:
    size = learn_subwords(MESSY * 3, tmp_path / "m.model", vocab_size=320)
    segmenter = Segmenter.load(tmp_path / "m.model")
    assert segmenter.vocab_size == size <= 320
    assert [segmenter.decode(ids) for ids in segmenter.encode(MESSY)] == MESSY


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_asking_for_too_many_stops_at_what_exists(tmp_path: Path, algorithm: str) -> None:
    lines = ["the cat sat on the mat and the dog too"] * 10
    size = learn_subwords(lines, tmp_path / "m.model", vocab_size=30_000, algorithm=algorithm)
    assert N_FIXED + len(set(lines[0])) <= size < 400
    vocabulary = (tmp_path / "m.vocab").read_text(encoding="utf-8").splitlines()
    assert len(vocabulary) == size
    assert len({line.split("\t")[0] for line in vocabulary}) == size  # no entry twice


def test_the_first_merge_is_the_most_frequent_pair(tmp_path: Path) -> None:
    lines = ["ab ab ab cd cd", "ab xd"]
    learn_subwords(lines, tmp_path / "m.model", vocab_size=N_FIXED + 6 + 1, character_coverage=1.0)
    pairs = collections.Counter(re.findall(r"(?=(..))", "".join(f"▁{word}" for line in lines for word in line.split())))
    pairs = collections.Counter({pair: count for pair, count in pairs.items() if not pair.endswith("▁")})
    first = Segmenter.load(tmp_path / "m.model").pieces([N_FIXED])
    assert pairs[first[0]] == max(pairs.values()) == 4


@pytest.mark.parametrize("lines", [[], [""], ["", "   ", "\u3000"], ["\0\0"], ["▁"], ["▅▅"]])
def test_empty_input_is_refused(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(DataError, match="no text to learn subwords from"):
        learn_subwords(lines, tmp_path / "m.model", vocab_size=300)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_too_small_a_vocabulary_is_refused_with_the_size_that_does(tmp_path: Path, algorithm: str) -> None:
    lines = ["abcdefghijklmnopqrstuvwxyz"] * 5
    with pytest.raises(DataError) as caught:
        learn_subwords(lines, tmp_path / "m.model", vocab_size=270, algorithm=algorithm)
    expected = "subwords cannot be learned with a vocabulary of 270; this text needs at least "
    assert str(caught.value).startswith(expected)
    needed = int(str(caught.value).removeprefix(expected))
    assert learn_subwords(lines, tmp_path / "m.model", vocab_size=needed, algorithm=algorithm) == needed
    with pytest.raises(DataError):
        learn_subwords(lines, tmp_path / "n.model", vocab_size=needed - 1, algorithm=algorithm)


def test_text_that_looks_like_a_control_symbol_is_not_learned_as_one_piece(tmp_path: Path) -> None:
    learn_subwords(["</s> <s> <unk> <pad> <0x41> <0x0A>"] * 500, tmp_path / "m.model", vocab_size=500)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    ordinary = [i for i in range(len(processor)) if not (processor.is_control(i) or processor.is_byte(i))]
    assert not {"</s>", "<s>", "<pad>", "<0x41>"} & {processor.id_to_piece(i).strip("▁") for i in ordinary}
    assert [processor.is_control(i) for i in (0, 1, 2, 3)] == [True, True, False, False]
    assert processor.is_unknown(2)


def test_the_same_lines_give_the_same_file_wherever_it_is(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    paths = [tmp_path / "one.model", tmp_path / "elsewhere" / "two.model"]
    for path in paths:
        learn_subwords(MESSY * 2, path, vocab_size=300)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert str(tmp_path).encode() not in paths[0].read_bytes()


def test_a_short_text_is_read_whole_and_in_its_order() -> None:
    lines = ["b", "a", "c"]
    assert sample_lines(iter(lines), limit=3, seed=1) == lines
    assert sample_lines(iter(lines), limit=10, seed=1) == lines


def test_a_sample_is_uniform_in_its_order_and_decided_by_its_seed() -> None:
    lines = [f"{number:03}" for number in range(50)]
    counts = collections.Counter[str]()
    for seed in range(1_000):
        sample = sample_lines(lines, limit=10, seed=seed)
        assert len(sample) == len(set(sample)) == 10
        assert sample == sorted(sample)
        counts.update(sample)
    # Each of 50 lines is expected 200 times, with a standard deviation of 12.6; the seeds are fixed.
    assert max(counts.values()) < 200 + 4 * 12.6
    assert min(counts[line] for line in lines) > 200 - 4 * 12.6
    assert sample_lines(lines, limit=10, seed=7) == sample_lines(lines, limit=10, seed=7)
    assert sample_lines(lines, limit=10, seed=7) != sample_lines(lines, limit=10, seed=8)
