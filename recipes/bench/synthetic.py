"""Sentences whose length in pieces is given, with exactly so many pieces in use: a character each, drawn evenly.

No character is a space and each is a piece of its own; SentencePiece puts the mark of a space before a sentence, and
there is an end symbol, so a sentence of n - 2 characters has n tokens. Written for `nmt prepare`.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

OTHER_PIECES = 260
"""Control symbols, bytes, and the mark of a space."""
OTHER_TOKENS = 2
"""Of a sentence: that mark, and the end symbol."""
LETTERS = [chr(code) for first, last in ((0x4E00, 0x9FA5), (0xAC00, 0xD7A3)) for code in range(first, last + 1)]
"""Characters that every Unicode version has, which have no case and do not compose."""


def main() -> None:
    """Write PREFIX.source and PREFIX.target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefix", type=Path)
    parser.add_argument("--vocabulary", type=int, required=True)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--tokens", type=int, required=True, help="a side, about")
    options = parser.parse_args()
    options.prefix.parent.mkdir(parents=True, exist_ok=True)
    for seed, side in enumerate(("source", "target")):
        lines = sentences(options.vocabulary, options.length, options.tokens // options.length, seed=seed)
        text = "".join(f"{line}\n" for line in lines)
        options.prefix.with_name(f"{options.prefix.name}.{side}").write_text(text, encoding="utf-8", newline="\n")


def sentences(vocabulary: int, length: int, number: int, *, seed: int) -> list[str]:
    """Return sentences that use all pieces about equally often."""
    letters = LETTERS[: vocabulary - OTHER_PIECES]
    chooser = random.Random(seed)  # noqa: S311 - nothing secret
    n_characters = length - OTHER_TOKENS
    needed, drawn = number * n_characters, list[str]()
    while len(drawn) < needed:
        drawn += chooser.sample(letters, len(letters))
    return ["".join(drawn[i : i + n_characters]) for i in range(0, needed, n_characters)]


if __name__ == "__main__":
    main()
