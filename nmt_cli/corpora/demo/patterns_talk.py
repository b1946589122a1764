"""Weather, greetings, fixed phrases and sentences that call somebody by name."""

from __future__ import annotations

from nmt_cli.corpora.demo import clause as english
from nmt_cli.corpora.demo import german_clause as german
from nmt_cli.corpora.demo.clause import Clause
from nmt_cli.corpora.demo.draw import Draw
from nmt_cli.corpora.demo.drawn_clauses import clause, verb
from nmt_cli.corpora.demo.lexicon import Adverbial
from nmt_cli.corpora.demo.noun_phrase import Pronoun
from nmt_cli.corpora.demo.sentences import Pair, pair, told

SOMETIMES = (Adverbial("often", "oft", ""), Adverbial("sometimes", "manchmal", ""), Adverbial("rarely", "selten", ""))


def weather(draw: Draw) -> Pair:
    """It snowed in Hamburg last night."""
    chosen = verb(draw, "r")
    town, where, wo = draw.town(draw.one(("city", "city", "country")), direction=False)
    draw.note("other", chosen.key, town)
    tense = draw.one(("past", "future", "present", "progressive"))
    made = Clause(Pronoun("it"), chosen, tense=tense, place=(where, wo))
    if tense == "progressive":
        return pair(english.statement(made), german.statement(made.but(adverb=Adverbial("", "gerade", ""))))
    if tense == "present":
        return pair(*told(made.but(adverb=draw.one(SOMETIMES), time=None)))
    made = made.but(time=draw.adverbial(tense, f"{tense}-hour"), negated=draw.chance(0.15))
    return pair(*told(made.but(time_first=not made.negated and draw.chance(0.4))))


def temperature(draw: Draw) -> Pair:
    """Yesterday it was very cold in Berlin."""
    town, where, wo = draw.town(draw.one(("city", "country")), direction=False)
    word = draw.one(
        (
            ("cold", "kalt"),
            ("warm", "warm"),
            ("hot", "heiß"),
            ("windy", "windig"),
            ("cloudy", "bewölkt"),
            ("sunny", "sonnig"),
        )
    )
    draw.note("other", word[0], town)
    grade = draw.one((("", ""), ("very ", "sehr "), ("too ", "zu "), ("really ", "wirklich ")))
    time, be = draw.one(((None, ("is", "ist")), (draw.adverbial("past", "past-long"), ("was", "war"))))
    if time is None:
        return pair(f"it is {grade[0]}{word[0]} {where} today", f"es ist heute {wo} {grade[1]}{word[1]}")
    return pair(
        f"{time.english} it {be[0]} {grade[0]}{word[0]} {where}", f"{time.german} {be[1]} es {wo} {grade[1]}{word[1]}"
    )


def fixed(draw: Draw) -> Pair:
    """Good morning, Anna!"""
    source, target = draw.one(draw.words.phrases)
    name = draw.name().name
    return source.replace("{name}", name), target.replace("{name}", name)


def with_name(draw: Draw) -> Pair:
    """Anna, can you help me?: a sentence that calls somebody by name."""
    name = draw.name()
    made = clause(draw, verb(draw, "aem", mark="Q"), Pronoun("you"), modal="can", extras=0.1).but(company=None)
    made = made.but(time=draw.time("future", made.verb)) if draw.chance(0.4) else made
    return pair(f"{name.name}, {english.question(made)}", f"{name.name}, {german.question(made)}", "?")
