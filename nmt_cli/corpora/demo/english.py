"""English forms: plurals, articles, verb forms, degrees of adjectives."""

from __future__ import annotations

from dataclasses import dataclass

VOWELS = "aeiou"
DOUBLING = {"run", "swim", "sit", "get", "put", "cut", "plan", "win", "forget", "jog", "shop", "pet", "hug"}
CONSONANT_SOUND = ("uni", "use", "one")  # "a university": spelt with a vowel, spoken with a consonant
PERSONAL = {
    (1, False): ("am", "was"),
    (2, False): ("are", "were"),
    (3, False): ("is", "was"),
    (1, True): ("are", "were"),
    (3, True): ("are", "were"),
}


@dataclass(frozen=True)
class EnglishVerb:
    """The forms of a verb; `rest` is what follows the inflected word (turn *on*)."""

    base: str
    past: str
    participle: str
    rest: str = ""

    @property
    def head(self) -> str:
        """The inflected word of the base form."""
        return self.base.removesuffix(f" {self.rest}") if self.rest else self.base


def verb(base: str, past: str, participle: str) -> EnglishVerb:
    """A verb from its cells; empty cells are formed by rule, an empty participle equals the past."""
    head, _, rest = base.partition(" ")
    past = past or regular_past(head)
    return EnglishVerb(base, past, participle or past, rest)


def plural(noun: str) -> str:
    """The regular plural."""
    return f"{noun}s"


def with_article(words: str) -> str:
    """The words after the indefinite article that their first sound asks for."""
    first = words.lower()
    vowel = first[0] in VOWELS and not first.startswith(CONSONANT_SOUND)
    return f"{'an' if vowel else 'a'} {words}"


def third_person(head: str) -> str:
    """The third person singular of the present."""
    if head in {"be", "have"}:
        return {"be": "is", "have": "has"}[head]
    if head.endswith("y") and head[-2] not in VOWELS:
        return f"{head[:-1]}ies"
    return head + ("es" if head.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")


def regular_past(head: str) -> str:
    """The regular past: -ed, -d after an e, doubled and -ied where they are due."""
    if head.endswith("e"):
        return f"{head}d"
    if head.endswith("y") and head[-2] not in VOWELS:
        return f"{head[:-1]}ied"
    return f"{head}{head[-1] if head in DOUBLING else ''}ed"


def progressive(head: str) -> str:
    """The form in -ing."""
    if head == "be":
        return "being"
    if head.endswith("ie"):
        return f"{head[:-2]}ying"
    if head.endswith("e") and not head.endswith("ee"):
        return f"{head[:-1]}ing"
    return f"{head}{head[-1] if head in DOUBLING else ''}ing"


def be(person: int, *, plural: bool, past: bool = False) -> str:
    """The form of *to be*."""
    return PERSONAL[person, plural][1 if past else 0]


def possessive(owner: str, *, plural: bool = False) -> str:
    """The owner with 's, or a bare apostrophe after a plural s."""
    return f"{owner}'" if plural and owner.endswith("s") else f"{owner}'s"


def degrees(adjective: str) -> tuple[str, str]:
    """Comparative and superlative: -er and -est for short adjectives, else with more and most."""
    if adjective in SHORT:
        if adjective.endswith("y"):
            stem = f"{adjective[:-1]}i"
        elif adjective.endswith("e"):
            stem = adjective[:-1]
        else:
            stem = adjective + (adjective[-1] if adjective in {"big", "hot", "sad", "red"} else "")
        return f"{stem}er", f"{stem}est"
    return f"more {adjective}", f"most {adjective}"


SHORT = {
    *("big", "small", "new", "old", "young", "friendly", "kind", "strong", "happy", "sad", "hungry", "thirsty", "sick"),
    *("healthy", "busy", "angry", "lazy", "funny", "brave", "quiet", "loud", "cute", "wild", "tasty", "fresh", "hot"),
    *("cold", "warm", "spicy", "sweet", "ripe", "cheap", "ugly", "red", "blue", "green", "black", "white", "brown"),
    *(
        "yellow",
        "dirty",
        "clean",
        "empty",
        "full",
        "heavy",
        "fast",
        "slow",
        "long",
        "short",
        "simple",
        "bright",
        "dark",
    ),
    *("high",),
}
