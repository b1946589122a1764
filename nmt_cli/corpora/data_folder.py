"""The data folder: aligned text by split, and a manifest that vouches for it.

    train.en train.de valid.en valid.de test.en test.de   report.json   manifest.json (last)

Plain UTF-8 and LF. The manifest names the SHA-256 of every sibling and of its own other fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from nmt_cli.config import CleaningConfig, Section, TextConfig
from nmt_cli.errors import DataError, UsageError
from nmt_cli.files import read_json, require_folder, sha256_of_file
from nmt_cli.sealed import is_sealed, verify_file, write_sealed
from nmt_cli.settings_files import validated

MANIFEST = "manifest.json"
REPORT = "report.json"
KIND = "data"
FORMAT = 1
SPLITS = ("train", "valid", "test")


class SourceFile(Section):
    """A file that pairs came from."""

    name: str
    sha256: str | None = Field(description="of its bytes as they were on disk; none for a pipe")
    lines: int = Field(ge=0)


class DataDescription(Section):
    """What the manifest says beside the digests."""

    kind: Literal["data"] = "data"
    format: Literal[1] = 1
    source_language: str = Field(description="code such as en")
    target_language: str = Field(description="code such as de")
    text: TextConfig = Field(description="what was done to the text")
    cleaning: CleaningConfig | None = Field(description="how pairs were chosen; none for a catalogued corpus")
    counts: dict[str, int] = Field(description="pairs by split")
    sources: list[SourceFile] = Field(description="where the pairs came from")


@dataclass(frozen=True)
class DataFolder:
    """A verified data folder."""

    path: Path
    source_language: str
    target_language: str
    text: TextConfig
    counts: dict[str, int]
    """Pairs by split."""
    digest: str
    """SHA-256 of what the manifest says, and so of all files."""

    def file(self, split: str, language: str) -> Path:
        """Return the file of one side of a split."""
        return self.path / f"{split}.{language}"


def open_data_folder(path: Path) -> DataFolder:
    """Return the data folder at a path, all digests checked.

    Raises:
        DataError: no data folder, incomplete, damaged, edited, or of another format.
    """
    require_folder(path, wanted="a folder of nmt prepare", error=DataError)
    if not (path / MANIFEST).is_file():
        raise DataError(f"{path}: no data folder ({MANIFEST} is missing); nmt prepare writes one")
    values = read_json(path / MANIFEST)
    sealed = is_sealed(path / MANIFEST, values)
    digests, own = values.pop("files", None), values.pop("digest", None)
    if values.get("kind") != KIND or not isinstance(digests, dict):
        raise DataError(f"{path}: a folder of kind {values.get('kind')!r}; one of nmt prepare is expected")
    if values.get("format") != FORMAT:
        raise DataError(f"{path / MANIFEST}: format {values.get('format')!r}, but this nmt reads format {FORMAT}")
    if not sealed:
        raise DataError(f"{path / MANIFEST}: damaged or edited: its digest is not that of its fields")
    description = _checked_description(path / MANIFEST, values, digests)
    for name, digest in digests.items():
        verify_file(path / name, digest, manifest=MANIFEST, error=DataError)
    return DataFolder(
        path, description.source_language, description.target_language, description.text, description.counts, str(own)
    )


def _checked_description(
    manifest: Path, values: Mapping[str, object], digests: Mapping[str, object]
) -> DataDescription:
    try:
        description = validated(DataDescription, values, where=str(manifest))
    except UsageError as error:
        raise DataError(str(error)) from None
    if strange := sorted(set(description.counts) - set(SPLITS)):
        raise DataError(f"{manifest}: has a split {strange[0]!r}; there are: {', '.join(SPLITS)}")
    languages = description.source_language, description.target_language
    for name in (REPORT, *(f"{split}.{language}" for split in description.counts for language in languages)):
        if name not in digests:
            raise DataError(f"{manifest}: does not name {name}, which its counts need")
    return description


def write_manifest(folder: Path, description: DataDescription) -> None:
    """Write the manifest of a folder that is otherwise complete (see `files.new_directory`)."""
    digests = {path.name: sha256_of_file(path) for path in sorted(folder.iterdir())}
    values = description.model_dump(mode="json") | {"files": digests}
    write_sealed(folder / MANIFEST, values)
