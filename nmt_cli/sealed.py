"""Manifests that name the digests of their siblings and of themselves: any byte that differs is noticed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.files import json_bytes, sha256_of_file, sha256_of_json, write_json


def write_sealed(path: Path, values: Mapping[str, object]) -> None:
    """Write a manifest with the digest of its fields, which stands last."""
    write_json(path, {**values, "digest": sha256_of_json(values)})


def is_sealed(path: Path, values: Mapping[str, object]) -> bool:
    """Tell whether the values read from a manifest are what its digest says, and its bytes what was written.

    The bytes too: two spellings of a number can have one value, and spaces none.
    """
    fields = {name: value for name, value in values.items() if name != "digest"}
    return values.get("digest") == sha256_of_json(fields) and path.read_bytes() == json_bytes(values)


def verify_file(path: Path, digest: object, *, manifest: str, error: type[NmtError]) -> None:
    """Check that a file of a folder is the one that the folder's manifest names.

    Raises:
        NmtError: of the kind `error`, when it is missing, unreadable or another.
    """
    if not path.is_file():
        raise error(f"{path}: missing from its folder")
    try:
        found = sha256_of_file(path)
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror})") from None
    if found != digest:
        raise error(f"{path}: damaged or edited: sha256 is {found[:12]}…, {manifest} says {str(digest)[:12]}…")
