"""Sentences of two clauses: subordinate, relative, infinitive and joined clauses."""

from __future__ import annotations

from nmt_cli.corpora.demo import clause as english
from nmt_cli.corpora.demo import english as english_forms
from nmt_cli.corpora.demo import german_clause as german
from nmt_cli.corpora.demo.clause import Clause
from nmt_cli.corpora.demo.draw import Draw
from nmt_cli.corpora.demo.drawn_clauses import clause, negative, verb
from nmt_cli.corpora.demo.noun_phrase import NounPhrase, Phrase, Pronoun, Relative
from nmt_cli.corpora.demo.sentences import BE, Pair, event, future, grade, habit, pair, past, reason, told, wish
from nmt_cli.corpora.demo.word_lists import listed

IT = Pronoun("it")
GROWN_UP = frozenset(listed("wife husband son sons daughter daughters grandson grandsons wine beer boss bosses"))


def joined(first: Pair, conjunction: Pair, second: Pair) -> Pair:
    """Two clauses with a conjunction between them."""
    return f"{first[0]} {conjunction[0]} {second[0]}", f"{first[1]}, {conjunction[1]} {second[1]}"


def again(subject: Phrase) -> Phrase:
    """The subject taken up again by a pronoun."""
    if isinstance(subject, Pronoun):
        return subject
    if subject.is_plural:
        return Pronoun("they")
    if isinstance(subject, NounPhrase) and subject.noun.gender == "n":
        return subject  # das Kind ... es, where English has he or she: repeat the noun
    return Pronoun("she" if subject.own == "her" else "he")


def because(draw: Draw) -> Pair:
    """He didn't go to the office yesterday because he was sick."""
    subject = draw.subject()
    negated = draw.chance(0.5)
    if draw.chance(0.6):
        main = past(draw, subject, extras=0.1, willed=True)
        why = reason(draw, again(subject), "bad" if negated else "good", tense="past")
    else:
        main = wish(draw, subject, modals=("can",))
        why = reason(draw, again(subject), "bad" if negated else "good")
    main = negative(main) if negated else main.but(manner=None)
    return pair(*joined(told(main), ("because", "weil"), (english.statement(why), german.subordinate(why))))


def although(draw: Draw) -> Pair:
    """She worked in the office yesterday although she was sick."""
    subject = draw.subject()
    negated = draw.chance(0.3)
    main = past(draw, subject, extras=0.1, willed=True)
    main = negative(main) if negated else main
    against = reason(draw, again(subject), "good" if negated else "bad", tense="past")
    return pair(*joined(told(main), ("although", "obwohl"), (english.statement(against), german.subordinate(against))))


def thought(draw: Draw) -> Pair:
    """I think that my uncle will sell his boat next year."""
    thinker = draw.subject(pronouns=0.6)
    chosen = verb(draw, "t")
    while chosen.english.base == "say" and isinstance(thinker, Pronoun):
        chosen = verb(draw, "t")
    main = Clause(thinker, chosen, tense="past" if chosen.english.base in {"hear", "notice"} else "present")
    inner = past(draw, draw.subject()) if main.tense == "past" else event(draw, draw.subject())
    while main.tense == "past" and inner.subject.english() in {"I", "we"}:
        inner = past(draw, draw.subject())  # nobody hears what he did himself
    return pair(*joined(told(main), ("that", "dass"), (english.statement(inner), german.subordinate(inner))))


def whether(draw: Draw) -> Pair:
    """I don't know whether my sister visited the museum last week."""
    knower = Pronoun(draw.one(("I", "we", "he", "she", "they"))) if draw.chance(0.8) else draw.person()
    chosen = next(one for one in draw.words.verbs if one.german.infinitive == "wissen")
    inner = event(draw, draw.subject())
    first = told(Clause(knower, chosen, negated=True))
    return pair(*joined(first, ("whether", "ob"), (english.statement(inner), german.subordinate(inner))))


def when_state(draw: Draw) -> Pair:
    """When he is tired, he often drinks coffee."""
    subject = draw.subject(pronouns=0.6)
    condition = reason(draw, subject, "state")
    main = habit(draw, again(subject), extras=0.2, mark="f").but(time=None)
    main = main.but(adverb=main.adverb or draw.adverbial("freq"), manner=None)
    text = f"when {english.statement(condition)}, {english.statement(main)}"
    return pair(text, f"{german.subordinate(condition, 'wenn')}, {german.question(main)}")


