"""German declension: articles, adjectives, nouns, pronouns, contracted prepositions."""

from __future__ import annotations

CASES = ("nom", "acc", "dat", "gen")

# By gender (m, f, n, p for the plural), in the order of CASES.
DEFINITE = {
    "m": ("der", "den", "dem", "des"),
    "f": ("die", "die", "der", "der"),
    "n": ("das", "das", "dem", "des"),
    "p": ("die", "die", "den", "der"),
}
DER_WORD = {
    "m": ("er", "en", "em", "es"),
    "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "es"),
    "p": ("e", "e", "en", "er"),
}
EIN_WORD = {
    "m": ("", "en", "em", "es"),
    "f": ("e", "e", "er", "er"),
    "n": ("", "", "em", "es"),
    "p": ("e", "e", "en", "er"),
}
WEAK = {
    "m": ("e", "en", "en", "en"),
    "f": ("e", "e", "en", "en"),
    "n": ("e", "e", "en", "en"),
    "p": ("en", "en", "en", "en"),
}
MIXED = {
    "m": ("er", "en", "en", "en"),
    "f": ("e", "e", "en", "en"),
    "n": ("es", "es", "en", "en"),
    "p": ("en", "en", "en", "en"),
}
STRONG = {
    "m": ("er", "en", "em", "en"),
    "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "en"),
    "p": ("e", "e", "en", "er"),
}
DER_WORDS = {"this": "dies", "every": "jed", "which": "welch"}
EIN_WORDS = {
    "a": "ein",
    "no": "kein",
    "my": "mein",
    "your": "dein",
    "his": "sein",
    "her": "ihr",
    "our": "unser",
    "their": "ihr",
}
COUNTING = {"some": "einig", "many": "viel"}  # these decline like a strong adjective
RELATIVE_DATIVE_PLURAL = "denen"
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
    ("bei", "dem"): "beim",
}
# ich, du, er, sie, es, wir, sie
PRONOUNS = {
    "I": ("ich", "mich", "mir"),
    "you": ("du", "dich", "dir"),
    "he": ("er", "ihn", "ihm"),
    "she": ("sie", "sie", "ihr"),
    "it": ("es", "es", "ihm"),
    "we": ("wir", "uns", "uns"),
    "they": ("sie", "sie", "ihnen"),
}


def determiner(word: str, gender: str, case: str) -> str:
    """The German of an English determiner; empty for no determiner, the word itself for a number."""
    column = CASES.index(case)
    if word == "the":
        return DEFINITE[gender][column]
    if word in DER_WORDS:
        return DER_WORDS[word] + DER_WORD[gender][column]
    if word in EIN_WORDS:
        ending = EIN_WORD[gender][column]
        return EIN_WORDS[word] + ending
    if word in COUNTING:
        return COUNTING[word] + STRONG[gender][column]
    return word


def adjective(base: str, word: str, gender: str, case: str) -> str:
    """The adjective as it stands after the determiner `word`."""
    column = CASES.index(case)
    if word == "the" or word in DER_WORDS:
        endings = WEAK
    elif word in EIN_WORDS:
        endings = MIXED
    else:
        endings = STRONG
    return attributive_stem(base) + endings[gender][column]


def attributive_stem(base: str) -> str:
    """The stem before an ending: hoch, dunkel and teuer change."""
    if base == "hoch":
        return "hoh"
    if base.endswith("e"):
        return base[:-1]
    if base.endswith(("auer", "euer")):
        return f"{base[:-2]}r"
    if base.endswith("dunkel"):
        return f"{base[:-2]}l"
    return base


def noun_form(singular: str, plural: str, gender: str, case: str, *, is_plural: bool, weak: bool) -> str:
    """The noun in its case and number."""
    if is_plural:
        add_n = case == "dat" and not plural.endswith(("n", "s"))
        return f"{plural}n" if add_n else plural
    if weak and case != "nom":
        return plural
    if case == "gen" and gender in "mn":
        return singular + genitive_ending(singular)
    return singular


def genitive_ending(noun: str) -> str:
    """-es after hissing sounds and in short native words, else -s."""
    if noun.endswith(("s", "ß", "z", "x")):
        return "es"
    syllables = sum(1 for at, letter in enumerate(noun.lower()) if letter in "aeiouyäöü" and _starts_sound(noun, at))
    return "es" if syllables == 1 and noun.endswith(("d", "t", "nn", "ld")) else "s"


def _starts_sound(noun: str, at: int) -> bool:
    return at == 0 or noun.lower()[at - 1] not in "aeiouyäöü"


def prepositional(preposition: str, phrase: str) -> str:
    """The preposition before a phrase, contracted with the article (im, zur)."""
    first, space, rest = phrase.partition(" ")
    short = CONTRACTIONS.get((preposition, first))
    return f"{short} {rest}" if short and space else f"{preposition} {phrase}"


def possessive_name(name: str) -> str:
    """A name before what it owns: Annas, but Hans'."""
    return f"{name}'" if name.endswith(("s", "ß", "x", "z")) else f"{name}s"
