"""Sentences that say how, where and whose things are."""

from __future__ import annotations

from collections.abc import Sequence

from nmt_cli.corpora.demo import clause as english
from nmt_cli.corpora.demo import german_clause as german
from nmt_cli.corpora.demo.clause import Clause
from nmt_cli.corpora.demo.draw import OWNED, POSSESSIVES, Draw
from nmt_cli.corpora.demo.lexicon import Adjective, Adverbial, Noun
from nmt_cli.corpora.demo.noun_phrase import Name, NounPhrase, Pronoun
from nmt_cli.corpora.demo.sentences import BE, HAVE, Pair, pair, told
from nmt_cli.corpora.demo.sentences import grade as graded
from nmt_cli.corpora.demo.word_lists import listed

THING = listed(
    "clothes pairwear vehicle device furniture readable portable home tool tableware instrument pet town inroom"
)
THINGS = [
    *THING,
    "food",
    "fruit",
    "drink",
    "sight",
    "hotel",
    "restaurant",
    "café",
    "media",
    "event",
    "conversation",
    "cutlery",
    "plant",
    "luggage",
    "animal",
    "person",
]
BELONGINGS = listed(
    "clothes pairwear headwear vehicle device portable home instrument pet luggage tool printed furniture"
)
TASTES = (
    *(("good", "gut"), ("very good", "sehr gut"), ("really good", "wirklich gut"), ("wonderful", "wunderbar")),
    *(("terrible", "furchtbar"), ("strange", "seltsam"), ("bitter", "bitter")),
)


def _described(draw: Draw, classes: Sequence[str], position: str) -> tuple[Noun, Adjective]:
    while True:
        noun = draw.noun(*classes)
        adjective = draw.adjective(noun, position)
        if adjective is not None:
            return noun, adjective


def known(draw: Draw, noun: Noun) -> NounPhrase:
    """The noun with the, this or a possessive."""
    plural = bool(noun.german_plural) and ("pairwear" in noun.classes or draw.chance(0.2))
    if "pluralonly" in noun.classes:
        plural = True
    if noun.classes & {"family", "mine"}:
        return NounPhrase(noun, draw.one(POSSESSIVES), is_plural=plural)
    determiners = ["the", "the", "this"]
    if noun.classes & OWNED:
        determiners += ["my", "your", "his", "her", "our", "their"]
    return NounPhrase(noun, draw.one(determiners), is_plural=plural)


def looks(draw: Draw) -> Pair:
    """The soup is too hot."""
    noun, adjective = _described(draw, THINGS, "P")
    grade = graded(draw, adjective.english)
    made = Clause(known(draw, noun), BE, predicate=(grade[0] + adjective.english, grade[1] + adjective.german))
    if draw.chance(0.4):
        made = made.but(tense="past")
    if draw.chance(0.25) and grade[0] in {"", "very ", "too "}:
        made = made.but(negated=True)
    return pair(*told(made))


def asked_looks(draw: Draw) -> Pair:
    """Is your new bicycle expensive?"""
    noun, adjective = _described(draw, THINGS, "P")
    made = Clause(known(draw, noun), BE, predicate=(adjective.english, adjective.german))
    made = made.but(tense="past") if draw.chance(0.4) else made
    return pair(english.question(made), german.question(made), "?")


def joined_looks(draw: Draw) -> Pair:
    """The hotel was expensive, but very clean."""
    noun, first = _described(draw, THINGS, "P")
    second = draw.adjective(noun, "P")
    while second is None or second.english == first.english or second.english in OPPOSITES.get(first.english, ()):
        noun, first = _described(draw, THINGS, "P")
        second = draw.adjective(noun, "P")
    both = (f"{first.english} and {second.english}", f"{first.german} und {second.german}")
    made = Clause(known(draw, noun), BE, predicate=both, tense=draw.one(("present", "past")))
    return pair(*told(made))


_PAIRS = (
    *(("big", "small"), ("new", "old"), ("young", "old"), ("happy", "sad"), ("sick", "healthy"), ("lazy", "diligent")),
    *(("quiet", "loud"), ("hot", "cold"), ("expensive", "cheap"), ("beautiful", "ugly"), ("dirty", "clean")),
    *(("fast", "slow"), ("interesting", "boring"), ("exciting", "boring"), ("long", "short"), ("bright", "dark")),
    *(
        ("difficult", "simple"),
        ("empty", "full"),
        ("hot", "warm"),
        ("cold", "warm"),
        ("funny", "boring"),
        ("sad", "funny"),
    ),
    *(("new", "broken"), ("ugly", "elegant"), ("happy", "angry"), ("tasty", "spicy"), ("interesting", "exciting")),
    *(
        ("happy", "sick"),
        ("cute", "ugly"),
        ("sweet", "spicy"),
        ("tired", "healthy"),
        ("sad", "satisfied"),
        ("angry", "satisfied"),
    ),
    *(("modern", "old"), ("broken", "comfortable"), ("broken", "practical"), ("fast", "broken"), ("slow", "broken")),
)
OPPOSITES: dict[str, set[str]] = {}
for _one, _other in _PAIRS:
    OPPOSITES.setdefault(_one, set()).add(_other)
    OPPOSITES.setdefault(_other, set()).add(_one)


def compared(draw: Draw) -> Pair:
    """My suitcase is heavier than your bag."""
    noun, adjective = _described(draw, THINGS, "P")
    others = [one for one in draw.nouns(noun.classes & adjective.classes or adjective.classes) if one != noun]
    if not others or adjective.english in {"broken", "full", "empty", "famous"}:
        return compared(draw)
    other = draw.one(others)
    draw.note("adjective", adjective.english, other.english)
    first, second = known(draw, noun), known(draw, other)
    if draw.chance(0.3):
        predicate = (
            f"as {adjective.english} as {second.english()}",
            f"so {adjective.german} wie {second.german('nom')}",
        )
        made = Clause(first, BE, predicate=predicate, negated=True)
    else:
        than = (
            f"{adjective.comparative} than {second.english()}",
            f"{adjective.german_comparative} als {second.german('nom')}",
        )
        made = Clause(first, BE, predicate=than)
    return pair(*told(made))


