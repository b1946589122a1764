"""Drawing words that fit together; every combination that is drawn is noted for the held-out splits."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

from nmt_cli.corpora.demo import german_nouns
from nmt_cli.corpora.demo.lexicon import Adjective, Adverbial, Lexicon, Noun, Verb, lexicon
from nmt_cli.corpora.demo.noun_phrase import Name, NounPhrase, Phrase, Pronoun
from nmt_cli.corpora.demo.word_lists import listed

T = TypeVar("T")

PRONOUNS = ("I", "I", "I", "you", "he", "he", "she", "she", "we", "we", "they", "they")
ASKED = ("you", "you", "you", "he", "she", "they")  # nobody asks what he did himself
POSSESSIVES = ("my", "my", "my", "my", "your", "your", "our", "our", "his", "her", "their")
SPOUSES = {"wife": ("my", "his", "your"), "husband": ("my", "her", "your")}
MALE = frozenset({"his"})
THE = frozenset(
    listed(
        "inroom onroom part transit sight heating lighting wall outside atwater square stop building "
        "workplace town test attend landmark flight outdoor event eatery contest prize"
    )
)
INDEFINITE = frozenset(listed("food fruit drink dish readable writable media song gift drawable knittable plant"))
OWNED = frozenset(listed("vehicle clothes headwear pairwear portable device instrument bag home travel toy pet date"))


class Draw:
    """A source of random choices that remembers the combinations of the sentence being made."""

    def __init__(self, seed: int) -> None:
        """Start from a seed; the order of the lexicon files is part of the result."""
        self.random = random.Random(seed)  # noqa: S311 - sentences, not secrets
        self.words: Lexicon = lexicon()
        self.combinations: list[tuple[str, str, str]] = []
        self.verbs: dict[tuple[str, str, str], tuple[list[Verb], list[float]]] = {}
        self._by_class: dict[frozenset[str], tuple[Noun, ...]] = {}
        self._by_kind: dict[tuple[str, ...], list[Adverbial]] = {}
        self._adjectives = {
            noun: tuple(one for one in self.words.adjectives if one.classes & noun.classes) for noun in self.words.nouns
        }
        self.names = {
            kind: [row for row in self.words.names if row[2] == kind] for kind in ("f", "m", "city", "country")
        }

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
        if kinds not in self._by_kind:
            self._by_kind[kinds] = [one for one in self.words.adverbials if one.kind in kinds]
        return self.one(self._by_kind[kinds])

    def time(self, kind: str, verb: Verb) -> Adverbial:
        """A time of a kind (habit, past, future) of a length that suits the verb."""
        return self.adverbial(kind, f"{kind}-{'long' if 'L' in verb.marks else 'hour'}")

    def subject(self, *, pronouns: float = 0.45, asked: bool = False) -> Phrase:
        """Someone who can act: a pronoun, a name, a relative or a person; whom a question is about when `asked`."""
        if self.chance(pronouns):
            return Pronoun(self.one(ASKED if asked else PRONOUNS))
        if self.chance(0.3):
            return self.name()
        return self.person()

    def person(self, *, plural: float = 0.15) -> NounPhrase:
        """A person or a relative with the determiner that suits."""
        if self.chance(0.45):
            return self.relative_of(self.one(POSSESSIVES))
        noun = self.noun("mine") if self.chance(0.25) else self.noun("person")
        determiner = self._person_determiner(noun)
        return NounPhrase(noun, determiner, is_plural=self.chance(plural))

    def _person_determiner(self, noun: Noun) -> str:
        if "mine" in noun.classes:
            return self.one(POSSESSIVES)
        return self.one(("my", "our", "the")) if "own" in noun.classes else "the"

    def relative_of(self, determiner: str) -> NounPhrase:
        """A member of somebody's family."""
        noun = self.noun("family")
        while determiner not in SPOUSES.get(noun.english, POSSESSIVES):
            noun = self.noun("family")
        plural = "pluralonly" in noun.classes or ("sibling" in noun.classes and self.chance(0.2))
        return NounPhrase(noun, determiner, is_plural=plural)

    def someone_else(self, subject: Phrase, *, strangers: bool = True) -> NounPhrase | Name:
        """A person beside the subject; without `strangers` one whom the subject knows."""
        own = subject.own if subject.own in POSSESSIVES else "my"
        while True:
            other: NounPhrase | Name
            if self.chance(0.45):
                other = self.relative_of(own if self.chance(0.8) else "my")
            elif self.chance(0.3):
                other = NounPhrase(self.noun("mine"), own, is_plural=self.chance(0.15))
            else:
                other = self.person() if strangers and self.chance(0.4) else self.name()
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

    def thing(
        self, noun: Noun, subject: Phrase, verb: Verb, *, habit: bool = False, adjectives: float = 0.25
    ) -> NounPhrase:
        """The noun as an object of the verb, with a determiner and sometimes an adjective."""
        determiner, plural = self._determiner(noun, subject, verb, habit=habit)
        mass = not noun.german_plural
        count = ("", "")
        if plural and determiner == "":
            count = self._count() if not {"b", "g"} & verb.marks and not habit and self.chance(0.5) else count
        adjective = None
        if not {"b", "g"} & verb.marks and self.chance(adjectives) and "family" not in noun.classes:
            adjective = self.adjective(noun, "A")
        return NounPhrase(noun, determiner, is_plural=plural and not mass, adjective=adjective, count=count)

    def _count(self) -> tuple[str, str]:
        return self.one((("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "fünf"), ("six", "sechs")))

    def _determiner(self, noun: Noun, subject: Phrase, verb: Verb, *, habit: bool) -> tuple[str, bool]:
        """The determiner and whether the plural follows it."""
        classes, marks = noun.classes, verb.marks
        if "b" in marks:
            return "", bool(noun.german_plural) and "instrument" not in classes
        if not noun.german_plural:
            return ("the" if "d" in marks else self._mass_determiner(classes, habit=habit)), False
        generic = "g" in marks and not classes & {"person", "dish"}
        plural = generic or "p" in marks or ("-" not in marks and self.chance(0.8 if "bits" in classes else 0.2))
        if generic or classes & {"family", "person", "animal"}:
            return ("", True) if generic else self._living_determiner(noun, subject, verb, plural=plural)
        if classes & THE:
            return ("this" if classes & {"sight", "event", "attend"} and self.chance(0.15) else "the"), False
        if "d" in marks or "pairwear" in classes:
            return self._known_determiner(noun, subject), plural or "pairwear" in classes
        return self._thing_determiner(noun, subject, verb, habit=habit, plural=plural)

    def _thing_determiner(
        self, noun: Noun, subject: Phrase, verb: Verb, *, habit: bool, plural: bool
    ) -> tuple[str, bool]:
        classes = noun.classes
        if habit and classes & INDEFINITE:
            return ("", True) if plural or ("food" in classes and "dish" not in classes) else ("a", False)
        if plural:
            return self.one(("the", "this", "", "some", "" if habit else "many", "")), True
        may_own = "n" not in verb.marks and not ("female" in classes and subject.own in MALE)
        if classes & OWNED and may_own and self.chance(0.5):
            return subject.own, False
        return self.one(("the", "the", "a", "a", "this")), False

    def _living_determiner(self, noun: Noun, subject: Phrase, verb: Verb, *, plural: bool) -> tuple[str, bool]:
        classes = noun.classes
        if "family" in classes:
            own = subject.own if self.chance(0.75) else "my"
            return (own if own in SPOUSES.get(noun.english, POSSESSIVES) else "my"), "pluralonly" in classes
        if "mine" in classes:
            return (subject.own if subject.own in POSSESSIVES and self.chance(0.7) else "my"), plural
        if classes & {"own", "pet"} and "n" not in verb.marks and self.chance(0.5):
            return subject.own, plural
        if "n" in verb.marks and self.chance(0.4):
            return ("" if plural else "a"), plural
        return "the", plural

    def _known_determiner(self, noun: Noun, subject: Phrase) -> str:
        own = noun.classes & (OWNED | {"own"}) and not ("female" in noun.classes and subject.own in MALE)
        return subject.own if own and self.chance(0.5) else self.one(("the", "the", "this"))

    def _mass_determiner(self, classes: frozenset[str], *, habit: bool) -> str:
        if "language" in classes or "sport" in classes or habit:
            return ""
        return "the" if "payable" in classes or self.chance(0.2) else ""

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
