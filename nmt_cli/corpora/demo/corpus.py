"""The demo corpus: patterns in turn, no sentence twice, combinations held out for valid and test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from nmt_cli.corpora.demo import (
    patterns_complex,
    patterns_describe,
    patterns_infinitive,
    patterns_numbers,
    patterns_places,
    patterns_simple,
    patterns_talk,
)
from nmt_cli.corpora.demo.draw import Draw
from nmt_cli.corpora.demo.held_out import HeldOut
from nmt_cli.corpora.demo.sentences import Pattern

N_TRAIN = 66_000
N_HELD_OUT = 1_000
FAMILIAR = 10

S, C, Z, D = patterns_simple, patterns_complex, patterns_infinitive, patterns_describe
P, N, T = patterns_places, patterns_numbers, patterns_talk
# How often each pattern takes its turn in a round of a hundred or so.
TURNS: dict[int, tuple[Pattern, ...]] = {
    5: (*(S.habitual, S.ongoing, S.happened),),
    4: (*(S.stative, S.happened_first, S.will_happen, S.modal, S.experience, C.because, C.thought),),
    3: (
        *(S.modal_past, S.not_done, S.not_possible, S.yes_no_usual, S.yes_no_past, S.yes_no_modal),
        *(S.pleasure, C.when_state, C.if_weather, C.meanwhile, C.relative_subject, C.relative_object),
        *(C.and_then, Z.in_order_to, Z.tried_to, D.looks, D.compared, D.owned, P.located, D.somebodys),
        *(N.by_the_clock, N.price, N.amount, N.since),
    ),
    2: (
        *(S.not_usual, S.will_not, S.asked_why, S.asked_when, S.asked_where, S.asked_how_often),
        *(S.asked_who, S.asked_which, S.command, S.request, S.proposal, S.feeling, C.although, C.whether),
        *(C.before_that, C.as_child, C.knows_who, C.but_not, C.for_reason, Z.it_is_good_to, Z.no_wish_to),
        *(C.told_by, Z.asked_to, C.why_he_who, C.thought_why, D.asked_looks, D.joined_looks, D.introduced),
        *(P.there_is, P.whereabouts, D.belongs, P.between, N.timetable, N.dated, N.did_on, N.asked_price),
        *(N.age, T.weather, T.temperature, T.fixed, T.with_name, N.how_many),
    ),
    1: (*(S.yes_no_state, S.prohibition, D.superlative, D.tastes, D.gone, N.asked_timetable),),
}


@dataclass(frozen=True)
class Example:
    """A pair with the name of its pattern and the combinations of words in it: kind, word, noun."""

    source: str
    target: str
    pattern: str
    combinations: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class DemoCorpus:
    """The pairs (English, German) of the three splits, in shuffled order."""

    train: list[tuple[str, str]]
    valid: list[tuple[str, str]]
    test: list[tuple[str, str]]


def demo_corpus(*, seed: int = 1) -> DemoCorpus:
    """The corpus; the same for the same seed on every machine."""
    splits = demo_examples(seed=seed)
    pairs = {name: [(one.source, one.target) for one in examples] for name, examples in splits.items()}
    return DemoCorpus(**pairs)


@lru_cache(maxsize=1)  # some seconds of work, asked for by the corpus and by its figures
def demo_examples(*, seed: int = 1) -> dict[str, list[Example]]:
    """The three splits with what is known of each pair: every pair of valid and test holds a reserved one.

    The lists are shared by all callers: copy before changing.
    """
    draw = Draw(seed)
    held = HeldOut(draw, seed=seed)
    train: list[Example] = []
    held_out: list[Example] = []
    for example in _distinct(draw, held):
        reserved = any(held.is_reserved(one) for one in example.combinations)
        if not reserved:
            train.append(example)
        else:
            held_out.append(example)
        if len(train) == N_TRAIN:
            break
    draw.random.shuffle(train)
    draw.random.shuffle(held_out)
    known = _familiar(train)
    held_out = [one for one in held_out if known.issuperset(_words(one))]
    return {"train": train, "valid": held_out[:N_HELD_OUT], "test": held_out[N_HELD_OUT : 2 * N_HELD_OUT]}


def _words(example: Example) -> list[str]:
    """The words of both sides with their language, without capitals and punctuation."""
    sides = (("en", example.source), ("de", example.target))
    return [f"{side} {word.strip('.,?!')}" for side, text in sides for word in text.lower().split()]


def _familiar(train: list[Example]) -> set[str]:
    """The words that occur often enough in train to be learned: held-out is their company, not the words."""
    counts = Counter(word for one in train for word in _words(one))
    return {word for word, count in counts.items() if count >= FAMILIAR}


def _distinct(draw: Draw, held: HeldOut) -> Iterator[Example]:
    """Examples without end, no sentence of either side twice, whatever its capitals."""
    turns = [pattern for often, patterns in TURNS.items() for pattern in patterns for _ in range(often)]
    seen: set[str] = set()
    for source, target in draw.words.phrases:  # each once, those with a name as often as they are drawn
        if "{name}" not in source:
            seen |= {f"en {source.lower()}", f"de {target.lower()}"}
            yield Example(source, target, "fixed", ())
    while True:
        for pattern in turns:
            draw.combinations = []
            source, target = pattern(draw)
            keys = {f"en {source.lower()}", f"de {target.lower()}"}
            if keys & seen:
                continue
            seen |= keys
            yield Example(source, target, pattern.__name__, held.in_sentence(draw.combinations, source))