def superlative(draw: Draw) -> Pair:
    """This is the oldest church in the city."""
    noun, adjective = _described(draw, [*THING, "sight", "building", "landmark", "plant"], "AP")
    if adjective.english in frozenset(listed("new broken full empty lost blue red green black white brown yellow")):
        return superlative(draw)
    best = NounPhrase(noun, "the", adjective=adjective, degree="superlative")
    scope = draw.one(
        (
            ("in the city", "in der Stadt"),
            ("in the village", "im Dorf"),
            ("in the world", "der Welt"),
            ("in our family", "in unserer Familie"),
            ("of all", "von allen"),
        )
        if noun.classes & {"sight", "building", "landmark"}
        else (("in the world", "der Welt"), ("of all", "von allen"))
    )
    return pair(f"this is {best.english()} {scope[0]}", f"das ist {best.german('nom')} {scope[1]}")


def introduced(draw: Draw) -> Pair:
    """That is not my new coat."""
    noun, adjective = _described(draw, BELONGINGS, "A")
    phrase = NounPhrase(noun, draw.one(("my", "your", "his", "her", "our", "their", "a")), adjective=adjective)
    if draw.chance(0.25):
        if phrase.determiner in {"my", "our"}:
            phrase = NounPhrase(noun, "your", adjective=adjective)
        return pair(f"is this {phrase.english()}", f"ist das {phrase.german('nom')}", "?")
    if draw.chance(0.25) and phrase.determiner != "a":
        return pair(f"this is not {phrase.english()}", f"das ist nicht {phrase.german('nom')}")
    return pair(f"this is {phrase.english()}", f"das ist {phrase.german('nom')}")


def owned(draw: Draw) -> Pair:
    """My sister has two black cats."""
    noun = draw.noun(*BELONGINGS, "sibling")
    draw.note("verb", "have/haben", noun.english)
    adjective = None if "family" in noun.classes or draw.chance(0.3) else draw.adjective(noun, "A")
    many = draw.chance(0.4) or "pairwear" in noun.classes
    counted = many and "pairwear" not in noun.classes and draw.chance(0.7)
    count = draw.one((("two", "zwei"), ("three", "drei"), ("four", "vier"))) if counted else ("", "")
    determiner = "" if many else "a"
    if many and not count[0]:
        determiner = draw.one(("many", "some"))
    phrase = NounPhrase(noun, determiner, is_plural=many, adjective=adjective, count=count)
    made = Clause(draw.subject(), HAVE, complements=(english.Complement(phrase, "acc"),))
    if draw.chance(0.2):
        return pair(english.question(made), german.question(made), "?")
    return pair(*told(made.but(negated=determiner == "a" and draw.chance(0.4))))


def belongs(draw: Draw) -> Pair:
    """The blue jacket belongs to my cousin."""
    noun, adjective = _described(draw, BELONGINGS, "A")
    plural = "pairwear" in noun.classes
    phrase = NounPhrase(
        noun, draw.one(("the", "this")), adjective=adjective if draw.chance(0.7) else None, is_plural=plural
    )
    chosen = next(one for one in draw.words.verbs if one.aspect == "B")
    owner = Pronoun(draw.one(("I", "you", "he", "she", "we", "they"))) if draw.chance(0.3) else draw.person(plural=0)
    whom = draw.name() if draw.chance(0.2) else owner
    made = Clause(phrase, chosen, complements=(english.Complement(whom, "dat", "", ""),))
    if draw.chance(0.25):
        return pair(english.question(made), german.question(made), "?")
    return pair(*told(made.but(negated=draw.chance(0.15))))


def somebodys(draw: Draw) -> Pair:
    """My brother's car is very old. / Anna's dress was expensive."""
    noun, adjective = _described(draw, BELONGINGS, "P")
    owner: NounPhrase | Name = draw.name() if draw.chance(0.4) else draw.person(plural=0)
    while isinstance(owner, NounPhrase) and owner.is_plural:
        owner = draw.person(plural=0)
    phrase = NounPhrase(noun, "the", owner=owner, is_plural="pairwear" in noun.classes)
    grade = graded(draw, adjective.english)
    made = Clause(phrase, BE, predicate=(grade[0] + adjective.english, grade[1] + adjective.german))
    return pair(*told(made.but(tense=draw.one(("present", "past")))))


def tastes(draw: Draw) -> Pair:
    """This soup tastes really good."""
    noun = draw.noun("food", "fruit", "drink")
    draw.note("verb", "taste/schmecken", noun.english)
    phrase = known(draw, noun)
    good = draw.one(TASTES)
    words = ("taste", "schmecken") if phrase.is_plural else ("tastes", "schmeckt")
    return pair(f"{phrase.english()} {words[0]} {good[0]}", f"{phrase.german('nom')} {words[1]} {good[1]}")


def gone(draw: Draw) -> Pair:
    """Where are my new shoes?"""
    noun, adjective = _described(draw, BELONGINGS, "A")
    plural = "pairwear" in noun.classes
    phrase = NounPhrase(
        noun,
        draw.one(("my", "your", "the", "our")),
        adjective=adjective if draw.chance(0.6) else None,
        is_plural=plural,
    )
    made = Clause(phrase, BE, time=Adverbial("", "", ""))
    return pair(english.question(made, "where"), german.question(made, "wo"), "?")
