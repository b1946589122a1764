"""Drawing whole clauses: a verb of the right kind, its complements, and what else the sentence tells."""

from __future__ import annotations

from dataclasses import replace

from nmt_cli.corpora.demo.clause import Clause, Complement
from nmt_cli.corpora.demo.draw import MALE, Draw
from nmt_cli.corpora.demo.lexicon import Adverbial, Noun, Slot, Verb
from nmt_cli.corpora.demo.noun_phrase import NounPhrase, Phrase, Pronoun

PLACE_CASES = {"dir", "loc"}
ADJUNCT_PLACES = {
    "R": ("kitchen", "living_room", "balcony"),
    "O": ("garden", "park", "forest", "beach"),
    "M": ("supermarket", "market"),
    "K": ("kitchen",),
    "S": ("bedroom", "sofa"),
}
CLOTHING = {"wear", "put on", "take off", "try on"}
AGREEING = {"we": {"I", "you"}, "I": {"we"}, "you": {"we"}}  # pairs that sound wrong as subject and object


def verb(draw: Draw, aspects: str, *, mark: str = "", forbidden: str = "") -> Verb:
    """A verb of one of the aspects, with a mark, without any of the forbidden ones."""
    key = (aspects, mark, forbidden)
    if key not in draw.verbs:
        fitting = [
            one
            for one in draw.words.verbs
            if one.aspect in aspects and (not mark or mark in one.marks) and not one.marks & set(forbidden)
        ]
        draw.verbs[key] = (fitting, [_weight(draw, one) for one in fitting])
    fitting, weights = draw.verbs[key]
    return draw.random.choices(fitting, weights)[0]


def _weight(draw: Draw, one: Verb) -> float:
    """Verbs with many possible objects come more often, or their few sentences would repeat."""
    if not one.slots:
        return 1.5
    return min(6.0, 1.0 + len(draw.nouns(one.slots[-1].classes)) / 8)


def clause(
    draw: Draw,
    chosen: Verb,
    subject: Phrase,
    *,
    tense: str = "present",
    modal: str = "",
    negated: bool = False,
    time: Adverbial | None = None,
    adverb: Adverbial | None = None,
    habit: bool = False,
    extras: float = 0.3,
) -> Clause:
    """A clause around the verb with complements and, each with probability `extras`, company, place and manner."""
    complements, place, direction = _complements(draw, chosen, subject, habit=habit or (negated and draw.chance(0.3)))
    made = Clause(
        subject=subject,
        verb=chosen,
        tense=tense,
        modal=modal,
        complements=complements,
        negated=negated,
        time=time,
        adverb=adverb,
        place=place,
        direction=direction,
    )
    made = _with_extras(draw, made, extras)
    return negative(made) if negated else made


def negative(made: Clause, *, known: bool = False) -> Clause:
    """The clause negated: no amounts, no manner or company; with `known`, the instead of a."""
    complements = []
    for one in made.complements:
        phrase = one.phrase
        if isinstance(phrase, NounPhrase):
            amount = phrase.count[0] or phrase.determiner in {"some", "many"}
            if amount or ((known or one.german_preposition) and phrase.determiner == "a"):
                phrase = replace(phrase, count=("", ""), determiner="the")
        complements.append(replace(one, phrase=phrase))
    return made.but(negated=True, complements=tuple(complements), manner=None, company=None)


def _with_extras(draw: Draw, made: Clause, extras: float) -> Clause:
    marks = made.verb.marks
    if "C" in marks and draw.chance(extras) and not made.negated:
        other = draw.someone_else(made.subject, strangers=False)
        if all(one.phrase.english() != other.english() for one in made.complements):
            made = made.but(company=other)
    manners = [one for one in "qluhz" if one in marks]
    if manners and not made.negated and made.adverb is None and made.company is None and draw.chance(extras / 2):
        made = made.but(manner=draw.adverbial(draw.one(manners)))
    places = [one for one in ADJUNCT_PLACES if one in marks]
    if made.place is None and places and draw.chance(extras * 0.8):
        noun = draw.noun(*ADJUNCT_PLACES[draw.one(places)])
        made = made.but(place=draw.place_of(noun, direction=False))
    return made


def _complements(
    draw: Draw, chosen: Verb, subject: Phrase, *, habit: bool
) -> tuple[tuple[Complement, ...], tuple[str, str] | None, bool]:
    complements: list[Complement] = []
    place = None
    direction = False
    for slot in chosen.slots:
        if slot.case in PLACE_CASES:
            direction = slot.case == "dir"
            place = _place(draw, chosen, slot, direction=direction)
        else:
            complements.append(_object(draw, chosen, slot, subject, complements, habit=habit))
    return tuple(complements), place, direction


def _place(draw: Draw, chosen: Verb, slot: Slot, *, direction: bool) -> tuple[str, str]:
    names = sorted(slot.classes & {"city", "country"})
    nouns = draw.nouns(slot.classes)
    if names and (not nouns or draw.chance(0.5)):
        english, where, german = draw.town(draw.one(names), direction=direction)
        draw.note("verb", chosen.key, english)
        return where, german
    noun = draw.one(nouns)
    draw.note("verb", chosen.key, noun.english)
    return draw.place_of(noun, direction=direction)


def _object(
    draw: Draw, chosen: Verb, slot: Slot, subject: Phrase, before: list[Complement], *, habit: bool
) -> Complement:
    person = bool(slot.classes & {"person", "family"})
    if person and slot.case == "dat" and len(chosen.slots) > 1:
        phrase: Phrase = _recipient(draw, subject)
    elif person and _takes_pronoun(chosen) and draw.chance(0.15):
        phrase = _pronoun(draw, subject)
    else:
        noun = _other_noun(draw, chosen, slot, subject, before)
        draw.note("verb", chosen.key, noun.english)
        phrase = draw.thing(noun, subject, chosen, habit=habit)
    return Complement(phrase, slot.case, slot.english_preposition, slot.german_preposition)


def _takes_pronoun(chosen: Verb) -> bool:
    """Only verbs without a particle: pick *me* up would need another order."""
    return not chosen.english.rest or chosen.english.rest in {"for", "to", "about"}


def _recipient(draw: Draw, subject: Phrase) -> Phrase:
    return _pronoun(draw, subject) if draw.chance(0.3) else draw.someone_else(subject)


def _pronoun(draw: Draw, subject: Phrase) -> Pronoun:
    word = subject.english()
    others = [
        one for one in ("I", "you", "he", "she", "we", "they") if one != word and one not in AGREEING.get(word, ())
    ]
    return Pronoun(draw.one(others))


def _other_noun(draw: Draw, chosen: Verb, slot: Slot, subject: Phrase, before: list[Complement]) -> Noun:
    used = {one.phrase.english() for one in before} | {subject.english()}
    while True:
        noun = draw.one(draw.nouns(slot.classes))
        wrong = "female" in noun.classes and chosen.english.base in CLOTHING and subject.own in MALE
        if not wrong and not any(noun.english in text.split() or text.endswith(noun.english) for text in used):
            return noun
