"""Sentences with numbers, clock times, dates, prices and amounts; weather, greetings and fixed phrases."""

from __future__ import annotations

from nmt_cli.corpora.demo import clause as english
from nmt_cli.corpora.demo import english as english_forms
from nmt_cli.corpora.demo import german_clause as german
from nmt_cli.corpora.demo import german_nouns, numbers
from nmt_cli.corpora.demo.clause import Clause
from nmt_cli.corpora.demo.draw import Draw
from nmt_cli.corpora.demo.drawn_clauses import clause, verb
from nmt_cli.corpora.demo.lexicon import Adverbial
from nmt_cli.corpora.demo.noun_phrase import NounPhrase
from nmt_cli.corpora.demo.sentences import Pair, pair, past, told

MINUTES = (0, 0, 15, 30, 30, 45, 5, 10, 20, 50, 55)
PRICES = {
    "dish": (3, 19),
    "tableware": (2, 25),
    "priced": (2, 39),
    "tool": (5, 60),
    "toy": (8, 60),
    "headwear": (9, 60),
    "clothes": (19, 199),
    "pairwear": (9, 180),
    "luggage": (19, 180),
    "furniture": (20, 99),
    "device": (20, 99),
    "instrument": (20, 150),
    "vehicle": (3, 99),
}
PRICED = list(PRICES)
DURATIONS = (
    ("two days", "zwei Tagen"),
    ("a week", "einer Woche"),
    ("three weeks", "drei Wochen"),
    ("a month", "einem Monat"),
    ("six months", "sechs Monaten"),
    ("a year", "einem Jahr"),
    ("two years", "zwei Jahren"),
    ("five years", "fünf Jahren"),
    ("many years", "vielen Jahren"),
)


def clock_time(draw: Draw) -> Adverbial:
    """At a time of the clock."""
    english_time, german_time = numbers.clock(draw.random.randint(1, 12), draw.one(MINUTES))
    return Adverbial(f"at {english_time}", f"um {german_time}", "clock")


def a_date(draw: Draw) -> Adverbial:
    """On a day of the year."""
    return Adverbial(*numbers.date(draw.random.randint(1, 28), draw.random.randint(1, 12)), "date")


def timetable(draw: Draw) -> Pair:
    """The train leaves at half past seven."""
    chosen = verb(draw, "T")
    noun = draw.noun(*chosen.slots[0].classes)
    draw.note("verb", chosen.key, noun.english)
    made = Clause(NounPhrase(noun, "the"), chosen, time=clock_time(draw))
    if draw.chance(0.3):
        made = made.but(tense="past")
    if draw.chance(0.2):
        return pair(english.question(made), german.question(made), "?")
    return pair(*told(made))


def asked_timetable(draw: Draw) -> Pair:
    """When does the concert begin?"""
    chosen = verb(draw, "T")
    noun = draw.noun(*chosen.slots[0].classes)
    draw.note("verb", chosen.key, noun.english)
    made = Clause(NounPhrase(noun, draw.one(("the", "the", "this"))), chosen, tense=draw.one(("present", "past")))
    if draw.chance(0.5):
        return pair(english.question(made, "what time"), german.question(made, "um wie viel Uhr"), "?")
    return pair(english.question(made, "when"), german.question(made, "wann"), "?")


def by_the_clock(draw: Draw) -> Pair:
    """We will meet our boss at a quarter past three."""
    chosen = verb(draw, "aem", forbidden="Li")
    tense = draw.one(("past", "future"))
    made = clause(draw, chosen, draw.subject(), tense=tense, time=clock_time(draw), extras=0.2)
    return pair(*told(made))


