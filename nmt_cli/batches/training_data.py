"""What a run is trained on: one encoded corpus, or several with the same subwords, one after the other."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.batches.corpus import EncodedCorpus, Ids, Offsets, PiecesFolder, Side, open_pieces
from nmt_cli.config import TextConfig, TrainingConfig
from nmt_cli.errors import DataError, UsageError
from nmt_cli.files import sha256_of_json

MOST_PAIRS_AN_EPOCH = 100_000_000
"""Repeated ones counted, unless there are many to begin with: the plan of an epoch is held in memory."""


@dataclass(frozen=True)
class JoinedSide:
    """The sentences of several sides one after the other; each stays on its disk."""

    parts: tuple[Side, ...]

    @cached_property
    def lengths(self) -> Offsets:
        """Tokens of each sentence, the end symbol counted."""
        return np.concatenate([part.lengths for part in self.parts])

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *np.cumsum([len(part.lengths) for part in self.parts]).tolist()]

    def sentence(self, index: int) -> Ids:
        """Return the ids of one sentence."""
        place = bisect.bisect_right(self._starts, index) - 1
        return self.parts[place].sentence(index - self._starts[place])


@dataclass(frozen=True)
class TrainingData:
    """Folders of pieces with the same subwords, languages and text steps."""

    folders: tuple[PiecesFolder, ...]

    @property
    def paths(self) -> list[Path]:
        """The folders of pieces, in the order in which they were named."""
        return [folder.path for folder in self.folders]

    @property
    def name(self) -> str:
        """The folders as a message names them."""
        return " + ".join(map(str, self.paths))

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The manifest of the first; its languages and subwords are those of all."""
        return self.folders[0].manifest

    @property
    def source_vocab_size(self) -> int:
        """Pieces of the source side."""
        return self.folders[0].source_vocab_size

    @property
    def target_vocab_size(self) -> int:
        """Pieces of the target side."""
        return self.folders[0].target_vocab_size

    @property
    def text(self) -> TextConfig:
        """What `prepare` did to the text."""
        return self.folders[0].text

    @property
    def subwords(self) -> dict[str, Path]:
        """The SentencePiece files by name."""
        return self.folders[0].subwords

    def subwords_of(self, side: str) -> Path:
        """Return the SentencePiece file of "source" or "target"."""
        return self.folders[0].subwords_of(side)

    @property
    def digest(self) -> str:
        """SHA-256 of the one folder; of several, that of their digests in order."""
        digests = [folder.digest for folder in self.folders]
        return digests[0] if len(digests) == 1 else sha256_of_json(digests)

    @property
    def validation(self) -> PiecesFolder | None:
        """The first folder that has a validation split."""
        return next((folder for folder in self.folders if folder.has("valid")), None)

    def train_split(self) -> EncodedCorpus:
        """Return the pairs to train on, of several corpora one after the other.

        Raises:
            DataError: a folder has none.
        """
        parts = [folder.split("train") for folder in self.folders]
        if len(parts) == 1:
            return parts[0]
        return EncodedCorpus(
            JoinedSide(tuple(part.source for part in parts)),
            JoinedSide(tuple(part.target for part in parts)),
            sizes=tuple(map(len, parts)),
        )


def open_training_data(paths: Path | Sequence[Path], *, verify: bool = True) -> TrainingData:
    """Return the encoded corpora at some paths, each checked (see `open_pieces`), and that they go together.

    Raises:
        DataError: as `open_pieces`, or two that differ in subwords, languages or text steps.
        UsageError: none, or one named twice.
    """
    folders = tuple(open_pieces(path, verify=verify) for path in ([paths] if isinstance(paths, Path) else paths))
    if not folders:
        raise UsageError("no corpus is named to train on; name one or more")
    first = folders[0]
    for place, other in enumerate(folders[1:], start=1):
        if other.path.resolve() in {folder.path.resolve() for folder in folders[:place]}:
            raise UsageError(f"{other.path} is named twice; name it once and give it more with --weights")
        for what, value_of in SAME_IN_ALL.items():
            values = value_of(first), value_of(other)
            if values[0] != values[1]:
                raise DataError(
                    f"{first.path} and {other.path} cannot be trained on together: their {what} differ "
                    f"({values[0]}, {values[1]}); {WAY_OUT[what] or encode_with(first.path, other.path)}"
                )
    return TrainingData(folders)


def check_weights(data: TrainingData, config: TrainingConfig) -> None:
    """Check that there is a weight for each corpus, and a pair to weigh in each.

    Raises:
        UsageError: more weights or fewer.
        DataError: all pairs of a corpus are too long, so that it can have no share.
        UsageError: an epoch in these proportions would have no end.
    """
    if config.corpus_weights is None:
        return
    n_weights, n_corpora = len(config.corpus_weights), len(data.folders)
    if n_weights != n_corpora:
        raise UsageError(
            f"training.corpus_weights has {n_weights} numbers, but there are {n_corpora} corpora ({data.name}); "
            "give one a corpus, as in --weights 3,1"
        )
    for folder in data.folders:
        train = folder.split("train")
        shortest = int(np.maximum(train.source.lengths, train.target.lengths).min())
        if shortest > config.max_length:
            raise DataError(
                f"{folder.path}: no training pair has at most {config.max_length:,} tokens a side, the shortest "
                f"{shortest:,}; raise training.max_length or leave this corpus out"
            )
    sizes = [len(folder.split("train")) for folder in data.folders]
    least = max(size / weight for size, weight in zip(sizes, config.corpus_weights, strict=True))
    of_epoch = sum(least * weight for weight in config.corpus_weights)
    most = max(MOST_PAIRS_AN_EPOCH, 10 * sum(sizes))
    if not of_epoch <= most:
        raise UsageError(
            f"training.corpus_weights {', '.join(f'{weight:g}' for weight in config.corpus_weights)} make an epoch "
            f"of {of_epoch:.3g} pairs, from {sum(sizes):,} in all; give weights nearer to each other, at most "
            f"{most:,} pairs"
        )


def _languages(folder: PiecesFolder) -> str:
    return f"{folder.manifest['source_language']}-{folder.manifest['target_language']}"


def _text_steps(folder: PiecesFolder) -> str:
    steps = [name for name, is_on in folder.text.model_dump().items() if is_on]
    return " ".join(steps) or "none"


def _subwords(folder: PiecesFolder) -> str:
    digests = [str(folder.manifest["files"][name]) for name in folder.subwords]
    return " and ".join(f"{digest[:12]}…" for digest in digests)


def encode_with(model: Path, pieces: Path) -> str:
    """Say how to encode a corpus anew with the subwords of a model or of another corpus."""
    if pieces.name == "pieces":
        return f"encode it with those: nmt bpe {pieces.parent} --model {model} --force"
    return f"encode it with those, from its DATA folder: nmt bpe DATA --model {model} --out {pieces} --force"


SAME_IN_ALL: dict[str, Callable[[PiecesFolder], str]] = {
    "languages": _languages,
    "text steps": _text_steps,
    "subwords": _subwords,
}
WAY_OUT = {
    "languages": "name corpora of one direction",
    "text steps": "prepare both with the same options",
    "subwords": "",  # `encode_with` says it
}
