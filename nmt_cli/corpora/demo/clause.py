"""A clause without a language, and its English."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nmt_cli.corpora.demo import english
from nmt_cli.corpora.demo.lexicon import Adverbial, Verb
from nmt_cli.corpora.demo.noun_phrase import NounPhrase, Phrase
from nmt_cli.corpora.demo.word_lists import listed

# modal: positive present, positive past; None where the negative is made with do
MODALS = {
    "can": ("can", "could"),
    "should": ("should", ""),
    "have to": ("", ""),
    "want to": ("", ""),
    "would like to": ("would like to", ""),
}
NEGATIVE = dict(
    pair.split(":")
    for pair in listed(
        "can:can't could:couldn't should:shouldn't will:won't do:don't does:doesn't did:didn't is:isn't "
        "are:aren't was:wasn't were:weren't has:hasn't have:haven't"
    )
) | {"am": "am not"}


@dataclass(frozen=True)
class Complement:
    """An object: who or what, its German case, the prepositions of the two sides."""

    phrase: Phrase
    case: str
    english_preposition: str = ""
    german_preposition: str = ""


@dataclass(frozen=True)
class Clause:
    """Who does what when, with whom and where; `tense` is present, progressive, past, perfect or future.

    `predicate` holds what follows the verb as it is (with *be*: an adjective). `adverb` is the
    adverbial in the middle (often, already), `place` a pair of texts, a direction when `direction`.
    """

    subject: Phrase
    verb: Verb
    tense: str = "present"
    modal: str = ""
    complements: tuple[Complement, ...] = ()
    negated: bool = False
    time: Adverbial | None = None
    time_first: bool = False
    adverb: Adverbial | None = None
    manner: Adverbial | None = None
    company: NounPhrase | None = None
    place: tuple[str, str] | None = None
    direction: bool = False
    predicate: tuple[str, str] = ("", "")

    def but(self, **changes: object) -> Clause:
        """The same clause with changes."""
        return replace(self, **changes)  # type: ignore[arg-type]  # fields by name, checked by dataclasses


def third(subject: Phrase) -> bool:
    """Whether the subject asks for the third person singular."""
    return subject.person == 3 and not subject.is_plural  # noqa: PLR2004 - grammatical person


def agree(subject: Phrase, head: str) -> str:
    """The present of a verb beside its subject: he has, they have, I am."""
    if head == "be":
        return english.be(subject.person, plural=subject.is_plural)
    return english.third_person(head) if third(subject) else head


def statement(clause: Clause) -> str:
    """The English main clause, its time in front when `time_first`."""
    auxiliary, main = verb_group(clause, inverted=False)
    words = [clause.subject.english(), *_auxiliary(clause, auxiliary), main]
    return join([clause.time.english if clause.time and clause.time_first else "", *words, *tail(clause)])


def question(clause: Clause, front: str = "") -> str:
    """The English question, after a question word when `front` is given."""
    auxiliary, main = verb_group(clause, inverted=True)
    first = NEGATIVE[auxiliary] if clause.negated else auxiliary
    adverb = clause.adverb.english if clause.adverb else ""
    return join([front, first, clause.subject.english(), adverb, main, *tail(clause)])


def infinitive(clause: Clause) -> str:
    """The English infinitive group without to: call her mother tomorrow."""
    return join([clause.verb.english.base, *tail(clause)])


def _auxiliary(clause: Clause, auxiliary: str) -> list[str]:
    """The auxiliary with its negation and the adverb, which precedes a verb without auxiliary."""
    adverb = clause.adverb.english if clause.adverb else ""
    return [NEGATIVE[auxiliary] if clause.negated else auxiliary, adverb]


def verb_group(clause: Clause, *, inverted: bool) -> tuple[str, str]:
    """The auxiliary, empty where there is none, and the verb with its particle."""
    verb, subject = clause.verb.english, clause.subject
    if clause.modal:
        return _modal_group(clause, inverted=inverted)
    if clause.tense == "future":
        return "will", verb.base
    if clause.tense == "perfect":
        return agree(subject, "have"), join([verb.participle, verb.rest])
    if clause.tense == "progressive":
        return agree(subject, "be"), join([english.progressive(verb.head), verb.rest])
    return _simple_group(clause, inverted=inverted)


def _simple_group(clause: Clause, *, inverted: bool) -> tuple[str, str]:
    """Present and past in one word, or with do in negations and questions."""
    verb, subject = clause.verb.english, clause.subject
    past = clause.tense == "past"
    if verb.head == "be":
        return english.be(subject.person, plural=subject.is_plural, past=past), verb.rest
    if clause.negated or inverted:
        return ("did" if past else agree(subject, "do")), verb.base
    return "", join([verb.past if past else agree(subject, verb.head), verb.rest])


def _modal_group(clause: Clause, *, inverted: bool) -> tuple[str, str]:
    past = clause.tense == "past"
    base = clause.verb.english.base
    if clause.modal == "would like to":
        return "would", f"like to {base}"
    present, preterite = MODALS[clause.modal]
    if present:
        return (preterite if past else present), base
    if clause.negated or inverted:
        return ("did" if past else agree(clause.subject, "do")), f"{clause.modal} {base}"
    head, _, to = clause.modal.partition(" ")
    finite = {"have": "had", "want": "wanted"}[head] if past else agree(clause.subject, head)
    return "", f"{finite} {to} {base}"


def tail(clause: Clause) -> list[str]:
    """Everything after the verb: predicate, objects, then manner, place, company and time."""
    words = [clause.predicate[0]]
    for complement in clause.complements:
        words += [complement.english_preposition, complement.phrase.english(is_object=True)]
    company = f"with {clause.company.english()}" if clause.company else ""
    place = clause.place[0] if clause.place else ""
    words += [clause.manner.english if clause.manner else ""]
    words += [place, company] if clause.direction else [company, place]
    words += [clause.time.english if clause.time and not clause.time_first else ""]
    return words


def join(words: list[str]) -> str:
    """The words with one space between them."""
    return " ".join(word for word in words if word)
