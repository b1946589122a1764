"""What the catalogue says of a corpus: one TOML file each, read strictly.

    description = "..."     source_language = "en"     target_language = "de"     licence = "..."
    [text]  [cleaning]      the recipe's own settings, as with --set
    [archives.NAME]         file, urls, known_from, and bytes, sha256, md5 where somebody published them
    [[parts]]               split, source, target: the member of an archive each; target is left out for TSV

A file in the folder that $NMT_CATALOGUE names is read too, and goes before one of the same name here.
"""

from __future__ import annotations

import os
import tomllib
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, PositiveInt, StringConstraints, model_validator

from nmt_cli.config import Section
from nmt_cli.errors import UsageError
from nmt_cli.settings_files import read_toml, suggestion, validated

OWN_CATALOGUE = "NMT_CATALOGUE"
SPLITS = ("train", "valid", "test")
PlainName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,100}$")]
Address = Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class Copy(Section):
    """A file as somebody publishes it."""

    urls: list[Address] = Field(min_length=1, description="where it is to be had, tried in this order")
    known_from: str = Field(description="the public page or recipe that names the addresses")
    bytes: PositiveInt | None = Field(default=None, description="its size, where published")
    sha256: Sha256 | None = Field(default=None, description="where published; else that of the first download is kept")
    md5: Md5 | None = Field(default=None, description="where only this is published")


class Archive(Copy):
    """A file to fetch."""

    file: PlainName = Field(description="name under which it is published")
    other_copies: list[Copy] = Field(default=[], description="of other bytes, which hold the same texts")

    @property
    def copies(self) -> list[Copy]:
        """All copies, the first one first."""
        return [self, *self.other_copies]


class Member(Section):
    """A text in an archive."""

    archive: str = Field(description="name of the archive")
    member: str | None = Field(default=None, description="name in it; none where the file itself is the text")


class Part(Section):
    """Aligned texts that go to one split; a split may have several, read in this order."""

    split: Literal["train", "valid", "test"]
    source: Member
    target: Member | None = Field(default=None, description="none where the source is TSV of two columns")
    lines: PositiveInt | None = Field(default=None, description="pairs in it, where known; another number is refused")


class Entry(Section):
    """A corpus of the catalogue."""

    description: str
    source_language: str
    target_language: str
    licence: str = Field(description="as its makers state it")
    text: dict[str, object] = Field(default={}, description="settings of [text]")
    cleaning: dict[str, object] = Field(default={}, description="settings of [cleaning]")
    generated: bool = Field(default=False, description="made by this package, nothing to fetch")
    treebank: bool = Field(default=False, description="trees in a folder that --from names, nothing to fetch")
    split_files: bool = Field(
        default=False, description="--from may hold train, valid and test, one text a language, instead of the archives"
    )
    archives: dict[PlainName, Archive] = Field(default={})
    parts: list[Part] = Field(default=[])

    @model_validator(mode="after")
    def check_parts(self) -> Entry:
        """Refuse members of archives that are not listed, archives without use, and a corpus without train."""
        members = [member for part in self.parts for member in (part.source, part.target) if member is not None]
        used = {member.archive for member in members}
        if used != set(self.archives):
            odd = sorted(used ^ set(self.archives))
            raise ValueError(f"archive {odd[0]!r} stands in only one of [archives] and [[parts]]")
        for member in members:
            if member.member is not None and not is_plain_path(member.member):
                raise ValueError(f"member {member.member!r} is no plain path inside an archive")
        if not (self.generated or self.treebank or any(part.split == "train" for part in self.parts)):
            raise ValueError("no part has split = 'train'")
        return self


def is_plain_path(name: str) -> bool:
    """Tell whether a name leads to a place below where it starts."""
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and "\\" not in name and "\x00" not in name


def catalogue_names() -> list[str]:
    """Return the names of all corpora, this package's first."""
    own = (path for path in resources.files(__package__).joinpath("catalogue_files").iterdir())
    names = sorted(entry.name.removesuffix(".toml") for entry in own if entry.name.endswith(".toml"))
    return names + sorted(path.stem for path in _users_files() if path.stem not in names)


def read_entry(name: str) -> Entry:
    """Return the entry of a corpus.

    Raises:
        UsageError: no such corpus (the line names those that are), or its file is no good.
    """
    if found := next((path for path in _users_files() if path.stem == name), None):
        return validated(Entry, read_toml(found), where=str(found))
    names = catalogue_names()
    if name not in names:
        raise UsageError(
            f"corpus {name!r} is unknown{suggestion(name, names)}; there are: {', '.join(names)}; "
            "your own files are named with --source and --target"
        )
    file = resources.files(__package__).joinpath("catalogue_files", f"{name}.toml")
    return validated(Entry, tomllib.loads(file.read_text(encoding="utf-8")), where=f"{name}.toml")


def _users_files() -> list[Path]:
    folder = os.environ.get(OWN_CATALOGUE)
    return sorted(Path(folder).glob("*.toml")) if folder else []
