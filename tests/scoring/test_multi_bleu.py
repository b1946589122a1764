"""Corpus BLEU against numbers worked by hand, brute force and sacreBLEU's own counting."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from nmt_cli.scoring.multi_bleu import corpus_bleu

WORDS = st.lists(st.sampled_from("abc"), max_size=9)
PAIRS = st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=5)


def bleu_of(hypotheses: list[str], *references: list[str]) -> float:
    return corpus_bleu([line.split() for line in hypotheses], *([line.split() for line in r] for r in references)).score


def brute_force(hypotheses: list[list[str]], *references: list[list[str]]) -> float:
    """Strike out each n-gram of the reference that has been matched, one by one."""
    logs = 0.0
    for order in (1, 2, 3, 4):
        matched = total = 0
        for hypothesis, *alternatives in zip(hypotheses, *references, strict=True):
            grams = [tuple(hypothesis[i : i + order]) for i in range(len(hypothesis) - order + 1)]
            pools = [[tuple(words[i : i + order]) for i in range(len(words) - order + 1)] for words in alternatives]
            for gram in grams:
                total += 1
                holders = [pool for pool in pools if gram in pool]
                matched += bool(holders)
                for pool in holders:
                    pool.remove(gram)
        if not matched:
            return 0.0
        logs += math.log(matched / total) / 4
    length = sum(len(words) for words in hypotheses)
    nearest = 0
    for hypothesis, *alternatives in zip(hypotheses, *references, strict=True):
        lengths = sorted(len(words) for words in alternatives)
        distances = [abs(n - len(hypothesis)) for n in lengths]
        nearest += lengths[distances.index(min(distances))]
    return 100 * math.exp(logs + min(0.0, 1 - nearest / length))


def test_a_short_hypothesis_pays_the_brevity_penalty_and_nothing_else() -> None:
    # All n-grams match; 5 words for 7: exp(1 - 7/5).
    found = corpus_bleu([[*"abcde"]], [[*"abcdefg"]])
    assert found.precisions == (100, 100, 100, 100)
    assert found.brevity_penalty == pytest.approx(0.670320, abs=1e-6)
    assert found.score == pytest.approx(67.0320, abs=1e-4)
    assert (found.hypothesis_length, found.reference_length) == (5, 7)


def test_a_repeated_word_counts_as_often_as_the_reference_has_it() -> None:
    # 5/6, 4/5, 3/4, 2/3: their product is 1/3, its fourth root 0.759836.
    assert bleu_of(["a a b c d e"], ["a b c d e f"]) == pytest.approx(75.9836, abs=1e-4)


def test_without_one_common_pair_of_words_the_score_is_zero() -> None:
    found = corpus_bleu([["the"] * 5], [["the", "cat", "is", "on", "the", "mat"]])
    assert found.precisions == (40, 0, 0, 0)
    assert found.brevity_penalty == pytest.approx(math.exp(-0.2))
    assert found.score == 0


def test_counts_are_pooled_over_the_corpus_and_not_averaged_over_lines() -> None:
    # 4/10, 3/8, 2/6, 1/4: their product is 1/80. The mean of the two lines would be 50.
    assert bleu_of(["a b c d", "x y z w v u"], ["a b c d", "p q r s t o"]) == pytest.approx(33.4370, abs=1e-4)


def test_a_longer_hypothesis_pays_by_its_precisions_only() -> None:
    # 4/5, 3/4, 2/3, 1/2: their product is 1/5.
    assert bleu_of(["a b c d e"], ["a b c d"]) == pytest.approx(66.8740, abs=1e-4)


def test_an_empty_line_adds_to_the_reference_length_only() -> None:
    # 4 words for 8: exp(1 - 8/4).
    assert bleu_of(["a b c d", ""], ["a b c d", "e f g h"]) == pytest.approx(36.7879, abs=1e-4)


@pytest.mark.parametrize(("hypothesis", "reference"), [("", "a b"), ("a b", ""), ("", ""), ("a b c", "a b c")])
def test_a_side_with_nothing_to_match_scores_zero(hypothesis: str, reference: str) -> None:
    assert bleu_of([hypothesis], [reference]) == 0


def test_a_match_in_any_reference_counts() -> None:
    found = corpus_bleu([[*"abcd"]], [[*"abxx"]], [[*"yycd"]])
    assert found.precisions == pytest.approx((100, 200 / 3, 0, 0))


@pytest.mark.parametrize(
    ("references", "counted"), [(("a b c", "a b c d e"), 3), (("a b c d e f", "a b c d e"), 5), (("a", "a b c d"), 4)]
)
def test_the_reference_nearest_in_length_counts_and_of_two_the_shorter(
    references: tuple[str, ...], counted: int
) -> None:
    found = corpus_bleu([[*"abcd"]], *([reference.split()] for reference in references))
    assert found.reference_length == counted


@given(PAIRS)
def test_it_equals_brute_force(pairs: list[tuple[list[str], list[str], list[str]]]) -> None:
    hypotheses, *references = (list(side) for side in zip(*pairs, strict=True))
    assert corpus_bleu(hypotheses, *references).score == pytest.approx(brute_force(hypotheses, *references))


@given(PAIRS)
def test_it_equals_sacrebleu_without_smoothing_and_tokenising(
    pairs: list[tuple[list[str], list[str], list[str]]],
) -> None:
    hypotheses, *references = (list(side) for side in zip(*pairs, strict=True))
    theirs = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(
        [" ".join(words) for words in hypotheses], [[" ".join(words) for words in side] for side in references]
    )
    ours = corpus_bleu(hypotheses, *references)
    assert ours.score == pytest.approx(theirs.score, abs=1e-9)
    assert (ours.hypothesis_length, ours.reference_length) == (theirs.sys_len, theirs.ref_len)


def test_unequal_numbers_of_lines_are_a_defect_and_not_cut_to_the_shorter() -> None:
    with pytest.raises(ValueError, match="shorter"):
        corpus_bleu([["a"], ["b"]], [["a"]])
