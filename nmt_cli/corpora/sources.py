"""Where the texts of a catalogued corpus lie: in a folder that a person names, in the cache, or fetched now."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.corpora.archives import open_member
from nmt_cli.corpora.download import Tell, check, fetch, in_cache
from nmt_cli.corpora.entries import SPLITS, Entry, Member, Part
from nmt_cli.corpora.reading import CheckedFile
from nmt_cli.corpora.sgm import segments
from nmt_cli.errors import DataError
from nmt_cli.files import Record, read_records, require_folder, sha256_of_file

SPLIT_NAMES = {"train": ("train",), "valid": ("valid", "val", "dev"), "test": ("test",)}


@dataclass(frozen=True)
class Place:
    """A file on this machine, and the text in it."""

    file: Path
    sha256: str
    member: str | None = None


class CatalogueText(CheckedFile):
    """A text of the catalogue: a file, or a member of an archive; SGM files give their segments."""

    def __init__(self, place: Place, *, expected: int | None = None) -> None:
        """Nothing is read yet; `expected` is the number of lines that the catalogue knows."""
        super().__init__(place.file / place.member if place.member else place.file)
        self.sha256 = place.sha256
        self._place = place
        self._expected = expected

    def _raw_records(self) -> Generator[Record]:
        n_records = 0
        with open_member(self._place.file, self._place.member) as stream:
            records = read_records(stream)
            if self.path.name.endswith((".sgm", ".sgm.gz")):
                records = segments(records, name=str(self.path))
            for record in records:
                n_records += 1
                yield record
        if self._expected not in {None, n_records}:
            raise DataError(f"{self.path}: {n_records:,} lines, but the catalogue knows of {self._expected:,}")


def texts_of(entry: Entry, folder: Path | None, cache: Path, tell: Tell) -> dict[str, list[list[CheckedFile]]]:
    """Return the texts of a corpus by split: from a folder, where one is named, and the cache; else fetched.

    Raises:
        DataError: something is damaged, or the folder lacks a file.
        MachineError: something cannot be fetched.
    """
    if folder is not None:
        require_folder(folder, wanted="a folder with the archives, or the files in them,", error=DataError)
        if entry.split_files and (found := _split_files(entry, folder)):
            return found
    places = _fetched(entry, cache, tell) if folder is None else _brought(entry, folder, cache, tell)
    texts: dict[str, list[list[CheckedFile]]] = {}
    for part in entry.parts:
        members = [member for member in (part.source, part.target) if member is not None]
        files: list[CheckedFile] = [CatalogueText(places[_name(member)], expected=part.lines) for member in members]
        texts.setdefault(part.split, []).append(files)
    return texts


def _name(member: Member) -> tuple[str, str | None]:
    return member.archive, member.member


def _members(parts: list[Part]) -> list[Member]:
    return [member for part in parts for member in (part.source, part.target) if member is not None]


def _fetched(entry: Entry, cache: Path, tell: Tell) -> dict[tuple[str, str | None], Place]:
    files = {name: fetch(archive, cache, tell=tell) for name, archive in entry.archives.items()}
    return {_name(member): Place(*files[member.archive], member.member) for member in _members(entry.parts)}


def _brought(entry: Entry, folder: Path, cache: Path, tell: Tell) -> dict[tuple[str, str | None], Place]:
    """Find archives, or the texts in them; nothing is fetched where a person has named a folder."""
    places: dict[tuple[str, str | None], Place] = {}
    missing = list[str]()
    for name, archive in entry.archives.items():
        members = [member for member in _members(entry.parts) if member.archive == name]
        if (file := folder / archive.file).is_file():
            digest = check(file, archive.copies)
            places |= {_name(member): Place(file, digest, member.member) for member in members}
            continue
        texts = {_name(member): found for member in members if (found := _extracted(folder, member.member))}
        if len(texts) == len(members):
            places |= {named: Place(found, sha256_of_file(found)) for named, found in texts.items()}
        elif cached := in_cache(archive, cache, tell=tell):
            places |= {_name(member): Place(*cached, member.member) for member in members}
        else:
            size = f"{archive.bytes:,} bytes, " if archive.bytes else ""
            missing.append(f"{archive.file} ({size}{archive.urls[0]})")
    if missing:
        raise DataError(
            f"{folder}: lacks {', '.join(missing)}; put each there as it is or unpacked, or leave --from out to fetch"
        )
    return places


def _extracted(folder: Path, member: str | None) -> Path | None:
    """Return a text that lies in a folder under its whole name or its last part, packed by gzip or not."""
    if member is None:
        return None
    plain = member.removesuffix(".gz")
    names = (plain, f"{plain}.gz", Path(plain).name, f"{Path(plain).name}.gz")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _split_files(entry: Entry, folder: Path) -> dict[str, list[list[CheckedFile]]]:
    """Return the splits that lie in a folder as SPLIT.LANGUAGE, packed by gzip or not; none without train."""
    texts: dict[str, list[list[CheckedFile]]] = {}
    for split in SPLITS:
        for name in SPLIT_NAMES[split]:
            sides = [
                _extracted(folder, f"{name}.{language}") for language in (entry.source_language, entry.target_language)
            ]
            found = [side for side in sides if side is not None]
            if len(found) == len(sides):
                texts[split] = [[CatalogueText(Place(side, sha256_of_file(side))) for side in found]]
                break
    return texts if "train" in texts else {}
