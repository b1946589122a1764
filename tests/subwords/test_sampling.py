"""Words cut anew: how often a merge is left out, that the text stays, and that a seed decides it all."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.subwords.learning import learn_subwords
from nmt_cli.subwords.sampling import Drops, WordCutter, merged
from nmt_cli.subwords.segmenter import Segmenter

NEARLY_ALL = 1 - 1e-12
N_DRAWS = 4_000
RANKS = {"ab": 1.0, "bc": 2.0, "cd": 3.0, "abc": 4.0, "bcd": 5.0, "ca": 6.0, "abcd": 7.0}


@pytest.fixture(scope="module")
def two_merges(tmp_path_factory: pytest.TempPathFactory) -> Segmenter:
    """Pieces made by two merges only: a + b first, then ab + c; everything else is single characters."""
    path = tmp_path_factory.mktemp("merges") / "subwords.model"
    words = ["xab", "yab", "zab", "wabc", "vabc", "uabc"]
    characters = len(set("".join(words))) + 1  # and the mark of a space
    learn_subwords([" ".join(words)] * 4, path, vocab_size=259 + characters + 2)
    found = Segmenter.load(path)
    names = found.pieces(range(259, found.vocab_size))
    assert [name for name in names if len(name) > 1] == ["ab", "abc"]
    return found


def cuts(segmenter: Segmenter, line: str, *, dropout: float) -> Counter[str]:
    """Return how often each cut of a line came."""
    [ids], drops, cutter = segmenter.encode([line]), Drops(dropout, seed=[7]), WordCutter(segmenter)
    return Counter(" ".join(segmenter.pieces(cutter.cut(ids, drops))) for _ in range(N_DRAWS))


def assert_shares(found: Counter[str], expected: dict[str, float]) -> None:
    """Check that each cut came about as often as it should, within 4 standard deviations, and no other."""
    assert found.keys() <= expected.keys()
    assert abs(sum(expected.values()) - 1) < 1e-12
    for cut, share in expected.items():
        sigma = (N_DRAWS * share * (1 - share)) ** 0.5
        assert abs(found[cut] - N_DRAWS * share) <= 4 * sigma, (cut, found[cut], N_DRAWS * share)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_a_merge_is_left_out_with_the_given_probability(two_merges: Segmenter, p: float) -> None:
    assert_shares(cuts(two_merges, "xab", dropout=p), {"▁ x ab": 1 - p, "▁ x a b": p})


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_a_merge_of_a_merge_needs_both_of_them(two_merges: Segmenter, p: float) -> None:
    expected = {"▁ x abc": (1 - p) ** 2, "▁ x ab c": (1 - p) * p, "▁ x a b c": p}
    assert_shares(cuts(two_merges, "xabc", dropout=p), expected)


def test_a_merge_left_out_may_come_after_another_of_its_word_and_not_after_that_of_another_word(
    two_merges: Segmenter,
) -> None:
    p = 0.3
    # First ab or, without it, second ab; then the other one is possible once more.
    in_a_word = {"▁ ab x ab": (1 - p * p) * (1 - p), "▁ ab x a b": (1 - p) * p, "▁ a b x ab": p * (1 - p) * p}
    assert_shares(cuts(two_merges, "abxab", dropout=p), in_a_word | {"▁ a b x a b": p * p})
    in_two = {"▁ ab ▁ ab": (1 - p) ** 2, "▁ ab ▁ a b": (1 - p) * p, "▁ a b ▁ ab": p * (1 - p), "▁ a b ▁ a b": p * p}
    assert_shares(cuts(two_merges, "ab ab", dropout=p), in_two)


def shares_by_the_paper(word: str, p: float) -> dict[str, float]:
    """Return the probability of each cut by algorithm 1: every possible merge is drawn for, at each step."""

    @cache
    def shares(symbols: tuple[str, ...]) -> Counter[tuple[str, ...]]:
        possible = [place for place in range(len(symbols) - 1) if "".join(symbols[place : place + 2]) in RANKS]
        found = Counter[tuple[str, ...]]()
        for n_kept in range(len(possible) + 1):
            for kept in itertools.combinations(possible, n_kept):
                chance = (1 - p) ** n_kept * p ** (len(possible) - n_kept)
                if not kept:
                    found[symbols] += chance  # type: ignore[assignment]
                    continue
                best = min(kept, key=lambda place: (RANKS["".join(symbols[place : place + 2])], place))
                after = (*symbols[:best], "".join(symbols[best : best + 2]), *symbols[best + 2 :])
                for end, share in shares(after).items():
                    found[end] += chance * share  # type: ignore[assignment]
        return found

    return {" ".join(symbols): share for symbols, share in shares(tuple(word)).items()}


@pytest.mark.parametrize(("word", "p"), [("abcd", 0.25), ("abcabcd", 0.4), ("ababab", 0.5), ("xcab", 0.1)])
def test_cuts_come_as_often_as_the_algorithm_of_the_paper_has_it(word: str, p: float) -> None:
    drops = Drops(p, seed=[1, 2])
    found = Counter(" ".join(merged(word, RANKS, drops.next)) for _ in range(N_DRAWS))
    assert_shares(found, shares_by_the_paper(word, p))


def test_no_dropout_gives_what_is_stored_and_nearly_all_gives_characters(segmenter: Segmenter) -> None:
    lines = ["the quick brown fox", "she sells sea shells by the sea shore", "grüße Straße"]
    cutter = WordCutter(segmenter)
    for line, ids in zip(lines, segmenter.encode(lines), strict=True):
        assert cutter.cut(ids, Drops(0.0, seed=[1])) == ids
        words = ["▁" + word for word in line.split(" ")]
        by_merges = [symbol for word in words for symbol in merged(word, segmenter.merge_ranks(), lambda: False)]
        assert by_merges == segmenter.pieces(ids)
        assert segmenter.pieces(cutter.cut(ids, Drops(NEARLY_ALL, seed=[1]))) == list("".join(words))


texts = st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=30)
known = st.text(st.sampled_from("the sea shells  ▁üß日<0x4>"), max_size=40)


@settings(deadline=None)
@given(texts | known, st.sampled_from([0.1, 0.5, NEARLY_ALL]))
def test_any_text_reads_the_same_however_it_is_cut(segmenter: Segmenter, text: str, dropout: float) -> None:
    [ids] = segmenter.encode([text])
    assert segmenter.decode(WordCutter(segmenter).cut(ids, Drops(dropout, seed=[3]))) == text


@pytest.mark.parametrize(
    "line",
    ["</s> <s> <unk> <pad> <0x41>", "  two  spaces ", "日本語 ▁ ▁▁", "", " ", "\ufdd0▁\ufdd1", "a\u2585b", "\ufffd"],
)
def test_text_that_looks_like_control_symbols_bytes_or_space_marks_stays_text(segmenter: Segmenter, line: str) -> None:
    [ids], cutter, drops = segmenter.encode([line]), WordCutter(segmenter), Drops(0.5, seed=[5])
    found = [cutter.cut(ids, drops) for _ in range(50)]
    assert {segmenter.decode(cut) for cut in found} == {line}
    assert not any({0, 1, 2} & set(cut) for cut in found)


def test_ids_that_are_no_encoding_stay_as_they_are(two_merges: Segmenter) -> None:
    ids = [2, *two_merges.encode(["xy"])[0], 3 + 0xE6, 1]  # unknown, half a character, an end symbol
    assert WordCutter(two_merges).cut(ids, Drops(0.9, seed=[1])) == ids


def test_a_model_with_pieces_across_words_is_cut_and_reads_the_same(tmp_path: Path) -> None:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["in the end of the day", "at the end of the road"] * 9),
        model_prefix=str(tmp_path / "m"),
        model_type="bpe",
        vocab_size=330,
        hard_vocab_limit=False,
        split_by_whitespace=False,
        byte_fallback=True,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
    )
    segmenter = Segmenter.load(tmp_path / "m.model")
    assert any("▁" in name[1:] for name in segmenter.pieces(range(segmenter.vocab_size)))
    [ids], cutter = segmenter.encode(["at the end of the day"]), WordCutter(segmenter)
    assert cutter.cut(ids, Drops(0.0, seed=[1])) == ids
    drops = Drops(0.5, seed=[1])
    found = [cutter.cut(ids, drops) for _ in range(50)]
    assert {segmenter.decode(cut) for cut in found} == {"at the end of the day"}
    assert len({tuple(cut) for cut in found}) > 25


def test_draws_are_those_of_pcg64_one_by_one_or_passed_by() -> None:
    raw = np.random.PCG64([3, 4]).random_raw(20_000).tolist()
    expected = [number / 2.0**64 < 0.3 for number in raw]
    drops = Drops(0.3, seed=[3, 4])
    assert [drops.next() for _ in range(20_000)] == expected
    drops, found = Drops(0.3, seed=[3, 4]), list[bool]()
    for length in itertools.cycle([0, 1, 2, 3, 50]):
        if len(found) > 15_000:
            break
        if drops.pass_by(length):
            found += [False] * length
        else:
            assert any(expected[len(found) : len(found) + length])
            found.append(drops.next())
    assert found == expected[: len(found)]


@pytest.mark.parametrize(("kind", "is_bpe"), [("bpe", True), ("unigram", False)])
def test_only_models_made_by_merges_are_bpe(tmp_path: Path, kind: str, is_bpe: bool) -> None:
    lines = ["the quick brown fox jumps over the lazy dog"] * 5
    learn_subwords(lines, tmp_path / "m", vocab_size=320, algorithm=kind)
    assert Segmenter.load(tmp_path / "m").is_bpe is is_bpe


@pytest.mark.parametrize("kind", ["char", "word"])
def test_models_of_characters_and_of_words_are_not_bpe(tmp_path: Path, kind: str) -> None:
    # `load` would refuse them for their lack of bytes, but not for what they are.
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c a b c"] * 20),
        model_prefix=str(tmp_path / "m"),
        model_type=kind,
        vocab_size=20,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    assert not Segmenter(processor).is_bpe