def if_weather(draw: Draw) -> Pair:
    """If it rains tomorrow, we will stay in the hotel."""
    chosen = verb(draw, "r")
    weather = Clause(IT, chosen, time=draw.adverbial("future"))
    main = future(draw, draw.subject(), extras=0.3, mark="f").but(time=None, manner=None)
    if ("R" not in main.verb.marks and "O" in main.verb.marks) or main.verb.english.base == "swim in":
        main = negative(main)  # nobody hikes in the rain
    if not main.direction:
        main = main.but(place=None)
    text = f"if {english.statement(weather)}, {english.statement(main)}"
    return pair(text, f"{german.subordinate(weather, 'wenn')}, {german.question(main)}")


def before_that(draw: Draw) -> Pair:
    """He locked the door before he went to the station."""
    subject = draw.subject()
    first, second = past(draw, subject, timed=False, extras=0.1), past(draw, again(subject), timed=False, extras=0.1)
    while first.verb == second.verb or "L" in first.verb.marks | second.verb.marks:
        second = past(draw, again(subject), timed=False, extras=0.1)
        first = past(draw, subject, timed=False, extras=0.1)
    return pair(*joined(told(first), ("before", "bevor"), (english.statement(second), german.subordinate(second))))


def meanwhile(draw: Draw) -> Pair:
    """My father cooked soup while my mother read the newspaper."""
    first, second = (
        clause(draw, verb(draw, "a", forbidden="Li"), draw.subject(), tense="past", extras=0.2) for _ in "ab"
    )
    while first.subject.english() == second.subject.english() or first.verb == second.verb:
        second = clause(draw, verb(draw, "a", forbidden="Li"), draw.subject(), tense="past", extras=0.2)
    return pair(*joined(told(first), ("while", "während"), (english.statement(second), german.subordinate(second))))


def as_child(draw: Draw) -> Pair:
    """When she was a child, she often played tennis."""
    subject = draw.subject(pronouns=0.6)
    while subject.is_plural or (isinstance(subject, NounPhrase) and subject.noun.gender == "n"):
        subject = draw.subject(pronouns=0.6)
    main = clause(draw, verb(draw, "am", mark="f"), again(subject), tense="past", habit=True, extras=0.4)
    main = main.but(adverb=draw.adverbial("freq"), manner=None)
    if set(english.statement(main).replace("'s", "").split()) & GROWN_UP:
        return as_child(draw)
    be = english_forms.be(subject.person, plural=False, past=True)
    text = f"when {subject.english()} {be} a child, {english.statement(main)}"
    was = {1: "war", 2: "warst", 3: "war"}[subject.person]
    return pair(text, f"als {subject.german('nom')} ein Kind {was}, {german.question(main)}")


def relative_subject(draw: Draw) -> Pair:
    """The woman who bought our car is very friendly."""
    noun = draw.noun("person")
    person = NounPhrase(noun, "the", is_plural=draw.chance(0.2))
    inner = past(draw, Relative(person), timed=draw.chance(0.5), extras=0.1)
    whole = _with_relative(person, (english.statement(inner), german.subordinate(inner)))
    adjective = draw.adjective(noun, "P")
    if adjective is None or draw.chance(0.4):
        return pair(*told(wish(draw, whole, modals=("can", "want to", "have to"))))
    return pair(*told(Clause(whole, BE, predicate=(f"very {adjective.english}", f"sehr {adjective.german}"))))


def relative_object(draw: Draw) -> Pair:
    """The book that I read last week is interesting."""
    while True:
        inner = past(draw, draw.subject(pronouns=0.7), timed=draw.chance(0.5), extras=0.1)
        if len(inner.complements) != 1 or inner.complements[0].case != "acc" or inner.complements[0].german_preposition:
            continue
        phrase = inner.complements[0].phrase
        if not isinstance(phrase, NounPhrase) or "family" in phrase.noun.classes or inner.verb.english.rest:
            continue
        adjective = draw.adjective(phrase.noun, "P")
        if adjective is not None:
            break
    thing = NounPhrase(phrase.noun, "the", is_plural=phrase.is_plural)
    rest = inner.but(complements=())
    german_text = german.subordinate(rest, Relative(thing).german("acc"))
    whole = _with_relative(thing, (f"that {english.statement(rest)}", german_text))
    degree = grade(draw, adjective.english)
    made = Clause(whole, BE, predicate=(degree[0] + adjective.english, degree[1] + adjective.german))
    return pair(*told(made))


