"""Rules of grammar checked over all sentences, by pattern matching that knows nothing of how they were made."""

from __future__ import annotations

import re

import pytest

from nmt_cli.corpora.demo.corpus import Example, demo_examples
from nmt_cli.corpora.demo.lexicon import lexicon

EIN = "(?:k?ein|mein|dein|sein|ihr|unser)"


@pytest.fixture(scope="module")
def everything() -> list[Example]:
    return [one for examples in demo_examples().values() for one in examples]


@pytest.fixture(scope="module")
def genders() -> dict[str, str]:
    """Nouns whose singular cannot be mistaken for a plural or for an oblique form."""
    return {
        one.german: one.gender
        for one in lexicon().nouns
        if one.german != one.german_plural and not one.weak and not one.german.endswith("en")
    }


@pytest.mark.parametrize(
    ("article", "ending", "allowed"),
    [
        (rf"{EIN}en", "en", "m"),  # accusative of the masculine; plural forms are another word
        (rf"{EIN}e", "e", "f"),
        (rf"{EIN}em", "en", "mn"),
        (rf"{EIN}er", "en", "f"),
        ("das", "e", "n"),
        ("dem", "en", "mn"),
        ("des", "en", "mn"),
        ("dieses", "e", "n"),
        ("diesem", "en", "mn"),
        ("die", "e", "f"),
        ("zum", "en", "mn"),
        ("zur", "en", "f"),
        ("im", "en", "mn"),
        ("ins", "e", "n"),
    ],
)
def test_article_adjective_and_noun_agree_everywhere(
    everything: list[Example], genders: dict[str, str], article: str, ending: str, allowed: str
) -> None:
    # after a comma, der die das are relative pronouns
    shape = re.compile(rf"(?<!, )\b(?i:{article}) (?:[a-zäöüß]+{ending} )?([A-ZÄÖÜ][\w-]+)\b")
    found = [(match[1], one.target) for one in everything for match in shape.finditer(one.target)]
    wrong = [pair for pair in found if pair[0] in genders and genders[pair[0]] not in allowed]
    assert len(found) >= 10
    assert wrong == []


def test_a_and_an_follow_the_sound(everything: list[Example]) -> None:
    wrong = re.compile(r"\ba (?!uni|use|one)[aeiou]|\ban (?!hour)(?:[^aeiou]|uni|use|one)", re.IGNORECASE)
    assert [one.source for one in everything if wrong.search(one.source)] == []


def test_the_third_person_singular_has_its_s(everything: list[Example]) -> None:
    wrong = re.compile(r"^(?:He|She) (?:do|have|go|want|like|need|know|think)\b")
    assert [one.source for one in everything if wrong.search(one.source)] == []


@pytest.mark.parametrize(("english", "german"), [("because", "weil"), ("although", "obwohl")])
def test_the_verb_is_the_last_word_of_a_reason(everything: list[Example], english: str, german: str) -> None:
    finite = {"bin", "bist", "ist", "sind", "habe", "hast", "hat", "haben", "war", "warst", "waren"}
    finite |= {"hatte", "hattest", "hatten"}
    reasons = [one for one in everything if f", {german} " in one.target]
    assert len(reasons) > 500
    assert [one.target for one in reasons if one.target.rstrip(".").split()[-1] not in finite] == []
    assert all(english in one.source for one in reasons)


def test_a_comma_stands_before_every_subordinate_clause(everything: list[Example]) -> None:
    inner = re.compile(r"[^,] (?:dass|weil|obwohl|bevor|während|ob|um (?!\w+ Uhr)[a-zäöü]+ .* zu \w+\.)\b")
    odd = [one.target for one in everything if inner.search(one.target) and " um " not in one.target]
    assert odd == []


def test_the_perfect_of_motion_is_formed_with_sein(everything: list[Example]) -> None:
    motion = re.compile(r"\b(?:habe|hast|hat|haben)\b[^,]*\b(?:gegangen|gefahren|geflogen|gereist|gekommen)[.?]")
    assert [one.target for one in everything if motion.search(one.target)] == []
    accusative = re.compile(r"\b(?:bin|bist|ist|sind)\b[^,]*\b(?:gekauft|gelesen|gesehen|repariert|angerufen)[.?]")
    assert [one.target for one in everything if accusative.search(one.target)] == []
