"""Sentences of one clause: statements, negations, questions, commands."""

from __future__ import annotations

from nmt_cli.corpora.demo import clause as english
from nmt_cli.corpora.demo import german_clause as german
from nmt_cli.corpora.demo.draw import Draw
from nmt_cli.corpora.demo.drawn_clauses import clause, negative, verb
from nmt_cli.corpora.demo.lexicon import Adverbial
from nmt_cli.corpora.demo.noun_phrase import NounPhrase, Pronoun, Question
from nmt_cli.corpora.demo.sentences import Pair, future, habit, pair, past, state, told, wish

NOW = Adverbial("", "gerade", "")  # the German of the progressive
GLADLY = Adverbial("", "gern", "")  # the German of "like to"
EXPERIENCES = (Adverbial("already", "schon", ""), Adverbial("just", "gerade", ""), Adverbial("never", "noch nie", ""))
YOU = Pronoun("you")


def habitual(draw: Draw) -> Pair:
    """She often reads novels in the garden."""
    return pair(*told(habit(draw, draw.subject())))


def stative(draw: Draw) -> Pair:
    """My brother needs a new bicycle."""
    return pair(*told(clause(draw, verb(draw, "sl"), draw.subject(), negated=draw.chance(0.25))))


def ongoing(draw: Draw) -> Pair:
    """He is repairing his car with his son."""
    chosen = verb(draw, "amw")
    made = clause(draw, chosen, draw.subject(), tense="progressive", extras=0.4)
    return pair(english.statement(made), german.statement(made.but(adverb=NOW)))


def happened(draw: Draw) -> Pair:
    """We visited the museum last Saturday."""
    return pair(*told(past(draw, draw.subject())))


def happened_first(draw: Draw) -> Pair:
    """Yesterday my aunt baked a cake."""
    return pair(*told(past(draw, draw.subject()).but(time_first=True)))


def will_happen(draw: Draw) -> Pair:
    """I will call my mother tomorrow."""
    made = future(draw, draw.subject())
    return pair(*told(made.but(time_first=draw.chance(0.3))))


def modal(draw: Draw) -> Pair:
    """You should clean the kitchen tomorrow."""
    return pair(*told(wish(draw, draw.subject())))


def modal_past(draw: Draw) -> Pair:
    """She had to wait for the bus yesterday."""
    chosen = verb(draw, "aem", forbidden="i")
    modal_verb = draw.one(("can", "have to", "want to"))
    made = clause(draw, chosen, draw.subject(), tense="past", modal=modal_verb, negated=modal_verb == "can")
    return pair(*told(made.but(time=draw.time("past", chosen), time_first=draw.chance(0.3))))


def experience(draw: Draw) -> Pair:
    """They have already sold their house."""
    adverb = draw.one(EXPERIENCES)
    chosen = verb(draw, "am", forbidden="xi") if adverb.english == "never" else verb(draw, "aem")
    made = clause(
        draw, chosen, draw.subject(), tense="perfect", adverb=adverb, habit=adverb.english == "never", extras=0.1
    )
    return pair(*told(made))


def not_done(draw: Draw) -> Pair:
    """He didn't lock the door yesterday."""
    chosen = verb(draw, "aem")
    made = clause(draw, chosen, draw.subject(), tense="past", negated=True, time=draw.time("past", chosen))
    return pair(*told(made.but(time_first=draw.chance(0.2))))


def not_usual(draw: Draw) -> Pair:
    """My father never drinks beer."""
    chosen = verb(draw, "aemh", forbidden="xi")
    made = clause(draw, chosen, draw.subject(), habit=True, adverb=Adverbial("never", "nie", ""))
    return pair(*told(made))


def not_possible(draw: Draw) -> Pair:
    """I can't repair the printer."""
    made = wish(draw, draw.subject(), modals=("can", "should", "have to", "want to"), negated=True)
    return pair(*told(made))


def will_not(draw: Draw) -> Pair:
    """She won't sell her car next year."""
    made = future(draw, draw.subject(), extras=0.0)
    return pair(*told(negative(made)))


def yes_no_usual(draw: Draw) -> Pair:
    """Does your sister often go to the cinema?"""
    made = habit(draw, draw.subject(asked=True))
    while made.adverb is not None and made.adverb.english == "rarely":
        made = made.but(adverb=draw.adverbial("freq"))
    return pair(english.question(made), german.question(made), "?")


def yes_no_past(draw: Draw) -> Pair:
    """Did you lose your wallet yesterday?"""
    made = past(draw, draw.subject(asked=True))
    return pair(english.question(made), german.question(made), "?")


def yes_no_modal(draw: Draw) -> Pair:
    """Can you help my neighbor tomorrow?"""
    subject = YOU if draw.chance(0.4) else draw.subject(asked=True)
    made = wish(draw, subject, modals=("can", "have to", "want to", "would like to"))
    return pair(english.question(made), german.question(made), "?")


def yes_no_state(draw: Draw) -> Pair:
    """Do you like chocolate?"""
    made = clause(draw, verb(draw, "sl"), draw.subject(asked=True))
    return pair(english.question(made), german.question(made), "?")


