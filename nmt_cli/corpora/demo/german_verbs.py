"""German verb forms: present, participle, imperative, infinitive with zu, and the auxiliaries."""

from __future__ import annotations

import re
from dataclasses import dataclass

INSEPARABLE = ("be", "emp", "ent", "er", "ge", "ver", "zer")
REFLEXIVE = {(1, False): "mich", (2, False): "dich", (3, False): "sich", (1, True): "uns", (3, True): "sich"}

# ich, du, er, wir, sie
AUXILIARIES = {
    "sein": ("bin", "bist", "ist", "sind", "sind"),
    "haben": ("habe", "hast", "hat", "haben", "haben"),
    "werden": ("werde", "wirst", "wird", "werden", "werden"),
    "können": ("kann", "kannst", "kann", "können", "können"),
    "müssen": ("muss", "musst", "muss", "müssen", "müssen"),
    "wollen": ("will", "willst", "will", "wollen", "wollen"),
    "dürfen": ("darf", "darfst", "darf", "dürfen", "dürfen"),
    "möchten": ("möchte", "möchtest", "möchte", "möchten", "möchten"),
    "sollten": ("sollte", "solltest", "sollte", "sollten", "sollten"),
    "mögen": ("mag", "magst", "mag", "mögen", "mögen"),
    "wissen": ("weiß", "weißt", "weiß", "wissen", "wissen"),
}
PRETERITES = {
    "sein": ("war", "warst", "war", "waren", "waren"),
    "haben": ("hatte", "hattest", "hatte", "hatten", "hatten"),
    "können": ("konnte", "konntest", "konnte", "konnten", "konnten"),
    "müssen": ("musste", "musstest", "musste", "mussten", "mussten"),
    "wollen": ("wollte", "wolltest", "wollte", "wollten", "wollten"),
    "wissen": ("wusste", "wusstest", "wusste", "wussten", "wussten"),
}


@dataclass(frozen=True)
class GermanVerb:
    """A verb taken apart: prefix (with its space where it is a word), simple verb, and what is irregular."""

    prefix: str
    simple: str
    reflexive: bool
    singular: tuple[str, str]
    participle: str
    auxiliary: str
    command: str

    @property
    def infinitive(self) -> str:
        """The infinitive without its reflexive pronoun."""
        return f"{self.prefix}{self.simple}"

    def present(self, person: int, *, plural: bool) -> str:
        """The finite form of the present, its prefix cut off."""
        if self.simple in AUXILIARIES:
            return finite(self.simple, person, plural=plural)
        if plural:
            return self.simple
        return first_person(self.simple) if person == 1 else self.singular[person - 2]

    def with_zu(self) -> str:
        """The infinitive with zu, which stands between a prefix and its verb."""
        if not self.prefix:
            return f"zu {self.simple}"
        return f"{self.prefix}zu {self.simple}" if self.prefix.endswith(" ") else f"{self.prefix}zu{self.simple}"


def verb(infinitive: str, singular: str, participle: str, auxiliary: str, imperative: str) -> GermanVerb:
    """A verb from its cells; empty cells are formed by rule."""
    reflexive = infinitive.startswith("sich ")
    prefix, _, simple = infinitive.removeprefix("sich ").rpartition("+")
    prefix = prefix.replace("_", " ")
    du_er = tuple(singular.split(",")) if singular else second_and_third(simple)
    return GermanVerb(
        prefix=prefix,
        simple=simple,
        reflexive=reflexive,
        singular=(du_er[0], du_er[1]),
        participle=participle or past_participle(prefix, simple),
        auxiliary=auxiliary,
        command=imperative or command(simple),
    )


def finite(name: str, person: int, *, plural: bool, past: bool = False) -> str:
    """A form of sein, haben, werden or a modal verb."""
    index = (3 if person == 1 else 4) if plural else person - 1
    return (PRETERITES if past else AUXILIARIES)[name][index]


def stem(simple: str) -> str:
    """The infinitive without its ending."""
    return simple[:-2] if simple.endswith("en") else simple[:-1]


def first_person(simple: str) -> str:
    """The form for ich: verbs in -eln drop the e of their stem."""
    return f"{stem(simple)[:-2]}le" if simple.endswith("eln") else f"{stem(simple)}e"


def needs_e(root: str) -> bool:
    """Whether an e must stand before t and st: after t and d, and after a consonant with n or m."""
    return root.endswith(("t", "d", "chn")) or bool(re.search(r"[^aeiouäöülrhmn][nm]$", root))


def second_and_third(simple: str) -> tuple[str, str]:
    """The regular forms for du and er."""
    root = stem(simple)
    link = "e" if needs_e(root) else ""
    du = f"{root}t" if root.endswith(("s", "ß", "z", "x")) else f"{root}{link}st"
    return du, f"{root}{link}t"


def past_participle(prefix: str, simple: str) -> str:
    """The weak participle, without ge- after an inseparable prefix and in verbs in -ieren."""
    root = stem(simple)
    weak = f"{root}{'e' if needs_e(root) else ''}t"
    without = simple.endswith("ieren") or simple.startswith(INSEPARABLE)
    return f"{prefix}{'' if without else 'ge'}{weak}"


def command(simple: str) -> str:
    """The regular command to one person: the stem, with -e where it could not be spoken."""
    if simple.endswith(("eln", "ern")):
        return first_person(simple)
    root = stem(simple)
    return f"{root}{'e' if needs_e(root) else ''}"
