"""Sentences with an infinitive group: aims, attempts, requests, judgements."""

from __future__ import annotations

from dataclasses import replace

from nmt_cli.corpora.demo import clause as english
from nmt_cli.corpora.demo import english as english_forms
from nmt_cli.corpora.demo import german_clause as german
from nmt_cli.corpora.demo.clause import Clause
from nmt_cli.corpora.demo.draw import Draw
from nmt_cli.corpora.demo.drawn_clauses import clause, verb
from nmt_cli.corpora.demo.lexicon import Slot
from nmt_cli.corpora.demo.noun_phrase import Pronoun
from nmt_cli.corpora.demo.sentences import Pair, pair


def in_order_to(draw: Draw) -> Pair:
    """Yesterday he went to the market to buy apples."""
    subject = draw.subject()
    aim = draw.one(draw.words.aims)
    things = set(draw.nouns(aim.objects))
    named = [one for one in draw.words.verbs if one.english.base == aim.verb and one.slots and one.aspect in "ae"]
    chosen = next(one for one in named if things & set(draw.nouns(one.slots[-1].classes)))
    slot = Slot(chosen.slots[0].case, "", chosen.slots[0].german_preposition, aim.objects)
    wanted = clause(draw, replace(chosen, slots=(slot,)), subject, habit=True, extras=0.0)
    place = draw.noun(*aim.places)
    draw.note("other", aim.verb, place.english)
    motion = draw.one([one for one in draw.words.verbs if one.aspect == "m" and one.slots[0].classes & place.classes])
    future_time = draw.chance(0.3)
    going = Clause(subject, motion, tense="future" if future_time else "past", direction=True)
    going = going.but(place=draw.place_of(place, direction=True))
    going = going.but(time=draw.adverbial("future" if future_time else "past"), time_first=draw.chance(0.8))
    text = f"{english.statement(going)} to {english.infinitive(wanted)}"
    return pair(text, f"{german.statement(going)}, um {german.infinitive(wanted)}")


def tried_to(draw: Draw) -> Pair:
    """She promised to call her brother."""
    subject = draw.subject()
    chosen = verb(draw, "z")
    aim = clause(draw, verb(draw, "a" if chosen.english.base == "begin" else "ae", forbidden="i"), subject, extras=0.2)
    if chosen.english.base in {"promise", "decide"}:
        aim = aim.but(time=draw.time("future", aim.verb))
    main = Clause(subject, chosen, tense="past")
    return pair(
        f"{english.statement(main)} to {english.infinitive(aim)}", f"{german.statement(main)}, {german.infinitive(aim)}"
    )


def it_is_good_to(draw: Draw) -> Pair:
    """It is important to lock the door."""
    words = draw.one(
        (
            ("important", "wichtig"),
            ("difficult", "schwierig"),
            ("easy", "leicht"),
            ("nice", "schön"),
            ("not easy", "nicht leicht"),
            ("dangerous", "gefährlich"),
            ("fun", ""),
        )
    )
    aim = clause(
        draw,
        verb(draw, "ah", mark="f" if words[0] in {"fun", "nice"} else "", forbidden="i"),
        Pronoun("you"),
        extras=0.3,
    ).but(company=None)
    german_main = f"es ist {words[1]}" if words[1] else "es macht Spaß"
    return pair(f"it is {words[0]} to {english.infinitive(aim)}", f"{german_main}, {german.infinitive(aim)}")


def no_wish_to(draw: Draw) -> Pair:
    """I have no time to tidy up the cellar tomorrow. / She doesn't feel like cooking."""
    subject = draw.subject()
    chosen = verb(draw, "ae", forbidden="i")
    aim = clause(draw, chosen, subject, extras=0.1)
    aim = aim.but(time=draw.time("future", chosen)) if draw.chance(0.6) else aim
    has = f"{subject.german('nom')} {german.auxiliary(subject, 'haben')}"
    if draw.chance(0.5):
        doing = english.join([english_forms.progressive(chosen.english.head), chosen.english.rest, *english.tail(aim)])
        text = f"{subject.english()} {english.agree(subject, 'do')}n't feel like {doing}"
        return pair(text, f"{has} keine Lust, {german.infinitive(aim)}")
    text = f"{subject.english()} {english.agree(subject, 'have')} no time to {english.infinitive(aim)}"
    return pair(text, f"{has} keine Zeit, {german.infinitive(aim)}")


def asked_to(draw: Draw) -> Pair:
    """My mother asked me to close the window."""
    asker = draw.subject()
    while True:
        asked = Pronoun(draw.one(("I", "you", "we", "they"))) if draw.chance(0.5) else draw.someone_else(asker)
        if asked.english() != asker.english() and {asked.english(), asker.english()} != {"I", "we"}:
            break
    aim = clause(draw, verb(draw, "ae", mark="Q"), asked, extras=0.1).but(company=None)
    text = f"{asker.english()} asked {asked.english(is_object=True)} to {english.infinitive(aim)}"
    has = german.auxiliary(asker, "haben")
    return pair(text, f"{asker.german('nom')} {has} {asked.german('acc')} gebeten, {german.infinitive(aim)}")
