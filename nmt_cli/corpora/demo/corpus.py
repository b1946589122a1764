"""The demo corpus: patterns in turn, no sentence twice, combinations held out for valid and test."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from nmt_cli.corpora.demo import patterns_complex, patterns_describe, patterns_numbers, patterns_simple
from nmt_cli.corpora.demo.draw import Draw
from nmt_cli.corpora.demo.sentences import Pattern

N_TRAIN = 66_000
N_HELD_OUT = 1_000
RESERVED_PERCENT = 8
FREE_NOUNS = 4  # a verb or adjective with no more nouns than this keeps them all in train

S, C, D, N = patterns_simple, patterns_complex, patterns_describe, patterns_numbers
# How often each pattern takes its turn in a round of a hundred or so.
WEIGHTS: dict[Pattern, int] = {
    **{S.habitual: 5, S.stative: 4, S.ongoing: 5, S.happened: 5, S.happened_first: 4, S.will_happen: 4, S.modal: 4},
    **{S.modal_past: 3, S.experience: 4, S.not_done: 3, S.not_usual: 2, S.not_possible: 3, S.will_not: 2},
    **{S.yes_no_usual: 3, S.yes_no_past: 3, S.yes_no_modal: 3, S.yes_no_state: 1, S.asked_why: 2, S.asked_when: 2},
    **{S.asked_where: 2, S.asked_how_often: 2, S.asked_who: 2, S.asked_which: 2, S.command: 2, S.prohibition: 1},
    **{S.request: 2, S.proposal: 2, S.pleasure: 3, S.feeling: 2},
    **{C.because: 4, C.although: 2, C.thought: 4, C.whether: 2, C.when_state: 3, C.if_weather: 3, C.before_that: 2, C.meanwhile: 3},
    **{C.as_child: 2, C.relative_subject: 3, C.relative_object: 3, C.knows_who: 2, C.and_then: 3, C.but_not: 2},
    **{C.for_reason: 2, C.in_order_to: 3, C.tried_to: 3, C.it_is_good_to: 2, C.no_wish_to: 2, C.told_by: 2},
    **{C.asked_to: 2},
    **{D.looks: 3, D.asked_looks: 2, D.joined_looks: 2, D.compared: 3, D.superlative: 1, D.introduced: 2, D.owned: 3},
    **{D.there_is: 2, D.located: 3, D.whereabouts: 2, D.belongs: 2, D.somebodys: 3, D.tastes: 1, D.gone: 1},
    **{D.material: 2},
    **{N.timetable: 2, N.asked_timetable: 1, N.by_the_clock: 3, N.dated: 2, N.did_on: 2, N.price: 3, N.asked_price: 2},
    **{N.age: 2, N.amount: 3, N.since: 3, N.weather: 2, N.temperature: 2, N.fixed: 2, N.with_name: 2, N.how_many: 2},
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


def demo_examples(*, seed: int = 1) -> dict[str, list[Example]]:
    """The three splits with what is known of each pair: valid and test hold only reserved combinations."""
    draw = Draw(seed)
    train: list[Example] = []
    held_out: list[Example] = []
    for example in _distinct(draw):
        reserved = any(is_reserved(draw, *one, seed=seed) for one in example.combinations)
        if not reserved:
            train.append(example)
        elif example.combinations:
            held_out.append(example)
        if len(train) == N_TRAIN:
            break
    draw.random.shuffle(train)
    draw.random.shuffle(held_out)
    return {"train": train, "valid": held_out[:N_HELD_OUT], "test": held_out[N_HELD_OUT : 2 * N_HELD_OUT]}


def _distinct(draw: Draw) -> Iterator[Example]:
    """Examples without end, no sentence of either side twice, whatever its capitals."""
    turns = [pattern for pattern, weight in WEIGHTS.items() for _ in range(weight)]
    seen: set[str] = set()
    while True:
        for pattern in turns:
            draw.combinations = []
            source, target = pattern(draw)
            keys = {f"en {source.lower()}", f"de {target.lower()}"}
            if keys & seen:
                continue
            seen |= keys
            yield Example(source, target, pattern.__name__, tuple(draw.combinations))


def is_reserved(draw: Draw, kind: str, word: str, noun: str, *, seed: int) -> bool:
    """Whether a combination is kept out of train: by digest, so that no order of drawing matters."""
    if kind != "other" and len(_partners(draw, kind, word)) <= FREE_NOUNS:
        return False
    digest = hashlib.sha256(f"{seed}|{kind}|{word}|{noun}".encode()).digest()
    return int.from_bytes(digest[:4]) % 100 < RESERVED_PERCENT


def _partners(draw: Draw, kind: str, word: str) -> tuple[object, ...]:
    """The nouns that can stand with a word."""
    if kind == "adjective":
        classes = next(one.classes for one in draw.words.adjectives if one.english == word)
        return draw.nouns(classes)
    classes = frozenset().union(*(slot.classes for one in draw.words.verbs if one.key == word for slot in one.slots[-1:]))
    if not classes:
        return draw.words.nouns
    towns = draw.names["city"] + draw.names["country"] if classes & {"city", "country"} else []
    return (*draw.nouns(classes), *towns)
