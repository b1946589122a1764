"""chrF and TER by hand, and all results together."""

from __future__ import annotations

import json

import pytest

from nmt_cli.errors import DataError
from nmt_cli.scoring.bleu import BleuResult
from nmt_cli.scoring.chrf_ter import chrf, ter
from nmt_cli.scoring.scores import score_translations

PROTOCOLS = ["sacrebleu", "bleu_tokenised", "bleu_tokenised_split", "bleu_paper", "bleu_lowercased_tokenised"]
UNICODE_LINES = ["c\u2028d", "e\x85f", "g\x0bh\x0ci", "j\rk", "l\x1cm\x1dn\x1eo", "", "p\u2029q r s t u"]


def test_chrf_is_the_mean_over_orders_with_recall_weighing_twice() -> None:
    # ab for abc: precision 1 and 1, recall 2/3 and 1/2; 5 * 7/12 / (4 + 7/12) = 7/11.
    found = chrf(["ab"], ["abc"])
    assert found.score == pytest.approx(100 * 7 / 11)
    assert "nc:6|nw:0" in found.signature


@pytest.mark.parametrize(
    ("hypothesis", "reference", "edits", "words"),
    [("a b c d", "a b x d e", 2, 5), ("c a b", "a b c", 1, 3), ("A B", "a b", 0, 2), ("", "a b c d", 4, 4)],
    ids=["one other and one missing", "one moved", "case", "nothing"],
)
def test_ter_counts_edits_and_moves_by_the_words_of_the_reference(
    hypothesis: str, reference: str, edits: int, words: int
) -> None:
    assert ter([hypothesis], [reference]).score == pytest.approx(100 * edits / words)


def test_case_counts_for_chrf_unless_lower_cased() -> None:
    assert chrf(["HAUS"], ["haus"]).score == 0
    lowered = chrf(["HAUS"], ["haus"], lowercase=True)
    assert lowered.score == pytest.approx(100)
    assert "case:lc" in lowered.signature


def test_all_results_come_with_sacrebleu_first_and_each_with_protocol_and_signature() -> None:
    scores = score_translations(["Ein Haus."], ["Ein Haus."], ["Das Haus."], target_language="de")
    assert [result.key for result in scores.results] == [*PROTOCOLS, "chrf2", "ter"]
    assert scores.lines()[0].startswith("sacreBLEU")
    for line, result in zip(scores.lines(), scores.results, strict=True):
        assert result.protocol in line
        assert f"[{result.signature}]" in line
        assert result.signature.startswith("nrefs:2|")


def test_json_holds_numbers_that_are_not_rounded() -> None:
    scores = score_translations(["a b c d e"], ["a b c d e f g"], target_language="en")
    value = json.loads(json.dumps(scores.as_json()))
    assert (value["lines"], value["target_language"]) == (1, "en")
    tokenised = value["scores"]["bleu_tokenised"]
    assert tokenised["score"] == pytest.approx(67.03200460356393, abs=1e-12)
    assert tokenised["precisions"] == [100, 100, 100, 100]
    assert (tokenised["hypothesis_length"], tokenised["reference_length"]) == (5, 7)


def test_lower_casing_reaches_every_result_that_does_not_fix_its_case() -> None:
    scores = score_translations(["Ein"], ["ein"], target_language="de", lowercase=True)
    assert [result.key for result in scores.results if "case:lc" not in result.signature] == ["bleu_paper"]


@pytest.mark.parametrize("language", ["zh", "ja", "th"])
def test_a_language_without_spaces_has_no_protocol_that_counts_moses_words(language: str) -> None:
    scores = score_translations(["我喜欢"], ["我喜欢"], target_language=language)
    assert [result.key for result in scores.results] == ["sacrebleu", "chrf2", "ter"]


def test_signs_that_look_like_line_ends_break_nothing() -> None:
    scores = score_translations(UNICODE_LINES, UNICODE_LINES, target_language="de")
    assert scores.n_lines == len(UNICODE_LINES)
    assert [result.score for result in scores.results] == pytest.approx([100.0] * 6 + [0.0])
    lengths = [result.hypothesis_length for result in scores.results if isinstance(result, BleuResult)]
    # Moses' normalisation drops a lone CR, so that j and k become one word.
    assert lengths == [2 + 2 + 3 + 2 + 4 + 0 + 6] * 4 + [18]


@pytest.mark.parametrize("metric", [chrf, ter])
def test_unequal_counts_are_refused_with_both(metric: type[BleuResult]) -> None:
    with pytest.raises(DataError, match="hypotheses: 1 lines, but reference 1: 2; they must be parallel"):
        metric(["a"], ["a", "b"])
