"""The words of the demo corpus, read from the TSV files beside this module."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

from nmt_cli.corpora.demo import english, german_verbs


@dataclass(frozen=True)
class Noun:
    """A noun on both sides; `plural` and `german_plural` are empty for mass nouns."""

    english: str
    plural: str
    german: str
    gender: str
    german_plural: str
    classes: frozenset[str]

    @property
    def weak(self) -> bool:
        """Whether it follows the n-declension (den Jungen)."""
        return "weak" in self.classes


@dataclass(frozen=True)
class Adjective:
    """An adjective, its degrees, the classes of nouns it may describe and where it may stand (A, P)."""

    english: str
    comparative: str
    superlative: str
    german: str
    german_comparative: str
    german_superlative: str
    classes: frozenset[str]
    positions: str


@dataclass(frozen=True)
class Slot:
    """A complement: its case, the prepositions of the two sides, the classes of nouns that may fill it."""

    case: str
    english_preposition: str
    german_preposition: str
    classes: frozenset[str]


@dataclass(frozen=True)
class Verb:
    """A verb on both sides with its complements; `aspect` and `marks` are explained in verbs.tsv."""

    english: english.EnglishVerb
    german: german_verbs.GermanVerb
    aspect: str
    slots: tuple[Slot, ...]
    marks: frozenset[str]

    @property
    def key(self) -> str:
        """A name that tells two verbs apart that share their English form."""
        return f"{self.english.base}/{self.german.infinitive}"


@dataclass(frozen=True)
class Adverbial:
    """A fixed adverbial on both sides and its kind: freq, habit, past, future or a letter for manner."""

    english: str
    german: str
    kind: str


@dataclass(frozen=True)
class Place:
    """The prepositions of a class of places: where (dative) and where to."""

    english_where: str
    german_where: str
    english_to: str
    german_to: str


@dataclass(frozen=True)
class Reason:
    """What one is or has, with what it is a reason for (good, bad, state: see reasons.tsv)."""

    verb: str
    english: str
    german: str
    kinds: frozenset[str]


@dataclass(frozen=True)
class Aim:
    """Why one goes to some places: a verb and the classes of its object."""

    places: frozenset[str]
    verb: str
    objects: frozenset[str]


@dataclass(frozen=True)
class Lexicon:
    """Everything that the TSV files hold."""

    nouns: tuple[Noun, ...]
    verbs: tuple[Verb, ...]
    adjectives: tuple[Adjective, ...]
    adverbials: tuple[Adverbial, ...]
    places: dict[str, Place]
    names: tuple[tuple[str, str, str], ...]
    phrases: tuple[tuple[str, str], ...]
    reasons: tuple[Reason, ...]
    aims: tuple[Aim, ...]

    @property
    def n_entries(self) -> int:
        """The number of lexical entries, the fixed phrases not counted."""
        return len(self.nouns) + len(self.verbs) + len(self.adjectives) + len(self.adverbials) + len(self.names)


@cache
def lexicon() -> Lexicon:
    """The whole lexicon, read once."""
    return Lexicon(
        nouns=tuple(_noun(row) for row in _rows("nouns.tsv", 6)),
        verbs=tuple(_verb(row) for row in _rows("verbs.tsv", 11)),
        adjectives=tuple(_adjective(row) for row in _rows("adjectives.tsv", 7)),
        adverbials=tuple(Adverbial(*row) for row in _rows("adverbials.tsv", 3)),
        places={row[0]: Place(*row[1:]) for row in _rows("places.tsv", 5)},
        names=tuple((row[0], row[1], row[2]) for row in _rows("names.tsv", 3)),
        phrases=tuple((row[0], row[1]) for row in _rows("phrases.tsv", 2)),
        reasons=tuple(Reason(row[0], row[1], row[2], frozenset(row[3].split())) for row in _rows("reasons.tsv", 4)),
        aims=tuple(Aim(frozenset(row[0].split()), row[1], frozenset(row[2].split())) for row in _rows("aims.tsv", 3)),
    )


def _rows(name: str, n_columns: int) -> list[list[str]]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.split("\n") if line and not line.startswith("#")]
    return [(row + [""] * n_columns)[:n_columns] for row in rows]


def _noun(row: list[str]) -> Noun:
    base, plural, german, gender, german_plural, classes = row
    count = german_plural != "-"
    return Noun(
        english=base,
        plural=(plural or english.plural(base)) if count else "",
        german=german,
        gender=gender,
        german_plural=german_plural if count else "",
        classes=frozenset([*classes.split(), base.replace(" ", "_")]),
    )


def _adjective(row: list[str]) -> Adjective:
    base, degrees, german, comparative, superlative, classes, positions = row
    more, most = degrees.split(",") if degrees else english.degrees(base)
    return Adjective(
        english=base,
        comparative=more,
        superlative=most,
        german=german,
        german_comparative=comparative or f"{german}er",
        german_superlative=superlative or f"{german}{'e' if german[-1] in 'tdzßs' else ''}st",
        classes=frozenset(classes.split()),
        positions=positions or "AP",
    )


def _verb(row: list[str]) -> Verb:
    base, past, participle, infinitive, singular, german_participle, auxiliary, aspect, slots, marks, imperative = row
    return Verb(
        english=english.verb(base, past, participle),
        german=german_verbs.verb(infinitive, singular, german_participle, auxiliary or "haben", imperative),
        aspect=aspect,
        slots=_slots(slots),
        marks=frozenset(marks.split()),
    )


def _slots(text: str) -> tuple[Slot, ...]:
    """The complements of a cell such as `dat:person family acc:gift`, in the order in which English has them."""
    slots: list[tuple[str, list[str]]] = []
    for token in text.split():
        head, colon, first = token.partition(":")
        if colon:
            slots.append((head, [first]))
        else:
            slots[-1][1].append(token)
    return tuple(_slot(head, frozenset(classes)) for head, classes in slots)


def _slot(head: str, classes: frozenset[str]) -> Slot:
    if head == "to":
        return Slot("dat", "to", "", classes)
    preposition, plus, case = head.rpartition("+")
    return Slot(case, "", preposition if plus else "", classes)
