"""Sentences that say where things and people are."""

from __future__ import annotations

from nmt_cli.corpora.demo import clause as english
from nmt_cli.corpora.demo import german_clause as german
from nmt_cli.corpora.demo import german_nouns
from nmt_cli.corpora.demo.clause import Clause
from nmt_cli.corpora.demo.draw import Draw
from nmt_cli.corpora.demo.noun_phrase import NounPhrase
from nmt_cli.corpora.demo.patterns_describe import known
from nmt_cli.corpora.demo.sentences import BE, Pair, pair, told


def there_is(draw: Draw) -> Pair:
    """There are two good bakeries near the station."""
    noun = draw.noun("shop", "eatery", "near")
    other = draw.noun("near")
    while other == noun or noun.english == "station":
        noun, other = draw.noun("shop", "eatery", "near"), draw.noun("near")
    draw.note("other", noun.english, other.english)
    many = draw.chance(0.3)
    adjective = draw.adjective(noun, "A") if draw.chance(0.5) else None
    phrase = NounPhrase(
        noun, "" if many else "a", is_plural=many, adjective=adjective, count=("two", "zwei") if many else ("", "")
    )
    near = NounPhrase(other, "the")
    place = (f"near {near.english()}", f"in der Nähe {near.german('gen')}")
    verb = "are" if many else "is"
    if draw.chance(0.3):
        return pair(f"{verb} there {phrase.english()} {place[0]}", f"gibt es {phrase.german('acc')} {place[1]}", "?")
    if draw.chance(0.2) and not many:
        none = NounPhrase(noun, "no", adjective=adjective)
        return pair(
            f"there is no {none.english().removeprefix('no ')} {place[0]}", f"es gibt {none.german('acc')} {place[1]}"
        )
    return pair(f"there {verb} {phrase.english()} {place[0]}", f"es gibt {phrase.german('acc')} {place[1]}")


def located(draw: Draw) -> Pair:
    """Your keys are on the table in the kitchen."""
    thing = draw.noun("flat", "tableware", "portable")
    spot, room = draw.noun("surface"), draw.noun("kitchen", "living_room", "bedroom")
    draw.note("other", thing.english, spot.english)
    first = known(draw, thing)
    place = draw.place_of(spot, direction=False)
    inside = draw.place_of(room, direction=False) if draw.chance(0.6) else ("", "")
    made = Clause(first, BE, predicate=(english.join([place[0], inside[0]]), english.join([place[1], inside[1]])))
    made = made.but(tense="past") if draw.chance(0.25) else made
    if draw.chance(0.2):
        return pair(english.question(made), german.question(made), "?")
    return pair(*told(made.but(negated=draw.chance(0.15))))


def whereabouts(draw: Draw) -> Pair:
    """My parents are in the garden, and the children are at the playground."""
    asked = draw.chance(0.25)
    subject = draw.subject(asked=asked)
    noun = draw.noun("inroom", "outside", "atwater", "square", "stop", "building", "workplace", "onroom")
    place = draw.place_of(noun, direction=False)
    draw.note("other", "be", noun.english)
    tense = draw.one(("present", "past"))
    time = draw.adverbial("past", "past-hour") if tense == "past" else None
    made = Clause(subject, BE, tense=tense, time=time, predicate=place, negated=draw.chance(0.2))
    if asked:
        return pair(english.question(made), german.question(made), "?")
    return pair(*told(made))


def between(draw: Draw) -> Pair:
    """How to get somewhere: the hotel is between the station and the park."""
    first, second, third = (draw.noun("near") for _ in range(3))
    while len({first.english, second.english, third.english}) < 3:  # noqa: PLR2004 - three places
        first, second, third = (draw.noun("near") for _ in range(3))
    draw.note("other", first.english, second.english)
    a, b, c = (NounPhrase(one, "the") for one in (first, second, third))
    choice = draw.random.randrange(4)
    verb = draw.one((("is", "ist"), ("was", "war")))
    if choice == 0:
        place = (f"between {b.english()} and {c.english()}", f"zwischen {b.german('dat')} und {c.german('dat')}")
    elif choice == 1:
        place = (f"next to {b.english()}", f"neben {b.german('dat')}")
    elif choice == 2:  # noqa: PLR2004 - the third of four
        place = (f"behind {b.english()}", f"hinter {b.german('dat')}")
    else:
        place = (f"opposite {b.english()}", f"gegenüber {german_nouns.prepositional('von', b.german('dat'))}")
    return pair(f"{a.english()} {verb[0]} {place[0]}", f"{a.german('nom')} {verb[1]} {place[1]}")
