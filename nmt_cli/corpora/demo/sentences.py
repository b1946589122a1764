"""From words to a written sentence: capitals, commas and the mark at its end; the patterns' common pieces."""

from __future__ import annotations

import re
from collections.abc import Callable

from nmt_cli.corpora.demo import clause as english
from nmt_cli.corpora.demo import english as english_forms
from nmt_cli.corpora.demo import german_clause as german
from nmt_cli.corpora.demo import german_verbs
from nmt_cli.corpora.demo.clause import Clause
from nmt_cli.corpora.demo.draw import Draw
from nmt_cli.corpora.demo.drawn_clauses import clause, verb
from nmt_cli.corpora.demo.lexicon import Verb
from nmt_cli.corpora.demo.noun_phrase import Phrase
from nmt_cli.corpora.demo.word_lists import listed

Pair = tuple[str, str]
Pattern = Callable[[Draw], Pair]

BE = Verb(
    english_forms.verb("be", "was", "been"),
    german_verbs.verb("sein", "", "gewesen", "sein", "sei"),
    "s",
    (),
    frozenset(),
)
HAVE = Verb(
    english_forms.verb("have", "had", ""), german_verbs.verb("haben", "", "gehabt", "", "hab"), "s", (), frozenset()
)
GRADES = (("", ""), ("very ", "sehr "), ("very ", "sehr "), ("really ", "wirklich "), ("so ", "so "), ("too ", "zu "))
EXCESSIVE = set(
    listed("big small old young expensive heavy hot cold spicy sweet loud slow difficult boring long short dark")
)
UNGRADED = {"broken", "wonderful", "empty", "full"}
STATES = ("tired", "hungry", "thirsty", "sick", "nervous", "happy", "sad", "angry", "busy")


def written(text: str, mark: str) -> str:
    """The text with a capital, single commas and its closing mark."""
    text = re.sub(r"\s+", " ", f"{text.strip()}{mark}")
    text = re.sub(r"\s*,(\s*,)*", ",", text)
    text = re.sub(r",([.?!])$", r"\1", text)
    return text[0].upper() + text[1:]


def pair(english_text: str, german_text: str, mark: str = ".") -> Pair:
    """Both sides as written sentences."""
    return written(english_text, mark), written(german_text, mark)


def told(made: Clause) -> Pair:
    """Both sides of a statement, not yet written."""
    return english.statement(made), german.statement(made)


def past(draw: Draw, subject: Phrase, *, timed: bool = True, extras: float = 0.3, willed: bool = False) -> Clause:
    """Something that happened; when `willed`, something that one does on purpose."""
    chosen = verb(draw, "aeml", forbidden="i" if willed else "")
    made = clause(draw, chosen, subject, tense="past", extras=extras)
    return made.but(time=draw.time("past", chosen)) if timed else made


def future(draw: Draw, subject: Phrase, *, extras: float = 0.3, mark: str = "") -> Clause:
    """Something that will happen."""
    chosen = verb(draw, "aem", mark=mark, forbidden="i")
    return clause(draw, chosen, subject, tense="future", time=draw.time("future", chosen), extras=extras)


def habit(draw: Draw, subject: Phrase, *, extras: float = 0.3, mark: str = "") -> Clause:
    """Something that happens again and again: with a time or with an adverb of frequency."""
    chosen = verb(draw, "aemhw", mark=mark, forbidden="xi")
    made = clause(draw, chosen, subject, habit=True, extras=extras)
    if chosen.aspect == "e" or draw.chance(0.45):
        return made.but(adverb=draw.adverbial("freq"), manner=None)
    return made.but(time=draw.time("habit", chosen))


def wish(draw: Draw, subject: Phrase, *, modals: tuple[str, ...] = (), negated: bool = False) -> Clause:
    """Something that one can, should, must or wants to do."""
    chosen = verb(draw, "aemh", forbidden="io")
    modal = draw.one(modals or ("can", "should", "have to", "want to", "would like to"))
    made = clause(draw, chosen, subject, modal=modal, negated=negated)
    return made.but(time=draw.time("future", chosen)) if draw.chance(0.5) else made


def state(draw: Draw, subject: Phrase, *, tense: str = "present") -> Clause:
    """How somebody is: tired, sick, busy."""
    word = draw.one(STATES)
    adjective = next(one for one in draw.words.adjectives if one.english == word)
    return Clause(subject, BE, tense=tense, predicate=(word, adjective.german))


def reason(draw: Draw, subject: Phrase, kind: str, *, tense: str = "present") -> Clause:
    """Why somebody does (good) or does not do (bad) something, or a state in which one rests."""
    one = draw.one([one for one in draw.words.reasons if kind in one.kinds])
    return Clause(subject, BE if one.verb == "be" else HAVE, tense=tense, predicate=(one.english, one.german))


def grade(draw: Draw, adjective: str) -> Pair:
    """Very, too, really, so or nothing before an adjective: too only before what can be too much."""
    if adjective in UNGRADED:
        return "", ""
    return draw.one(GRADES if adjective in EXCESSIVE else GRADES[:-1])


def event(draw: Draw, subject: Phrase, *, extras: float = 0.2) -> Clause:
    """Any main clause: past, future, habit or wish."""
    kind = draw.random.randrange(4)
    if kind == 0:
        return past(draw, subject, extras=extras)
    if kind == 1:
        return future(draw, subject, extras=extras)
    if kind == 2:  # noqa: PLR2004 - the third of four kinds
        return habit(draw, subject, extras=extras)
    return wish(draw, subject)
