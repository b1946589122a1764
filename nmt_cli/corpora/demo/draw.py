"""Drawing words that fit together; every combination that is drawn is noted for the held-out splits."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

from nmt_cli.corpora.demo import german_nouns
from nmt_cli.corpora.demo.lexicon import Adjective, Adverbial, Lexicon, Noun, Verb, lexicon
from nmt_cli.corpora.demo.noun_phrase import Name, NounPhrase, Phrase, Pronoun

T = TypeVar("T")

PRONOUNS = ("I", "you", "he", "she", "we", "they")
POSSESSIVES = ("my", "your", "his", "her", "our", "their")
THE = frozenset(
    "inroom onroom part transit sight heating lighting wall outside atwater square stop building workplace "
    "town test attend landmark flight outdoor event eatery contest prize".split()
)
INDEFINITE = frozenset("food fruit drink dish readable writable media song gift drawable knittable plant".split())
OWNED = frozenset("vehicle clothes headwear pairwear portable device instrument bag home travel toy pet date".split())


class Draw:
    """A source of random choices that remembers the combinations of the sentence being made."""

    def __init__(self, seed: int) -> None:
        """Start from a seed; the order of the lexicon files is part of the result."""
        self.random = random.Random(seed)  # noqa: S311 - sentences, not secrets
        self.words: Lexicon = lexicon()
        self.combinations: list[tuple[str, str, str]] = []
        self._by_class: dict[frozenset[str], tuple[Noun, ...]] = {}
        self._adjectives = {
            noun: tuple(one for one in self.words.adjectives if one.classes & noun.classes) for noun in self.words.nouns
        }
        self.names = {kind: [row for row in self.words.names if row[2] == kind] for kind in ("f", "m", "city", "country")}

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self.random.random() < probability

    def one(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.random.randrange(len(items))]

    def nouns(self, classes: Iterable[str]) -> tuple[Noun, ...]:
        """All nouns of one of the classes, in the order of the file."""
        wanted = frozenset(classes)
        if wanted not in self._by_class:
            self._by_class[wanted] = tuple(noun for noun in self.words.nouns if noun.classes & wanted)
        return self._by_class[wanted]

    def noun(self, *classes: str) -> Noun:
        """A noun of one of the classes."""
        return self.one(self.nouns(classes))

    def note(self, kind: str, word: str, noun: str) -> None:
        """Remember that `word` was used with `noun`; kind is verb, adjective or other."""
        self.combinations.append((kind, word, noun))

    def name(self) -> Name:
        """A person's name."""
        gender = self.one("fm")
        return Name(self.one(self.names[gender])[0], gender)

    def adverbial(self, *kinds: str) -> Adverbial:
        """An adverbial of one of the kinds."""
        return self.one([one for one in self.words.adverbials if one.kind in kinds])

    def time(self, kind: str, verb: Verb) -> Adverbial:
        """A time of a kind (habit, past, future) of a length that suits the verb."""
        return self.adverbial(kind, f"{kind}-{'long' if 'L' in verb.marks else 'hour'}")

    def subject(self, *, pronouns: float = 0.45) -> Phrase:
        """Someone who can act: a pronoun, a name, a relative or a person."""
        if self.chance(pronouns):
            return Pronoun(self.one(PRONOUNS))
        if self.chance(0.3):
            return self.name()
        return self.person()

    def person(self, *, plural: float = 0.15) -> NounPhrase:
        """A person or a relative with the determiner that suits."""
        if self.chance(0.4):
            return self.relative_of("my" if self.chance(0.4) else self.one(POSSESSIVES))
        noun = self.noun("person")
        determiner = self.one(("my", "our", "the", "the")) if "own" in noun.classes else "the"
        return NounPhrase(noun, determiner, is_plural=self.chance(plural))

    def relative_of(self, determiner: str) -> NounPhrase:
        """A member of somebody's family."""
        noun = self.noun("family")
        if noun.english == "wife" and determiner not in {"my", "his", "your"}:
            determiner = "his"
        if noun.english == "husband" and determiner not in {"my", "her", "your"}:
            determiner = "her"
        plural = "pluralonly" in noun.classes or ("sibling" in noun.classes and self.chance(0.2))
        return NounPhrase(noun, determiner, is_plural=plural)

    def someone_else(self, subject: Phrase) -> NounPhrase | Name:
        """A person beside the subject."""
        while True:
            other: NounPhrase | Name
            if self.chance(0.5):
                other = self.relative_of(subject.own if self.chance(0.7) else "my")
            else:
                other = self.name() if self.chance(0.4) else self.person()
            same_noun = isinstance(other, NounPhrase) and isinstance(subject, NounPhrase) and other.noun == subject.noun
            if not same_noun and other.english() != subject.english():
                return other

    def adjective(self, noun: Noun, position: str) -> Adjective | None:
        """An adjective that may describe the noun before it (A) or after the verb (P), or None."""
        fitting = [one for one in self._adjectives[noun] if position in one.positions]
        if not fitting:
            return None
        chosen = self.one(fitting)
        self.note("adjective", chosen.english, noun.english)
        return chosen

    def thing(self, noun: Noun, subject: Phrase, verb: Verb, *, habit: bool = False, adjectives: float = 0.25) -> NounPhrase:
        """The noun as an object of the verb, with a determiner and sometimes an adjective."""
        determiner, plural = self._determiner(noun, subject, verb, habit=habit)
        mass = not noun.german_plural
        count = ("", "")
        if plural and determiner == "":
            count = self._count(noun) if not {"b"} & verb.marks and not habit and self.chance(0.5) else count
        adjective = None
        if not {"b"} & verb.marks and self.chance(adjectives) and "family" not in noun.classes:
            adjective = self.adjective(noun, "A")
        return NounPhrase(noun, determiner, is_plural=plural and not mass, adjective=adjective, count=count)

    def _count(self, noun: Noun) -> tuple[str, str]:
        del noun
        return self.one((("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "fünf"), ("six", "sechs")))

    def _determiner(self, noun: Noun, subject: Phrase, verb: Verb, *, habit: bool) -> tuple[str, bool]:
        classes = noun.classes
        if "b" in verb.marks:
            return "", bool(noun.german_plural) and "instrument" not in classes
        if "family" in classes:
            relative = self.relative_of(subject.own if self.chance(0.75) else "my")
            return self._relative_determiner(noun, relative.determiner), "pluralonly" in classes
        if not noun.german_plural:
            return self._mass_determiner(classes, habit=habit), False
        plural = "-" not in verb.marks and self.chance(0.2)
        if "pairwear" in classes:
            return self.one((subject.own, subject.own, "the", "these")).replace("these", "this"), True
        if classes & {"person", "animal"}:
            return self._living_determiner(noun, subject, verb, habit=habit), plural
        if classes & THE:
            return ("this" if classes & {"sight", "event", "attend"} and self.chance(0.15) else "the"), False
        if habit and classes & INDEFINITE:
            return ("", True) if plural or "food" in classes and "dish" not in classes else ("a", False)
        if plural:
            return self.one(("the", "these", "", "some", "many" if not habit else "", "")).replace("these", "this"), True
        if classes & OWNED and "n" not in verb.marks and self.chance(0.5):
            return subject.own, False
        return self.one(("the", "the", "a", "a", "this")), False

    def _relative_determiner(self, noun: Noun, determiner: str) -> str:
        allowed = {"wife": ("my", "his", "your"), "husband": ("my", "her", "your")}.get(noun.english)
        return determiner if allowed is None or determiner in allowed else allowed[1]

    def _mass_determiner(self, classes: frozenset[str], *, habit: bool) -> str:
        if "language" in classes or "sport" in classes or habit:
            return ""
        return "the" if "payable" in classes or self.chance(0.3) else ""

    def _living_determiner(self, noun: Noun, subject: Phrase, verb: Verb, *, habit: bool) -> str:
        del habit
        if noun.classes & {"own", "pet"} and "n" not in verb.marks and self.chance(0.5):
            return subject.own
        return "a" if "n" in verb.marks and self.chance(0.4) else "the"

    def place_of(self, noun: Noun, *, direction: bool) -> tuple[str, str]:
        """Where (or where to) a noun of a class of places is: both texts."""
        kind = next(one for one in self.words.places if one in noun.classes)
        return self.place_text(kind, NounPhrase(noun, "the"), direction=direction)

    def place_text(self, kind: str, phrase: NounPhrase, *, direction: bool) -> tuple[str, str]:
        """The prepositions of a class of places before a phrase."""
        place = self.words.places[kind]
        if direction:
            case = "dat" if place.german_to == "zu" else "acc"
            german = german_nouns.prepositional(place.german_to, phrase.german(case))
            return f"{place.english_to} {phrase.english()}", german
        german = german_nouns.prepositional(place.german_where, phrase.german("dat"))
        return f"{place.english_where} {phrase.english()}", german

    def town(self, kind: str, *, direction: bool) -> tuple[str, str, str]:
        """A city or country by name: English name and both texts with their prepositions."""
        english, german, _ = self.one(self.names[kind])
        place = self.words.places[kind]
        if direction:
            return english, f"{place.english_to} {english}", f"{place.german_to} {german}"
        return english, f"{place.english_where} {english}", f"{place.german_where} {german}"