def why_he_who(draw: Draw) -> Pair:
    """The teacher who visited us yesterday can't help my sister because he has a cold."""
    noun = draw.noun("person")
    person = NounPhrase(noun, "the")
    inner = past(draw, Relative(person), timed=draw.chance(0.7), extras=0.1)
    whole = _with_relative(person, (english.statement(inner), german.subordinate(inner)))
    taken_up = again(person)
    negated = draw.chance(0.5)
    main = wish(draw, whole, modals=("can",) if negated else ("can", "want to"), negated=negated)
    why = reason(draw, taken_up, "bad" if negated else "good")
    return pair(*joined(told(main), ("because", "weil"), (english.statement(why), german.subordinate(why))))


def thought_why(draw: Draw) -> Pair:
    """I think that Anna won't visit her uncle next week because she has no time."""
    thinker = draw.subject(pronouns=0.8)
    chosen = draw.one([one for one in draw.words.verbs if one.aspect == "t" and one.english.base in {"think", "know"}])
    subject = draw.subject(pronouns=0.3)
    negated = draw.chance(0.5)
    inner = wish(draw, subject, modals=("can",), negated=negated)
    why = reason(draw, again(subject), "bad" if negated else "good")
    first = joined(
        told(Clause(thinker, chosen)), ("that", "dass"), (english.statement(inner), german.subordinate(inner))
    )
    return pair(*joined(first, ("because", "weil"), (english.statement(why), german.subordinate(why))))


def knows_who(draw: Draw) -> Pair:
    """I know a man who collects stamps."""
    subject = draw.subject(pronouns=0.7)
    noun = draw.noun("person")
    person = NounPhrase(noun, "a")
    inner = habit(draw, Relative(person), extras=0.1)
    whole = _with_relative(person, (english.statement(inner), german.subordinate(inner)))
    chosen = next(one for one in draw.words.verbs if one.german.infinitive == "kennen")
    draw.note("verb", chosen.key, noun.english)
    made = Clause(subject, chosen, complements=(english.Complement(whole, "acc"),))
    return pair(*told(made))


def _with_relative(phrase: NounPhrase, texts: Pair) -> NounPhrase:
    return NounPhrase(phrase.noun, phrase.determiner, is_plural=phrase.is_plural, relative=texts)


def and_then(draw: Draw) -> Pair:
    """Yesterday I cleaned the kitchen, and my sister baked a cake."""
    first, other = draw.subject(), draw.subject()
    one = past(draw, first, extras=0.2).but(time_first=draw.chance(0.5))
    two = past(draw, other, timed=False, extras=0.2)
    texts = told(one), told(two)
    return pair(f"{texts[0][0]}, and {texts[1][0]}", f"{texts[0][1]}, und {texts[1][1]}")


def but_not(draw: Draw) -> Pair:
    """I want to visit my aunt, but I have no time."""
    subject = draw.subject()
    first = told(wish(draw, subject, modals=("want to", "would like to")))
    second = told(reason(draw, again(subject), "bad"))
    return pair(f"{first[0]}, but {second[0]}", f"{first[1]}, aber {second[1]}")


def for_reason(draw: Draw) -> Pair:
    """She is sick, so she can't come to the office tomorrow."""
    subject = draw.subject()
    negated = draw.chance(0.6)
    why = told(reason(draw, subject, "bad" if negated else "good"))
    made = wish(draw, again(subject), modals=("can",), negated=negated)
    if draw.chance(0.3):
        so, because_of = (
            told(made.but(subject=subject)),
            told(reason(draw, again(subject), "bad" if negated else "good")),
        )
        return pair(f"{so[0]}, for {because_of[0]}", f"{so[1]}, denn {because_of[1]}")
    return pair(f"{why[0]}, so {english.statement(made)}", f"{why[1]}, deshalb {german.question(made)}")


def told_by(draw: Draw) -> Pair:
    """Anna told me that her brother had a cold: a report with a name."""
    teller = draw.name()
    hearer = Pronoun(draw.one(("I", "we", "he", "they")))
    inner = event(draw, draw.subject())
    first = (
        f"{teller.english()} told {hearer.english(is_object=True)}",
        f"{teller.german('nom')} hat {hearer.german('dat')} erzählt",
    )
    return pair(*joined(first, ("that", "dass"), (english.statement(inner), german.subordinate(inner))))
