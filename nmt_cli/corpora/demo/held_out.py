"""Which combinations of words are kept out of train, and which of those drawn stand in a sentence."""

from __future__ import annotations

import hashlib

from nmt_cli.corpora.demo import english
from nmt_cli.corpora.demo.draw import Draw
from nmt_cli.corpora.demo.lexicon import Verb

RESERVED_PERCENT = 8
FREE_NOUNS = 4  # a verb or adjective with no more nouns than this keeps them all in train

Combination = tuple[str, str, str]  # kind (verb, adjective, other), word, noun


class HeldOut:
    """The choice of the reserved combinations: by digest, so that no order of drawing matters."""

    def __init__(self, draw: Draw, *, seed: int) -> None:
        """Take the lexicon of a draw; the seed decides which combinations are reserved."""
        words = draw.words
        self._draw = draw
        self._seed = seed
        self._known: dict[Combination, bool] = {}
        self._adjectives = {one.english: one for one in words.adjectives}
        self._verbs: dict[str, list[Verb]] = {}
        for one in words.verbs:
            self._verbs.setdefault(one.key, []).append(one)
        self._nouns = {one.english: {one.english, one.plural} - {""} for one in words.nouns}

    def is_reserved(self, combination: Combination) -> bool:
        """Whether a combination is kept out of train."""
        if combination not in self._known:
            kind, word, noun = combination
            digest = hashlib.sha256(f"{self._seed}|{kind}|{word}|{noun}".encode()).digest()
            chosen = int.from_bytes(digest[:4], "big") % 100 < RESERVED_PERCENT
            self._known[combination] = chosen and self._n_partners(kind, word) > FREE_NOUNS
        return self._known[combination]

    def _n_partners(self, kind: str, word: str) -> int:
        """How many nouns can stand with a word."""
        draw = self._draw
        if kind == "adjective":
            return len(draw.nouns(self._adjectives[word].classes))
        classes = {name for one in self._verbs.get(word, []) for slot in one.slots[-1:] for name in slot.classes}
        if not classes:
            return len(draw.words.nouns)
        return len(draw.nouns(classes)) + sum(len(draw.names[kind]) for kind in ("city", "country") if kind in classes)

    def in_sentence(self, noted: list[Combination], source: str) -> tuple[Combination, ...]:
        """The noted combinations that the sentence holds: a draft that was thrown away leaves its notes behind."""
        text = f" {source.lower().translate(str.maketrans('.,?!', '    ')).replace(chr(39) + 's', '')} "
        text = " ".join(f" {text} ".split())
        return tuple(dict.fromkeys(one for one in noted if self._holds(f" {text} ", *one)))

    def _holds(self, text: str, kind: str, word: str, noun: str) -> bool:
        def found(forms: set[str]) -> bool:
            return any(f" {form.lower()} " in text for form in forms)

        if not found(self._nouns.get(noun, {noun})):
            return False
        if kind == "adjective":
            one = self._adjectives[word]
            return found({one.english, one.comparative, one.superlative})
        verbs = self._verbs.get(word, []) if kind == "verb" else []
        return not verbs or any(found(_forms(one.english)) for one in verbs)


def _forms(verb: english.EnglishVerb) -> set[str]:
    """All forms of the inflected word of a verb."""
    head = verb.head
    forms = {head, english.third_person(head), verb.past, verb.participle, english.progressive(head)}
    return forms | ({"am", "are", "was", "were"} if head == "be" else set())
