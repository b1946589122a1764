"""BLEU in its protocols, against numbers worked by hand."""

from __future__ import annotations

import importlib.util
import math
import re

import pytest

from nmt_cli.errors import DataError, UsageError
from nmt_cli.scoring import bleu
from nmt_cli.scoring.bleu import lowercased_bleu, paper_bleu, sacrebleu_bleu, split_bleu, tokenised_bleu

# User report 16: two pairs, tokenised already.
REFERENCES = [
    "Ein Rock-Konzert in der Nord-Ost-Halle endete um 23 Uhr .",
    "Das Wetter war gut , aber die E-Mail kam zu spät an .",
]
HYPOTHESES = [
    "Ein Rock-Festival in der Nord-Ost-Halle endete um 23 Uhr .",
    "Das Wetter war gut , doch die E-Mail kam spät an .",
]


def from_counts(*fractions: tuple[int, int], lengths: tuple[int, int]) -> float:
    """Return BLEU from matches and totals counted by hand, and the lengths of hypotheses and references."""
    product = math.prod(matches / total for matches, total in fractions)
    return 100 * product**0.25 * min(1.0, math.exp(1 - lengths[1] / lengths[0]))


def test_tokenised_split_and_sacrebleu_give_the_figures_counted_by_hand() -> None:
    words = from_counts((20, 22), (15, 20), (11, 18), (7, 16), lengths=(22, 23))
    split = from_counts((28, 30), (23, 28), (18, 26), (13, 24), lengths=(30, 31))
    assert (round(words, 2), round(split, 2)) == (62.44, 70.82)
    assert tokenised_bleu(HYPOTHESES, REFERENCES, target_language="de").score == pytest.approx(words)
    assert split_bleu(HYPOTHESES, REFERENCES, target_language="de").score == pytest.approx(split)
    assert sacrebleu_bleu(HYPOTHESES, REFERENCES, target_language="de").score == pytest.approx(words)


def test_sacrebleu_takes_plain_text_and_separates_the_period() -> None:
    # a b c d . for a b c d e . : 5/5, 3/4, 2/3, 1/2.
    found = sacrebleu_bleu(["a b c d."], ["a b c d e."], target_language="en")
    assert found.score == pytest.approx(57.8930, abs=1e-4)
    assert found.precisions == pytest.approx((100, 75, 200 / 3, 50))
    assert found.brevity_penalty == pytest.approx(math.exp(-0.2))
    assert (found.hypothesis_length, found.reference_length) == (5, 6)


def test_without_a_common_triple_sacrebleu_smooths_and_tokenised_bleu_is_zero() -> None:
    # 4/5, 2/4, then 0/3 and 0/2, which smoothing makes 1/(2*3) and 1/(4*2).
    smoothed = sacrebleu_bleu(["a b x c d"], ["a b y c d"], target_language="en")
    assert smoothed.score == pytest.approx(30.2137, abs=1e-4)
    assert tokenised_bleu(["a b x c d"], ["a b y c d"], target_language="en").score == 0


def test_every_result_carries_its_protocol_and_its_signature() -> None:
    found = sacrebleu_bleu(["Gut."], ["Gut."], target_language="de")
    assert re.fullmatch(r"nrefs:1\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:[\d.]+", found.signature)
    assert str(found) == f"sacreBLEU 0.00  detokenised, cased  [{found.signature}]"
    tokenised = tokenised_bleu(["Gut."], ["Gut."], ["Schön."], target_language="de")
    assert tokenised.signature.startswith("nrefs:2|case:mixed|quotes:kept|norm:no|tok:moses-de|split:no|eff:no|")
    assert "Moses rules for de" in tokenised.protocol


@pytest.mark.parametrize(
    ("language", "references", "lowercase", "expected"),
    [
        ("de", 1, False, [False, True, True]),
        ("fr", 1, False, [True, False, False]),
        ("en", 1, False, [False, False, False]),
        ("de", 1, True, [False, False, True]),
        ("de", 2, False, [False, False, False]),
    ],
)
def test_a_protocol_is_called_comparable_to_the_paper_only_where_the_paper_used_it(
    language: str, references: int, expected: list[bool], *, lowercase: bool
) -> None:
    texts, case = [["a"]] * (1 + references), {"lowercase": lowercase}
    results = [
        tokenised_bleu(*texts, target_language=language, **case),
        split_bleu(*texts, target_language=language, **case),
        paper_bleu(*texts, target_language=language),
    ]
    assert ["comparable to the paper" in result.protocol for result in results] == expected


