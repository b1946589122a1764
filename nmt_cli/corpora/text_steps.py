"""What is done to a line before subwords see it, and how `translate` undoes it on output.

In this order: control characters and U+FEFF go, lower-casing, normal form C, white space, Moses tokens.
Characters that join or direct others (U+200B to U+200F, U+202A to U+202E, U+2066 to U+2069) are text.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import Any

from nmt_cli.config import TextConfig
from nmt_cli.files import as_line

# Those that are no white space: they show nothing, and NUL stops SentencePiece's learner.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff]")
# Sorting n combining marks costs n squared, so a longer word is put into normal form piece by piece.
_LONGEST_PIECE = 4096
_PIECES = re.compile(rf"\s+|\S{{1,{_LONGEST_PIECE}}}")
# sacremoses means to join these three tokens, and fails on them.
_CZECH_LI = re.compile(r"(?<=\w') ([-–]) (?=li(?: |$)|mail)", flags=re.IGNORECASE)


def apply(text: str, config: TextConfig, language: str) -> str:
    """Return the line as subwords are to see it; it never holds LF, CR, TAB or a control character."""
    text = _CONTROLS.sub("", text)
    if config.lowercase:
        text = text.lower()
    if config.nfc:
        text = _normal_form(text)
    text = " ".join(text.split()) if config.fold_spaces else as_line(text)
    if config.moses and text:
        text = str(_tokenizer(_base(language)).tokenize(text, escape=False, return_str=True))
    return text


def undo(text: str, config: TextConfig, language: str) -> str:
    """Return the line for people; lower-casing, normal form and folded spaces stay."""
    if not config.moses:
        return text
    base = _base(language)
    if base == "cs":
        text = _CZECH_LI.sub(r"\1", text)
    return str(_detokenizer(base).detokenize(text.split(), unescape=False))


def _normal_form(text: str) -> str:
    if len(text) <= _LONGEST_PIECE:
        return unicodedata.normalize("NFC", text)
    return "".join(unicodedata.normalize("NFC", piece) for piece in _PIECES.findall(text))


def _base(language: str) -> str:
    return language.partition("-")[0].lower()


@functools.cache
def _tokenizer(language: str) -> Any:  # noqa: ANN401 - sacremoses carries no types
    from sacremoses import MosesTokenizer

    return MosesTokenizer(language)


@functools.cache
def _detokenizer(language: str) -> Any:  # noqa: ANN401 - as above
    from sacremoses import MosesDetokenizer

    return MosesDetokenizer(language)
