"""Labelled bracket F1, figure by figure as EVALB (Sekine and Collins) prints it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from nmt_cli.errors import DataError
from nmt_cli.scoring.evalb_parameters import Parameters
from nmt_cli.scoring.spans import Bracket, agree_on_quotes, counted, spans_of
from nmt_cli.trees.tree import Tree

FEW_CROSSINGS = 2


class Status(IntEnum):
    """What EVALB makes of a sentence."""

    VALID = 0
    ERROR = 1
    SKIP = 2


@dataclass(frozen=True)
class SentenceScore:
    """One line of EVALB's table."""

    length: int
    words: int
    status: Status = Status.VALID
    problem: str = ""
    matched: int = 0
    gold: int = 0
    test: int = 0
    crossing: int = 0
    correct_tags: int = 0

    @property
    def recall(self) -> float:
        """Of the gold brackets, how many were found, in percent."""
        return percent(self.matched, self.gold)

    @property
    def precision(self) -> float:
        """Of the brackets found, how many are gold, in percent."""
        return percent(self.matched, self.test)

    @property
    def is_complete(self) -> bool:
        """Whether all brackets agree."""
        return self.gold == self.test == self.matched


@dataclass(frozen=True)
class F1Result:
    """A block of EVALB's summary; all in percent but counts and the mean of crossings."""

    sentences: int
    errors: int
    skipped: int
    valid: int
    matched: int
    gold: int
    test: int
    crossings: int
    no_crossings: int
    words: int
    correct_tags: int
    recall: float
    precision: float
    f1: float
    complete_match: float
    average_crossing: float
    no_crossing: float
    few_crossings: float
    tagging_accuracy: float


def percent(part: int, whole: int) -> float:
    """Return a share in percent; 0 of nothing, as EVALB has it."""
    return 100 * part / whole if whole else 0.0


def score_sentence(gold: list[Tree], test: list[Tree], parameters: Parameters) -> SentenceScore:
    """Return the figures of a sentence; a line holds one tree, none, or by mistake several."""
    ours, theirs = spans_of(gold, parameters), spans_of(test, parameters)
    length, words = ours.length, len(ours.terminals)
    if not theirs.terminals:
        return SentenceScore(length, words, Status.SKIP, "no words")
    if len(ours.terminals) != len(theirs.terminals):
        agree_on_quotes(ours, theirs, parameters)
    words = len(ours.terminals)
    if words != len(theirs.terminals):
        return SentenceScore(length, words, Status.ERROR, f"{words} words, but {len(theirs.terminals)}")
    pairs = list(zip(ours.terminals, theirs.terminals, strict=True))
    for one, other in pairs:
        if not parameters.same_word(one.word or "", other.word or ""):
            return SentenceScore(length, words, Status.ERROR, f"{one.word!r}, but {other.word!r}")
    gold_brackets, test_brackets = counted(ours.brackets, parameters), counted(theirs.brackets, parameters)
    return SentenceScore(
        length,
        words,
        matched=_matches(gold_brackets, test_brackets, parameters),
        gold=len(gold_brackets),
        test=len(test_brackets),
        crossing=sum(any(crosses(found, other) for other in gold_brackets) for found in test_brackets),
        correct_tags=sum(parameters.same_label(one.label, other.label) for one, other in pairs),
    )


def crosses(one: Bracket, other: Bracket) -> bool:
    """Tell whether two brackets overlap with neither inside the other."""
    return other.start < one.start < other.end < one.end or one.start < other.start < one.end < other.end


def _matches(gold: list[Bracket], test: list[Bracket], parameters: Parameters) -> int:
    """Return how many gold brackets find one of their own, each taking the first that is left."""
    left, matched = list(test), 0
    for wanted in gold:
        for place, found in enumerate(left):
            same_place = (found.start, found.end) == (wanted.start, wanted.end)
            if same_place and (not parameters.labelled or parameters.same_label(wanted.label, found.label)):
                del left[place]
                matched += 1
                break
    return matched


def score_corpus(gold: Sequence[list[Tree]], test: Sequence[list[Tree]], parameters: Parameters) -> list[SentenceScore]:
    """Return the figures of all sentences.

    Raises:
        DataError: unequal numbers of lines, or more errors than MAX_ERROR allows.
    """
    if len(gold) != len(test):
        raise DataError(f"{len(gold):,} gold trees, but {len(test):,} to score; they must be parallel")
    scores, errors = list[SentenceScore](), 0
    for number, (one, other) in enumerate(zip(gold, test, strict=True), start=1):
        scores.append(score_sentence(one, other, parameters))
        errors += scores[-1].status is Status.ERROR
        if errors > parameters.max_errors + 1:  # EVALB counts after it compares
            raise DataError(
                f"sentence {number}: {scores[-1].problem}; {errors} such errors, and MAX_ERROR is "
                f"{parameters.max_errors}; raise it in a file for --evalb-parameters"
            )
    return scores


def summarise(scores: Iterable[SentenceScore]) -> F1Result:
    """Return the summary of some sentences, over the brackets of all together."""
    scores = list(scores)
    valid = [score for score in scores if score.status is Status.VALID]
    matched, gold, test = (sum(getattr(score, name) for score in valid) for name in ("matched", "gold", "test"))
    words, tags = sum(score.words for score in valid), sum(score.correct_tags for score in valid)
    crossings = sum(score.crossing for score in valid)
    none, few = (sum(score.crossing <= most for score in valid) for most in (0, FEW_CROSSINGS))
    recall, precision = percent(matched, gold), percent(matched, test)
    return F1Result(
        sentences=len(scores),
        errors=sum(score.status is Status.ERROR for score in scores),
        skipped=sum(score.status is Status.SKIP for score in scores),
        valid=len(valid),
        matched=matched,
        gold=gold,
        test=test,
        crossings=crossings,
        no_crossings=none,
        words=words,
        correct_tags=tags,
        recall=recall,
        precision=precision,
        f1=2 * precision * recall / (precision + recall) if matched else 0.0,
        complete_match=percent(sum(score.is_complete for score in valid), len(valid)),
        average_crossing=crossings / len(valid) if valid else 0.0,
        no_crossing=percent(none, len(valid)),
        few_crossings=percent(few, len(valid)),
        tagging_accuracy=percent(tags, words),
    )