def asked_why(draw: Draw) -> Pair:
    """Why did they sell their house?"""
    made = past(draw, draw.subject(asked=True), timed=draw.chance(0.4), willed=True)
    made = negative(made) if draw.chance(0.2) else made
    return pair(english.question(made, "why"), german.question(made, "warum"), "?")


def asked_when(draw: Draw) -> Pair:
    """When did your uncle buy the boat?"""
    made = past(draw, draw.subject(asked=True), timed=False, extras=0.4)
    if draw.chance(0.4):
        made = future(draw, draw.subject(asked=True), extras=0.4).but(time=None)
    return pair(english.question(made, "when"), german.question(made, "wann"), "?")


def asked_where(draw: Draw) -> Pair:
    """Where did she buy the blue dress?"""
    while True:
        made = past(draw, draw.subject(asked=True), timed=draw.chance(0.4))
        if made.place is None:
            return pair(english.question(made, "where"), german.question(made, "wo"), "?")


def asked_how_often(draw: Draw) -> Pair:
    """How often do you visit your grandparents?"""
    made = clause(draw, verb(draw, "amh", forbidden="xi"), draw.subject(asked=True), habit=True).but(manner=None)
    return pair(english.question(made, "how often"), german.question(made, "wie oft"), "?")


def asked_who(draw: Draw) -> Pair:
    """Who repaired the washing machine?"""
    made = past(draw, Question(), timed=draw.chance(0.5))
    return pair(english.statement(made), german.statement(made), "?")


def asked_which(draw: Draw) -> Pair:
    """Which book did you read last week?"""
    while True:
        made = past(draw, draw.subject(asked=True), timed=draw.chance(0.6), extras=0.1)
        one = made.complements[-1] if len(made.complements) == 1 else None
        if one is None or one.german_preposition or one.case != "acc" or made.verb.english.rest:
            continue
        phrase = one.phrase
        if isinstance(phrase, NounPhrase) and phrase.noun.german_plural and "family" not in phrase.noun.classes:
            asked = NounPhrase(phrase.noun, "which", is_plural=phrase.is_plural and "pairwear" in phrase.noun.classes)
            rest = made.but(complements=())
            return pair(english.question(rest, asked.english()), german.question(rest, asked.german("acc")), "?")


def command(draw: Draw) -> Pair:
    """Close the window, please!"""
    made = clause(draw, verb(draw, "aem", mark="Q"), YOU, extras=0.2).but(company=None)
    please = draw.chance(0.5)
    text = english.infinitive(made) + (", please" if please else "")
    return pair(text, german.command(made, please=please), "!")


def prohibition(draw: Draw) -> Pair:
    """Don't forget your umbrella!"""
    chosen = verb(draw, "e", mark="i", forbidden="x") if draw.chance(0.3) else verb(draw, "aem", mark="Q")
    made = negative(clause(draw, chosen, YOU, extras=0.0), known=True)
    return pair(f"don't {english.infinitive(made)}", german.command(made), "!")


def request(draw: Draw) -> Pair:
    """Could you open the window, please?"""
    made = clause(draw, verb(draw, "aem", mark="Q"), YOU, extras=0.2).but(company=None)
    if draw.chance(0.4):
        made = made.but(time=draw.time("future", made.verb))
    return pair(f"could you {english.infinitive(made)}, please", f"könntest du {german.request(made)}", "?")


def proposal(draw: Draw) -> Pair:
    """Let's cook soup this evening!"""
    while True:
        made = clause(draw, verb(draw, "aem", mark="C", forbidden="i"), Pronoun("we"), extras=0.3).but(company=None)
        if not made.verb.german.reflexive:
            break
    made = made.but(time=draw.time("future", made.verb)) if draw.chance(0.7) else made
    return pair(f"let's {english.infinitive(made)}", f"lass uns {german.infinitive(made, zu=False)}", "!")


def pleasure(draw: Draw) -> Pair:
    """My grandmother likes to bake cookies."""
    chosen = verb(draw, "amh", mark="f" if draw.chance(0.7) else "", forbidden="xi")
    made = clause(draw, chosen, draw.subject(), habit=True, extras=0.4)
    likes = english.agree(made.subject, "like")
    text = f"{made.subject.english()} {likes} to {english.infinitive(made)}"
    return pair(text, german.statement(made.but(adverb=GLADLY)))


def feeling(draw: Draw) -> Pair:
    """Our teacher was very tired yesterday."""
    tense = draw.one(("present", "past"))
    time = draw.adverbial("past") if tense == "past" else Adverbial("today", "heute", "")
    made = state(draw, draw.subject(pronouns=0.3), tense=tense).but(time=time, negated=draw.chance(0.2))
    if not made.negated and draw.chance(0.5):
        made = made.but(predicate=(f"very {made.predicate[0]}", f"sehr {made.predicate[1]}"))
    return pair(*told(made.but(time_first=draw.chance(0.3))))
