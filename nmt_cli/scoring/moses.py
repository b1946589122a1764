"""Words by the rules of Moses, as the tokenised protocols of BLEU count them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

# Scripts without spaces: Moses would take a whole clause for one word.
WITHOUT_SPACES = frozenset({"zh", "yue", "ja", "th", "lo", "km", "my", "bo"})

COMPOUND_HYPHEN = re.compile(r"(\S)-(\S)")
QUOTES = str.maketrans(dict.fromkeys("„“”‟«»「」『』", '"') | dict.fromkeys("‘’‚‛‹›", "'"))
# What Moses' own tokenizer and the compound split leave behind; the ampersand comes last.
MARKS_OF_TOKENISERS = [
    (re.compile(r" (?:@-@|##AT##-##AT##) "), "-"),
    (re.compile(r"&(?:#124|bar);"), "|"),
    (re.compile(r"&lt;"), "<"),
    (re.compile(r"&gt;"), ">"),
    (re.compile(r"&quot;"), '"'),
    (re.compile(r"&apos;"), "'"),
    (re.compile(r"&(?:#91|bra);"), "["),
    (re.compile(r"&(?:#93|ket);"), "]"),
    (re.compile(r"&amp;"), "&"),
]
# "it 's", "qu' on", "dell' acqua": tokenised again, the apostrophe would be torn off both parts.
ELISION = (re.compile(r"(?<!\w)((?:[cdjlmnst]|\w*qu|aujourd|\w*ll|un|quest)') (?=\w)", re.IGNORECASE), r"\1")
APOSTROPHES_SPLIT = {
    "en": (re.compile(r"(?<=\w) ('(?:s|ve|re|ll|d|m|t)(?:\s|$))", re.IGNORECASE), r"\1"),
    "fr": ELISION,
    "it": ELISION,
}


@dataclass(frozen=True, kw_only=True)
class MosesRecipe:
    """What happens to a line before its words are counted, in the order of the fields."""

    lowercase: bool = False
    straight_quotes: bool = False
    """Typographic quotes and full-width punctuation become ASCII, as in the paper's reference file."""
    normalise_punctuation: bool = False
    """Moses' normalize-punctuation."""
    language: str
    """Decides apostrophes and abbreviations; one unknown to Moses gets English abbreviations."""
    split_compounds: bool = False

    def words(self, line: str) -> list[str]:
        """Return the words of a line, which may be plain text or tokenised already."""
        text = undo_tokeniser_marks(line, self.language)
        if self.lowercase:
            text = text.lower()
        if self.straight_quotes:
            text = _normaliser(self.language).replace_unicode_punct(text).translate(QUOTES)
        if self.normalise_punctuation:
            text = _normaliser(self.language).normalize(text)
        text = _tokeniser(self.language).tokenize(text, escape=False, return_str=True)
        return (split_compounds(text) if self.split_compounds else text).split()

    @property
    def signature(self) -> str:
        """The recipe in the manner of sacreBLEU's signatures."""
        return "|".join(
            [
                f"case:{'lc' if self.lowercase else 'mixed'}",
                f"quotes:{'straight' if self.straight_quotes else 'kept'}",
                f"norm:{'yes' if self.normalise_punctuation else 'no'}",
                f"tok:moses-{self.language}",
                f"split:{'yes' if self.split_compounds else 'no'}",
            ]
        )


def split_compounds(text: str) -> str:
    """Split words at hyphens as the scores of the paper did: left to right, so that `a-b-c` is split once."""
    return COMPOUND_HYPHEN.sub(r"\1 ##AT##-##AT## \2", text)


def undo_tokeniser_marks(text: str, language: str) -> str:
    """Return the text without Moses' escapes, split hyphens and apostrophes, so that it can be tokenised again."""
    for mark, meaning in MARKS_OF_TOKENISERS:
        text = mark.sub(meaning, text)
    if language in APOSTROPHES_SPLIT:
        split_off, joined = APOSTROPHES_SPLIT[language]
        text = split_off.sub(joined, text)
    return text


# sacremoses carries no types.
@functools.lru_cache
def _tokeniser(language: str) -> Any:  # noqa: ANN401
    from sacremoses import MosesTokenizer

    return MosesTokenizer(language)


@functools.lru_cache
def _normaliser(language: str) -> Any:  # noqa: ANN401
    from sacremoses import MosesPunctNormalizer

    return MosesPunctNormalizer(language, perl_parity=True)


def known_languages() -> frozenset[str]:
    """Return the codes of the languages that have a tokeniser here."""
    from sacremoses.corpus import NonbreakingPrefixes

    return frozenset(NonbreakingPrefixes().available_langs.values()) | WITHOUT_SPACES | {"ko"}
