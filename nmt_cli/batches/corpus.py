"""An encoded corpus as `nmt bpe` wrote it, memory-mapped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from nmt_cli.config import TextConfig
from nmt_cli.errors import DataError, UsageError
from nmt_cli.files import read_json, require_folder
from nmt_cli.sealed import is_sealed, verify_file

Ids = np.ndarray[Any, np.dtype[Any]]
Offsets = np.ndarray[Any, np.dtype[np.int64]]
MANIFEST = "manifest.json"
KIND = "pieces"


class Side(Protocol):
    """One language of the pairs, wherever the ids lie."""

    @property
    def lengths(self) -> Offsets:
        """Tokens of each sentence, the end symbol counted."""

    def sentence(self, index: int) -> Ids:
        """Return the ids of one sentence."""


@dataclass(frozen=True)
class EncodedSide:
    """One language of one split; sentence i is ids[offsets[i] : offsets[i + 1]], its end symbol included."""

    ids: Ids
    offsets: Offsets

    @cached_property
    def lengths(self) -> Offsets:
        """Tokens of each sentence, the end symbol counted."""
        return np.diff(self.offsets)

    def sentence(self, index: int) -> Ids:
        """Return the ids of one sentence."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class EncodedCorpus:
    """The pairs of one split."""

    source: Side
    target: Side
    sizes: tuple[int, ...] | None = None
    """Pairs of each corpus of those that it joins, in their order; none: it is one."""

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.source.lengths)


@dataclass(frozen=True)
class PiecesFolder:
    """A verified folder of pieces."""

    path: Path
    manifest: Mapping[str, Any]

    @property
    def source_vocab_size(self) -> int:
        """Pieces of the source side."""
        return int(self.manifest["source_vocab_size"])

    @property
    def target_vocab_size(self) -> int:
        """Pieces of the target side."""
        return int(self.manifest["target_vocab_size"])

    @property
    def digest(self) -> str:
        """SHA-256 of what the manifest says, and so of all files."""
        return str(self.manifest["digest"])

    @property
    def text(self) -> TextConfig:
        """What `prepare` did to the text."""
        return TextConfig.model_validate(self.manifest["text"])

    @property
    def subwords(self) -> dict[str, Path]:
        """The SentencePiece files by name."""
        return {name: self.path / name for name in dict.fromkeys(self.manifest["subwords"].values())}

    def subwords_of(self, side: str) -> Path:
        """Return the SentencePiece file of "source" or "target"."""
        return self.path / str(self.manifest["subwords"][side])

    def has(self, split: str) -> bool:
        """Tell whether there are pairs of this split."""
        return int(self.manifest["sentences"].get(split, 0)) > 0

    def split(self, split: str) -> EncodedCorpus:
        """Return the pairs of a split.

        Raises:
            DataError: there are none.
        """
        if not self.has(split):
            raise DataError(f"{self.path}: has no {split} pairs")
        return EncodedCorpus(self._side(split, "source"), self._side(split, "target"))

    def _side(self, split: str, side: str) -> EncodedSide:
        stem = self.path / f"{split}.{side}"
        return EncodedSide(
            np.load(f"{stem}.ids.npy", mmap_mode="r", allow_pickle=False),
            np.load(f"{stem}.offsets.npy", allow_pickle=False),
        )


def open_pieces(path: Path, *, verify: bool = True) -> PiecesFolder:
    """Return the folder of pieces at a path, or the one inside the data folder there; digests are checked.

    Only a process whose parent has just verified the folder may leave that out.

    Raises:
        DataError: no such folder, incomplete, damaged or edited.
    """
    require_folder(path, wanted="a folder of `nmt bpe`", error=DataError)
    folder = path / KIND if (path / KIND / MANIFEST).is_file() else path
    if not (folder / MANIFEST).is_file():
        raise DataError(f"{path}: no encoded corpus ({MANIFEST} is missing); run nmt prepare and nmt bpe first")
    manifest = read_json(folder / MANIFEST)
    if manifest.get("kind") != KIND:
        raise DataError(f"{path}: a {manifest.get('kind')} folder without pieces; run nmt bpe {path} first")
    files = manifest.get("files")
    if not is_sealed(folder / MANIFEST, manifest) or not isinstance(files, dict):
        raise DataError(f"{folder / MANIFEST}: damaged or edited: its digest is not that of its fields")
    for name, digest in files.items() if verify else ():
        verify_file(folder / name, digest, manifest=MANIFEST, error=DataError)
    return PiecesFolder(folder, manifest)


def the_only_corpus(folder: Path) -> Path:
    """Return the only encoded corpus under a folder.

    Raises:
        UsageError: there is none, or there are several.
    """
    found = sorted(path.parent.parent for path in folder.glob(f"*/{KIND}/{MANIFEST}"))
    if len(found) != 1:
        names = f"several: {', '.join(map(str, found))}" if found else f"no encoded corpus under {folder}/"
        raise UsageError(
            f"there is {names}; name the one to train on" if not found else f"{folder}/ has {names}; name one"
        )
    return found[0]
