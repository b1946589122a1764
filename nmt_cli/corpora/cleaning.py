"""Which pairs are dropped for what they are, each by the name of its reason."""

from __future__ import annotations

import re
import unicodedata

from nmt_cli.config import CleaningConfig

# Thai, Lao, Tibetan, Burmese, Khmer, kana, Han and what stands between them are written without spaces.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff01-\uff9f\U00020000-\U0003ffff]"
)
_COLUMNS_A_WORD = 4
_VISIBLE = re.compile("[^\\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


def is_blank(text: str) -> bool:
    """Tell whether a text shows nothing: white space and zero-width characters alone."""
    return _VISIBLE.search(text) is None


def count_words(text: str) -> int:
    """Return the number of words: what spaces divide; in scripts without spaces, four columns are a word.

    A Han character takes two columns of a terminal and a Thai letter one, which comes near the words
    of English for the same sentence.
    """
    words = text.split()
    if text.isascii() or not _UNSPACED.search(text):
        return len(words)
    return sum(-(-_columns(word) // _COLUMNS_A_WORD) if _UNSPACED.search(word) else 1 for word in words)


def _columns(word: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in word)


def reason_to_drop(source: str, target: str, words: tuple[int, int], config: CleaningConfig) -> str | None:
    """Return why a pair of these texts and numbers of words is no good, or nothing."""
    if is_blank(source) or is_blank(target):
        return "empty"
    if max(words) > config.max_words or max(len(source), len(target)) > config.max_characters:
        return "too_long"
    if max(words) > config.max_ratio * min(words):
        return "ratio"
    return None