def dated(draw: Draw) -> Pair:
    """The wedding is on May 3rd."""
    noun = draw.noun("event", "test", "lecture", "appointment")
    determiner = draw.one(("my", "our", "the", "your")) if noun.classes & {"date", "test", "plannable"} else "the"
    when = a_date(draw)
    draw.note("other", noun.english, when.german.rpartition(" ")[2])
    verbs = draw.one((("is", "ist"), ("was", "war")))
    phrase = NounPhrase(noun, determiner)
    return pair(f"{phrase.english()} {verbs[0]} {when.english}", f"{phrase.german('nom')} {verbs[1]} {when.german}")


def did_on(draw: Draw) -> Pair:
    """On October 12th we bought a house."""
    made = past(draw, draw.subject(), timed=False, extras=0.2)
    return pair(*told(made.but(time=a_date(draw), time_first=draw.chance(0.4))))


def price(draw: Draw) -> Pair:
    """The red dress costs 49 euros."""
    noun = draw.noun(*PRICED)
    adjective = draw.adjective(noun, "A") if draw.chance(0.5) else None
    plural = "pairwear" in noun.classes
    phrase = NounPhrase(noun, draw.one(("the", "this")), adjective=adjective, is_plural=plural)
    low, high = next(span for kind, span in PRICES.items() if kind in noun.classes)
    amount = draw.random.randint(low, high) * (100 if "vehicle" in noun.classes else 10 if low >= 20 else 1)  # noqa: PLR2004 - dear things cost round sums
    draw.note("verb", "cost/kosten", noun.english)
    text = ("cost", "kosten") if plural else ("costs", "kostet")
    return pair(f"{phrase.english()} {text[0]} {amount} euros", f"{phrase.german('nom')} {text[1]} {amount} Euro")


def asked_price(draw: Draw) -> Pair:
    """How much does this jacket cost?"""
    noun = draw.noun(*PRICED)
    adjective = draw.adjective(noun, "A") if draw.chance(0.6) else None
    plural = "pairwear" in noun.classes
    phrase = NounPhrase(noun, draw.one(("the", "this")), adjective=adjective, is_plural=plural)
    draw.note("verb", "cost/kosten", noun.english)
    words = ("do", "kosten") if plural else ("does", "kostet")
    return pair(f"how much {words[0]} {phrase.english()} cost", f"wie viel {words[1]} {phrase.german('nom')}", "?")


def age(draw: Draw) -> Pair:
    """My grandfather is seventy-two years old."""
    subject = draw.subject(pronouns=0.3)
    years = draw.random.randint(3, 95)
    if isinstance(subject, NounPhrase):
        low, high = _ages(subject.noun.classes, subject.noun.english)
        years = draw.random.randint(low, high)
        draw.note("other", "old", subject.noun.english)
    be = english.agree(subject, "be")
    ist = german.auxiliary(subject, "sein")
    return pair(
        f"{subject.english()} {be} {numbers.english_number(years)} years old",
        f"{subject.german('nom')} {ist} {numbers.german_number(years)} Jahre alt",
    )


def _ages(classes: frozenset[str], word: str) -> tuple[int, int]:
    if word.startswith("grand") and word != "grandson":
        return 60, 95
    if "young" in classes or word == "grandson":
        return 3, 16
    return 25, 59


def amount(draw: Draw) -> Pair:
    """I would like a cup of tea and a piece of cake, please."""
    first = _measured(draw)
    second = _measured(draw) if draw.chance(0.5) else None
    while second is not None and second[0].split()[-1] == first[0].split()[-1]:
        second = _measured(draw)
    both = first if second is None else (f"{first[0]} and {second[0]}", f"{first[1]} und {second[1]}")
    kind = draw.random.randrange(4)
    if kind == 0:
        return pair(f"I would like {both[0]}, please", f"ich möchte bitte {both[1]}")
    subject = draw.subject()
    if kind == 1:
        has = german.auxiliary(subject, "haben")
        when = draw.adverbial("past", "past-hour")
        return pair(
            f"{subject.english()} bought {both[0]} {when.english}",
            f"{subject.german('nom')} {has} {when.german} {both[1]} gekauft",
        )
    modal = draw.one((("would like to", "möchten"), ("have to", "müssen"), ("want to", "wollen")))
    head, to, _ = modal[0].partition(" to")
    words = modal[0] if head == "would like" else english.agree(subject, head) + to
    verbs = ("buy", "kaufen") if "kilo" in both[0] or draw.chance(0.5) else ("order", "bestellen")
    finite = german.auxiliary(subject, modal[1])
    return pair(
        f"{subject.english()} {words} {verbs[0]} {both[0]}", f"{subject.german('nom')} {finite} {both[1]} {verbs[1]}"
    )


