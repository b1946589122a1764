"""Noun phrases that know both languages: pronouns, names and nouns with what stands around them."""

from __future__ import annotations

from dataclasses import dataclass

from nmt_cli.corpora.demo import english, german_nouns
from nmt_cli.corpora.demo.lexicon import Adjective, Noun

PERSONS = {"I": 1, "you": 2, "we": 1}
OBJECT_FORMS = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
OWN = {"I": "my", "you": "your", "he": "his", "she": "her", "we": "our", "they": "their"}
RELATIVE_FORMS = {"f": "die", "n": "das", "p": "die"}


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun, named by its English subject form."""

    word: str

    @property
    def person(self) -> int:
        """Grammatical person."""
        return PERSONS.get(self.word, 3)

    @property
    def is_plural(self) -> bool:
        """Whether the verb stands in the plural."""
        return self.word in {"we", "they"}

    @property
    def own(self) -> str:
        """The possessive that refers back to it."""
        return OWN[self.word]

    @property
    def definite(self) -> bool:
        """Pronouns are definite."""
        return True

    def english(self, *, is_object: bool = False) -> str:
        """The English form."""
        return OBJECT_FORMS.get(self.word, self.word) if is_object else self.word

    def german(self, case: str) -> str:
        """The German form in a case."""
        return german_nouns.PRONOUNS[self.word][german_nouns.CASES.index(case)]


@dataclass(frozen=True)
class Name:
    """A person's name, which has one form in all cases."""

    name: str
    gender: str

    person = 3
    is_plural = False
    definite = True

    @property
    def own(self) -> str:
        """The possessive that refers back to it."""
        return "her" if self.gender == "f" else "his"

    def english(self, *, is_object: bool = False) -> str:
        """The name, as subject or object."""
        del is_object
        return self.name

    def german(self, case: str) -> str:
        """The name, in whatever case."""
        del case
        return self.name


@dataclass(frozen=True)
class Question:
    """*who* as a subject: takes the third person singular."""

    person = 3
    is_plural = False
    definite = True
    own = "his"

    def english(self, *, is_object: bool = False) -> str:
        """The question word."""
        del is_object
        return "who"

    def german(self, case: str) -> str:
        """The question word in its case."""
        return {"nom": "wer", "acc": "wen", "dat": "wem"}[case]


@dataclass(frozen=True)
class Relative:
    """A relative pronoun in the place of a noun phrase, from which it takes gender and number."""

    antecedent: NounPhrase

    person = 3
    definite = True

    @property
    def is_plural(self) -> bool:
        """As its antecedent."""
        return self.antecedent.is_plural

    @property
    def own(self) -> str:
        """As its antecedent."""
        return self.antecedent.own

    def english(self, *, is_object: bool = False) -> str:
        """Who for persons as subjects, else that."""
        human = self.antecedent.noun.classes & {"person", "family"}
        return "who" if human and not is_object else "that"

    def german(self, case: str) -> str:
        """The relative pronoun, which declines like the article except in the dative plural."""
        if self.is_plural and case == "dat":
            return german_nouns.RELATIVE_DATIVE_PLURAL
        return german_nouns.determiner("the", self.antecedent.german_gender, case)


@dataclass(frozen=True)
class NounPhrase:
    """A noun with determiner, adjective, owner and a relative clause in both languages.

    `determiner` is an English word (the, a, my, this, some, no ...) or empty; `owner` stands before the
    noun in English (my brother's car) and as a genitive after it in German, a name before it in both;
    `count` is a pair of number words; `measure` a noun of which this one is the content (a cup of tea).
    """

    noun: Noun
    determiner: str = "the"
    is_plural: bool = False
    adjective: Adjective | None = None
    owner: NounPhrase | Name | None = None
    relative: tuple[str, str] = ("", "")
    count: tuple[str, str] = ("", "")
    degree: str = ""

    person = 3

    @property
    def german_gender(self) -> str:
        """m, f, n, or p for the plural."""
        return "p" if self.is_plural else self.noun.gender

    @property
    def own(self) -> str:
        """The possessive that refers back to it."""
        if self.is_plural:
            return "their"
        if self.noun.english == "girl":
            return "the"  # she in English, es in German: no possessive suits both
        return {"m": "his", "f": "her", "n": "his"}[self.noun.gender]

    @property
    def definite(self) -> bool:
        """Whether it names something known."""
        return self.owner is not None or self.determiner in {*OWN.values(), "the", "this", "which", "every"}

    def english(self, *, is_object: bool = False) -> str:
        """The English words; `is_object` changes nothing for nouns."""
        del is_object
        adjective = self._english_adjective()
        words = [self.count[0], adjective, self.noun.plural if self.is_plural else self.noun.english]
        body = " ".join(word for word in words if word)
        if self.owner is not None:
            body = f"{english.possessive(self.owner.english(), plural=self.owner.is_plural)} {body}"
        elif self.determiner == "a":
            body = english.with_article(body)
        elif self.determiner:
            word = {"this": "these"}.get(self.determiner, self.determiner) if self.is_plural else self.determiner
            body = f"{word} {body}"
        return f"{body} {self.relative[0]}" if self.relative[0] else body

    def _english_adjective(self) -> str:
        if self.adjective is None:
            return ""
        if self.degree == "superlative":
            return self.adjective.superlative
        return self.adjective.comparative if self.degree == "comparative" else self.adjective.english

    def german(self, case: str) -> str:
        """The German words in a case."""
        gender = self.german_gender
        by_name = isinstance(self.owner, Name)
        word = "" if by_name else self.determiner if self.owner is None else "the"
        parts = [german_nouns.determiner(word, gender, case), self.count[1]]
        if by_name and self.owner is not None:
            parts.append(german_nouns.possessive_name(self.owner.german("gen")))
        if self.adjective is not None:
            parts.append(german_nouns.adjective(self._german_adjective(), word, gender, case))
        parts.append(self._german_noun(case))
        if self.owner is not None and not by_name:
            parts.append(self.owner.german("gen"))
        body = " ".join(part for part in parts if part)
        return f"{body}, {self.relative[1]}," if self.relative[1] else body

    def _german_adjective(self) -> str:
        if self.adjective is None:
            return ""
        if self.degree == "superlative":
            return self.adjective.german_superlative
        return self.adjective.german_comparative if self.degree == "comparative" else self.adjective.german

    def _german_noun(self, case: str) -> str:
        noun = self.noun
        return german_nouns.noun_form(
            noun.german, noun.german_plural, noun.gender, case, is_plural=self.is_plural, weak=noun.weak
        )


Phrase = Pronoun | Name | Question | Relative | NounPhrase
