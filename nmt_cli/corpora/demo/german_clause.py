"""The German of a clause: verb second, verb first, verb last, infinitive groups and commands."""

from __future__ import annotations

from nmt_cli.corpora.demo.clause import Clause, Complement, join
from nmt_cli.corpora.demo.german_nouns import prepositional
from nmt_cli.corpora.demo.german_verbs import REFLEXIVE, finite
from nmt_cli.corpora.demo.noun_phrase import Name, NounPhrase, Phrase, Pronoun

MODALS = {
    "can": "können",
    "should": "sollten",
    "have to": "müssen",
    "want to": "wollen",
    "would like to": "möchten",
}
PRETERITE = {"sein", "haben", "wissen"}  # in speech these have their past in one word
LATE = {"oft", "immer", "selten", "nie", "noch nie", "schon", "noch nicht"}  # after a definite object
QUANTIFYING = ("jede", "einmal", "zweimal", "dreimal")  # "nicht jeden Tag": the negation belongs to the time


def statement(clause: Clause) -> str:
    """The main clause with its verb second, after the time when that stands in front."""
    verb, end = verb_group(clause)
    subject = clause.subject.german("nom")
    if clause.time_first and clause.time is not None:
        return join([clause.time.german, verb, *field(clause), *end])
    return join([subject, verb, *middle(clause), *end])


def question(clause: Clause, front: str = "") -> str:
    """The question: verb first, or second after a question word."""
    verb, end = verb_group(clause)
    return join([front, verb, *field(clause), *end])


def subordinate(clause: Clause, front: str = "") -> str:
    """The clause with its verb last, after a conjunction or a relative pronoun; its commas are the caller's."""
    verb, end = verb_group(clause)
    if clause.verb.german.prefix and end == [clause.verb.german.prefix.strip()]:
        end, verb = [], f"{clause.verb.german.prefix}{verb}"
    return join([front, *field(clause), *end, verb])


def infinitive(clause: Clause, *, zu: bool = True) -> str:
    """The infinitive group, with zu or bare."""
    verb = clause.verb.german
    return join([*middle(clause), verb.with_zu() if zu else verb.infinitive])


def command(clause: Clause, *, please: bool = False) -> str:
    """The command to one person whom one calls du."""
    verb = clause.verb.german
    words = with_please(clause) if please else middle(clause)
    return join([verb.command, *words, verb.prefix.strip()])


def request(clause: Clause) -> str:
    """The bare infinitive group with bitte, as it follows könntest du."""
    return join([*with_please(clause), clause.verb.german.infinitive])


def with_please(clause: Clause) -> list[str]:
    """The middle with bitte, which follows the pronouns."""
    words = middle(clause)
    n_pronouns = 1 + sum(isinstance(one.phrase, Pronoun) for one in clause.complements if not one.german_preposition)
    return [*words[:n_pronouns], "bitte", *words[n_pronouns:]]


def auxiliary(subject: Phrase, name: str, *, past: bool = False) -> str:
    """The form of an auxiliary or modal verb beside its subject."""
    return finite(name, subject.person, plural=subject.is_plural, past=past)


def field(clause: Clause) -> list[str]:
    """Subject and middle where the verb is not between them: sich stands before a subject that is a noun."""
    subject = clause.subject.german("nom")
    words = middle(clause)
    if clause.verb.german.reflexive and isinstance(clause.subject, NounPhrase | Name):
        return [words[0], subject, *words[1:]]
    return [subject, *words]


def verb_group(clause: Clause) -> tuple[str, list[str]]:
    """The finite verb and what stands at the end of the main clause."""
    verb = clause.verb.german
    past = clause.tense == "past"
    if clause.modal:
        modal = auxiliary(clause.subject, MODALS[clause.modal], past=past)
        return modal, [verb.infinitive]
    if clause.tense == "future":
        return auxiliary(clause.subject, "werden"), [verb.infinitive]
    if past and verb.simple in PRETERITE:
        return auxiliary(clause.subject, verb.simple, past=True), []
    if past or clause.tense == "perfect":
        return auxiliary(clause.subject, verb.auxiliary), [verb.participle]
    prefix = verb.prefix.strip()
    return verb.present(clause.subject.person, plural=clause.subject.is_plural), [prefix] if prefix else []


def middle(clause: Clause) -> list[str]:
    """What stands between the two parts of the verb."""
    subject = clause.subject
    verb = clause.verb.german
    reflexive = REFLEXIVE[subject.person, subject.is_plural] if verb.reflexive else ""
    bare = [one for one in clause.complements if not one.german_preposition]
    pronouns = [text(one) for one in bare if isinstance(one.phrase, Pronoun)]
    known = [text(one) for one in _dative_first(bare) if _is_known(one)]
    unknown = [_unknown(one, clause) for one in bare if not _is_known(one) and not isinstance(one.phrase, Pronoun)]
    takes_no = clause.negated and any(_takes_no(one) for one in bare)
    negation = "nicht" if clause.negated and not takes_no else ""
    return [
        *(reflexive, *pronouns),
        *_times(clause, known, negation),
        f"mit {clause.company.german('dat')}" if clause.company else "",
        clause.manner.german if clause.manner else "",
        clause.place[1] if clause.place and not clause.direction else "",
        *unknown,
        *(text(one) for one in clause.complements if one.german_preposition),
        clause.place[1] if clause.place and clause.direction else "",
        clause.predicate[1],
    ]


def _times(clause: Clause, known: list[str], negation: str) -> list[str]:
    """Time, adverb, known objects and nicht in their order."""
    time = clause.time.german if clause.time and not clause.time_first else ""
    adverb = clause.adverb.german if clause.adverb else ""
    if negation and time.startswith(QUANTIFYING):
        return [*known, negation, time, adverb]
    if negation:
        return [*known, time, negation, adverb]
    if adverb in LATE:
        return [time, *known, adverb]
    return [time, adverb, *known]


def _dative_first(complements: list[Complement]) -> list[Complement]:
    return sorted(complements, key=lambda one: one.case != "dat")


def _is_known(one: Complement) -> bool:
    """Datives stand early even with an indefinite article; pronouns are placed before."""
    return not isinstance(one.phrase, Pronoun) and (one.phrase.definite or one.case == "dat")


def _takes_no(one: Complement) -> bool:
    phrase = one.phrase
    return (
        isinstance(phrase, NounPhrase)
        and one.case == "acc"
        and phrase.determiner in {"a", "no", ""}
        and not (phrase.owner or phrase.count[0])
    )


def _unknown(one: Complement, clause: Clause) -> str:
    if clause.negated and _takes_no(one) and isinstance(one.phrase, NounPhrase):
        phrase = one.phrase
        no = NounPhrase(phrase.noun, "no", phrase.is_plural, phrase.adjective, relative=phrase.relative)
        return no.german("acc")
    return text(one)


def text(one: Complement) -> str:
    """The object in its case, after its preposition."""
    words = one.phrase.german(one.case)
    return prepositional(one.german_preposition, words) if one.german_preposition else words
