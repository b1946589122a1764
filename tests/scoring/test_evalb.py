"""Bracket F1, worked by hand after EVALB's rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt_cli.errors import DataError
from nmt_cli.scoring.evalb import SentenceScore, Status, score_corpus, score_sentence, summarise
from nmt_cli.scoring.evalb_parameters import Parameters, read_parameters
from nmt_cli.trees.tree import Tree, parse_trees

GOLD = "(TOP (S (NP (DT the) (NN bird)) (VP (VBZ sings) (ADVP (RB now))) (. .)))"


def trees(line: str) -> list[Tree]:
    return list(parse_trees([line], where="here"))


def scored(test: str, gold: str = GOLD, parameters: Parameters | None = None) -> SentenceScore:
    return score_sentence(trees(gold), trees(test), parameters or Parameters())


def test_a_tree_equals_itself_without_root_and_punctuation() -> None:
    assert scored(GOLD) == SentenceScore(5, 4, matched=4, gold=4, test=4, correct_tags=4)


@pytest.mark.parametrize(
    ("test", "figures"),
    [
        ("(S (NP (DT the) (NN bird)) (VP (VBZ sings) (PRT (RP now))) (. .))", (4, 4, 4, 0, 3)),  # ADVP is PRT
        ("(S (NP-SBJ (DT the) (NN bird)) (NP (VBZ sings) (ADVP (RB now))) (. .))", (3, 4, 4, 0, 4)),
        ("(S (NP (NP (DT the) (NN bird))) (VP (VBZ sings) (ADVP (RB now))))", (4, 4, 5, 0, 4)),  # counted once
        ("(S (DT the) (X (NN bird) (VBZ sings)) (RB now) (. .))", (1, 4, 2, 1, 4)),  # X cuts into NP and VP
        ("(DT the) (NN bird) (VBZ sings) (RB now)", (0, 4, 0, 0, 4)),
        ("(S (NP (DT the) (NN bird)) (NP (-NONE- *)) (VP (VBZ sings) (ADVP (RB now))))", (4, 4, 4, 0, 4)),
    ],
)
def test_brackets_are_counted_as_by_hand(test: str, figures: tuple[int, ...]) -> None:
    score = scored(test)
    assert (score.matched, score.gold, score.test, score.crossing, score.correct_tags) == figures


@pytest.mark.parametrize(
    ("test", "status"),
    [
        ("", Status.SKIP),
        ("(S (. .))", Status.SKIP),
        ("(S (DT the))", Status.ERROR),
        (GOLD.replace("bird", "b"), Status.ERROR),
    ],
)
def test_no_words_are_skipped_and_other_words_are_an_error(test: str, status: Status) -> None:
    assert scored(test).status is status


def test_without_labels_only_places_count() -> None:
    test = "(X (X (DT the) (NN bird)) (X (VBZ sings) (X (RB now))))"
    assert scored(test).matched == 0
    assert scored(test, parameters=Parameters(labelled=0)).matched == 4


def test_a_quote_that_one_side_tags_as_a_noun_counts_on_both() -> None:
    gold = "(S (NP (`` ') (NN bird) ('' ')) (VP (VBZ sings)))"
    test = "(S (NP (NN ') (NN bird) (POS ')) (VP (VBZ sings)))"
    assert scored(test, gold).status is Status.ERROR
    score = scored(test, gold, Parameters(quotes=frozenset({"``", "''", "NN", "POS"})))
    assert score == SentenceScore(4, 4, matched=3, gold=3, test=3, correct_tags=2)


def test_the_summary_is_over_all_brackets_of_valid_sentences() -> None:
    scores = [
        SentenceScore(5, 4, matched=4, gold=4, test=4, correct_tags=4),
        SentenceScore(5, 4, matched=1, gold=4, test=2, crossing=3, correct_tags=3),
        SentenceScore(5, 4, Status.ERROR),
        SentenceScore(5, 4, Status.SKIP),
    ]
    result = summarise(scores)
    assert (result.sentences, result.errors, result.skipped, result.valid) == (4, 1, 1, 2)
    assert (result.recall, result.precision) == pytest.approx((62.5, 500 / 6))
    assert result.f1 == pytest.approx(100 * 2 * 5 / (8 + 6))
    assert (result.complete_match, result.average_crossing, result.no_crossing) == (50, 1.5, 50)
    assert (result.few_crossings, result.tagging_accuracy) == (50, 87.5)


def test_nothing_valid_scores_nothing() -> None:
    assert summarise([]).f1 == 0


def test_errors_beyond_those_allowed_stop_the_scoring() -> None:
    gold, test = trees(GOLD), trees("(S (DT the))")
    assert len(score_corpus([gold] * 3, [test] * 3, Parameters(max_errors=2))) == 3
    with pytest.raises(DataError, match="MAX_ERROR is 2"):
        score_corpus([gold] * 4, [test] * 4, Parameters(max_errors=2))


def test_unequal_numbers_of_trees_are_refused() -> None:
    with pytest.raises(DataError, match="1 gold trees, but 0"):
        score_corpus([trees(GOLD)], [], Parameters())


def test_a_parameter_file_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "own.prm"
    path.write_text(
        "## own\nMAX_ERROR 3\nCUTOFF_LEN 9 \nLABELED 0\nDELETE_LABEL TOP\nQUOTE_LABEL :\nEQ_LABEL A B\nEQ_WORD c d\n"
    )
    parameters = read_parameters(path)
    assert (parameters.max_errors, parameters.cutoff_length, parameters.labelled) == (3, 9, 0)
    assert (parameters.deleted, parameters.quotes) == ({"TOP"}, {":"})
    assert parameters.same_label("B", "A")
    assert parameters.same_word("d", "c")
    assert not parameters.same_label("ADVP", "PRT")


def test_all_problems_of_a_parameter_file_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "own.prm"
    path.write_text("MAX_EROR 3\nCUTOFF_LEN many\n")
    with pytest.raises(DataError, match=r"line 1: unknown parameter 'MAX_EROR'; line 2: CUTOFF_LEN takes a number"):
        read_parameters(path)
