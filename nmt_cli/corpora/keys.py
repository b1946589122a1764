"""What is remembered of each pair while its text waits on disk: numbers instead of texts."""

from __future__ import annotations

import hashlib
import unicodedata
from array import array
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.uint64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Words = np.ndarray[Any, np.dtype[np.uint32]]


class PairKeys:
    """Digests and lengths of pairs, 40 bytes a pair.

    The digests have 64 bits: among ten million pairs, the odds that any two collide are 1 in 400,000.
    """

    def __init__(self, *, seed: int = 0) -> None:
        """Start with no pairs; the seed makes the digests of pairs a random order."""
        self._seed = str(seed).encode()[:64]
        self._columns = {name: array("Q") for name in ("line", "pair", "source", "target")}
        self._words = array("I"), array("I")

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self._columns["line"])

    def add(self, line: int, source: str, target: str, words: tuple[int, int]) -> None:
        """Remember a pair and the line that it came from."""
        columns = self._columns
        columns["line"].append(line)
        columns["pair"].append(_digest(f"{source}\t{target}", self._seed))
        columns["source"].append(_digest(_folded(source)))
        columns["target"].append(_digest(_folded(target)))
        self._words[0].append(words[0])
        self._words[1].append(words[1])

    def only(self, mask: Mask) -> PairKeys:
        """Return the pairs that the mask marks."""
        chosen = PairKeys()
        chosen._seed = self._seed
        chosen._columns = {name: _marked(column, mask) for name, column in self._columns.items()}
        chosen._words = _marked(self._words[0], mask), _marked(self._words[1], mask)
        return chosen

    @property
    def lines(self) -> Numbers:
        """Lines of the files, counted from 1."""
        return np.array(self._columns["line"], dtype=np.uint64)

    @property
    def pairs(self) -> Numbers:
        """A digest of both texts and the seed."""
        return np.array(self._columns["pair"], dtype=np.uint64)

    @property
    def sources(self) -> Numbers:
        """A digest of the source sentence, whatever its case."""
        return np.array(self._columns["source"], dtype=np.uint64)

    @property
    def targets(self) -> Numbers:
        """A digest of the target sentence, whatever its case."""
        return np.array(self._columns["target"], dtype=np.uint64)

    @property
    def words(self) -> tuple[Words, Words]:
        """Words of the source and of the target sentences."""
        return np.array(self._words[0], dtype=np.uint32), np.array(self._words[1], dtype=np.uint32)


def _marked(column: array[int], mask: Mask) -> array[int]:
    return array(column.typecode, np.array(column)[mask].tobytes())


def _folded(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def _digest(text: str, key: bytes = b"") -> int:
    data = text.encode("utf-8", errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key).digest(), "little")