def test_case_counts_unless_lower_cased() -> None:
    one_wrong = (["Das ist ein haus"], ["das ist ein Haus"])
    for protocol in (sacrebleu_bleu, tokenised_bleu, split_bleu):
        assert protocol(*one_wrong, target_language="de").score < 100
        lowered = protocol(*one_wrong, target_language="de", lowercase=True)
        assert lowered.score == pytest.approx(100)
        assert "case:lc" in lowered.signature
        assert "lower-cased" in lowered.protocol
    assert lowercased_bleu(*one_wrong, target_language="de").score == pytest.approx(100)


def test_the_paper_s_protocol_takes_typographic_quotes_for_straight_ones() -> None:
    pair = (['Er rief "Halt" und ging.'], ["Er rief „Halt“ und ging."])
    assert paper_bleu(*pair, target_language="de").score == pytest.approx(100)
    # The two quotes are wrong: 6/8 words, 3/7 pairs (Er rief, und ging, ging .), 1/6 triples, no four.
    found = split_bleu(*pair, target_language="de")
    assert found.precisions == pytest.approx((75, 300 / 7, 100 / 6, 0))


def test_chinese_is_scored_by_characters_and_latin_words_by_words() -> None:
    # 我 喜 欢 机 器 for 我 爱 机 器: 3/5 characters match, one pair of 4.
    found = sacrebleu_bleu(["我喜欢机器"], ["我爱机器"], target_language="zh")
    assert "tok:zh" in found.signature
    assert found.precisions[:2] == pytest.approx((60, 25))


def test_japanese_without_mecab_falls_back_to_characters_and_the_signature_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert "tok:char" in sacrebleu_bleu(["猫です"], ["猫です"], target_language="ja").signature
    with pytest.raises(UsageError, match=r"'ja-mecab' needs MeCab and ipadic.*sacrebleu\[ja\]"):
        sacrebleu_bleu(["猫です"], ["猫です"], target_language="ja", tokeniser="ja-mecab")


@pytest.mark.parametrize(
    ("tokeniser", "length"),
    [("none", 2), ("13a", 3), ("char", 11), ("intl", 5)],
)
def test_a_tokeniser_named_is_the_one_that_counts(tokeniser: str, length: int) -> None:
    # none parts at the space; 13a separates the !, intl also the dash from both words, char every sign.
    found = sacrebleu_bleu(["Halt–dort x!"], ["Halt–dort x!"], target_language="de", tokeniser=tokeniser)
    assert f"tok:{tokeniser}" in found.signature
    assert found.hypothesis_length == length


def test_an_unknown_tokeniser_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="'moses' is unknown; choose one of 13a, zh, intl"):
        sacrebleu_bleu(["a"], ["a"], target_language="de", tokeniser="moses")


@pytest.mark.parametrize("protocol", [sacrebleu_bleu, tokenised_bleu, split_bleu, paper_bleu, lowercased_bleu])
def test_unequal_counts_and_an_empty_corpus_are_refused(protocol: type[bleu.BleuResult]) -> None:
    with pytest.raises(DataError, match="hypotheses: 2 lines, but reference 2: 1;"):
        protocol(["a", "b"], ["a", "b"], ["a"], target_language="de")
    with pytest.raises(DataError, match="nothing to score"):
        protocol([], [], target_language="de")
    with pytest.raises(DataError, match="no reference"):
        protocol(["a"], target_language="de")


def test_an_empty_hypothesis_is_scored_and_only_shortens() -> None:
    # 4 words of 8 in one of two lines, all right: exp(1 - 8/4).
    pair = (["eins zwei drei vier", ""], ["eins zwei drei vier", "fünf sechs sieben acht"])
    for protocol in (sacrebleu_bleu, tokenised_bleu, split_bleu, paper_bleu, lowercased_bleu):
        assert protocol(*pair, target_language="de").score == pytest.approx(36.7879, abs=1e-4)
