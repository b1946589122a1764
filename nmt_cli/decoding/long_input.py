"""Text that is longer than a model can take at a time, and how the parts of its translation are joined."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

MAX_SOURCE_LENGTH = 1024
"""Pieces, end symbol included; memory for attention grows with the square of it."""
WITHOUT_SPACES = frozenset({"zh", "ja", "yue", "th", "lo", "km", "my", "bo"})
"""Languages whose sentences follow each other without a space."""
ABBREVIATIONS = re.compile(
    r"(mr|mrs|ms|dr|prof|rev|gen|col|capt|lt|sgt|st|jr|sr|vs|no|nos|figs?|vol|pp|eds?|al|cf|ca|approx|dept|est|inc|ltd"
    r"|co|corp|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|hr|fr|nr|bzw|usw|evtl|ggf|inkl|str|tel|abs|art|mme|mlle|etc"
    r"|chap|[^\W\d_]|\d\d?|.*\..*)",
    re.IGNORECASE,
)
"""What a full stop after it does not end: short forms, initials, "e.g.", ordinals as in "am 3. Oktober"."""
LATIN_END = re.compile(r"""(?<![.!?…])(?P<mark>[.!?…]++)["'”’»›“)\]]*\s+(?=["'“‘«‹„¿¡(\[]*(?P<next>\S))""")
CJK_END = re.compile(r"[。！？｡]+[」』”’）》〉】]*\s*")
CLAUSE_END = re.compile(r"[,;:،؛]\s+|(?<=\S)\s++[-\u2013\u2014]\s+|\u2014|[，；：、､]")
SPACE = re.compile(r"\s+")


def split_text(text: str, fits: Callable[[Sequence[str]], Sequence[bool]]) -> list[str]:
    """Return the text in parts that fit, none of them blank.

    They end where sentences do; a sentence that does not fit is halved at the clause mark nearest to its
    middle, else at white space, else wherever it must. A single character is a part whether it fits or not.
    """
    parts: list[str] = []
    waiting = _filled(_pieces(text, sentence_ends(text)))[::-1]
    while waiting:
        some = waiting.pop()
        if len(some) == 1 or fits([some])[0]:
            parts.append(some)
        else:
            waiting += _filled(_pieces(some, [_middle(some)]))[::-1]
    return parts


def join_parts(parts: Sequence[str], language: str) -> str:
    """Return translated parts as one text of a language."""
    return ("" if language.partition("-")[0].lower() in WITHOUT_SPACES else " ").join(part for part in parts if part)


def sentence_ends(text: str) -> list[int]:
    """Return the places where a sentence has ended and another begins, white space before them."""
    latin = (match.end() for match in LATIN_END.finditer(text) if _ends_sentence(text, match))
    return sorted({*latin, *(match.end() for match in CJK_END.finditer(text))} - {len(text)})


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if match["next"].islower():
        return False
    if match["mark"] != ".":
        return True
    start = match.start()
    word = text[max(start - 40, 0) : start].rpartition(" ")[2].lstrip("\"'“‘«„([")
    return not ABBREVIATIONS.fullmatch(word)


def _middle(text: str) -> int:
    """Return the best place to cut in two, well away from both ends."""
    middle = len(text) // 2
    for mark in (CLAUSE_END, SPACE):
        ends = [match.end() for match in mark.finditer(text) if len(text) <= 4 * match.end() <= 3 * len(text)]
        if ends:
            return min(ends, key=lambda end: abs(end - middle))
    for place in range(max(middle, 1), len(text)):
        if not unicodedata.combining(text[place]) and text[place] not in "\u200d\ufe0f":
            return place
    return max(middle, 1)


def _pieces(text: str, cuts: Sequence[int]) -> Iterator[str]:
    for first, last in zip([0, *cuts], [*cuts, len(text)], strict=True):
        yield text[first:last].strip()


def _filled(texts: Iterator[str]) -> list[str]:
    return [text for text in texts if text]