MEASURES = (
    ("cup", "tea coffee milk", "f", "Tasse", "Tassen"),
    ("glass", "water milk orange_juice wine lemonade beer", "n", "Glas", "Gläser"),
    ("bottle", "water milk orange_juice wine lemonade beer", "f", "Flasche", "Flaschen"),
    ("piece", "cake cheese chocolate bread pizza meat", "n", "Stück", "Stücke"),
    ("kilo", "apple potato tomato cheese meat rice strawberry carrot onion pear cherry", "n", "Kilo", "Kilo"),
)


def _measured(draw: Draw) -> Pair:
    word, contents, gender, german_word, german_plural = draw.one(MEASURES)
    noun = draw.noun(*contents.split())
    draw.note("other", word, noun.english)
    for verb_key in ("buy/kaufen", "order/bestellen"):
        draw.note("verb", verb_key, noun.english)
    number = draw.random.randint(1, 4)
    article = german_nouns.determiner("a", gender, "acc")
    content = (noun.english, noun.german)
    if word == "kilo" and noun.german_plural:
        content = (noun.plural, noun.german_plural)
    if number == 1:
        return f"{english_forms.with_article(word)} of {content[0]}", f"{article} {german_word} {content[1]}"
    plural = english_forms.plural(word) if word != "glass" else "glasses"
    return (
        f"{numbers.english_number(number)} {plural} of {content[0]}",
        f"{numbers.german_number(number)} {german_plural} {content[1]}",
    )


def since(draw: Draw) -> Pair:
    """She has been learning Italian for two years."""
    chosen = verb(draw, draw.one("lha"))
    while chosen.english.base not in LASTING:
        chosen = verb(draw, draw.one("lha"))
    made = clause(draw, chosen, draw.subject(), habit=True, extras=0.1).but(manner=None)
    span = draw.one(DURATIONS)
    doing = english_forms.progressive(chosen.english.head)
    words = [
        made.subject.english(),
        english.agree(made.subject, "have"),
        "been",
        doing,
        chosen.english.rest,
        *english.tail(made),
    ]
    text = f"{english.join(words)} for {span[0]}"
    return pair(text, german.statement(made.but(time=Adverbial("", f"seit {span[1]}", ""))))


LASTING = {
    "live",
    "learn",
    "work",
    "collect",
    "play",
    "play the",
    "save",
    "look for",
    "take care of",
    "build",
    "swim in",
}


def how_many(draw: Draw) -> Pair:
    """How many books did you buy?"""
    while True:
        made = past(draw, draw.subject(asked=True), timed=draw.chance(0.4), extras=0.0)
        phrase = made.complements[0].phrase if len(made.complements) == 1 else None
        if (
            not isinstance(phrase, NounPhrase)
            or made.complements[0].case != "acc"
            or made.complements[0].german_preposition
        ):
            continue
        if (
            made.verb.english.rest
            or not phrase.noun.german_plural
            or phrase.noun.classes & {"family", "inroom", "transit", "sight"}
        ):
            continue
        asked = NounPhrase(phrase.noun, "", is_plural=True)
        rest = made.but(complements=())
        fronts = f"how many {asked.english()}", f"wie viele {asked.german('acc')}"
        return pair(english.question(rest, fronts[0]), german.question(rest, fronts[1]), "?")
