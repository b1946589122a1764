"""Converted models, kept in the user's cache folder by digest; no torch unless a conversion is to be verified."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import ctranslate2

from nmt_cli.cache import cache_folder
from nmt_cli.errors import MachineError, ModelError, NmtError, UsageError
from nmt_cli.files import new_directory, read_json, sha256_of_file, sha256_of_json
from nmt_cli.model_folder import ModelFolder
from nmt_cli.sealed import is_sealed, verify_file, write_sealed

MANIFEST = "converted.json"
KIND = "converted model"
FORMAT = 1
MOST_KEPT = 16
"""Conversions in the cache; the one that was used longest ago goes."""


@contextlib.contextmanager
def converted_model(folder: ModelFolder, *, quantization: str | None, verified: bool) -> Iterator[Path]:
    """Give a folder with the model in CTranslate2's form: the cached one, else one that is made now.

    Where nothing can be cached it lasts as long as the block. With `verified`, a new conversion must agree with the
    torch engine.

    Raises:
        UsageError: CTranslate2 cannot express the model.
        ModelError: the conversion does not agree, or the weights are not finite.
    """
    wanted = {
        "kind": KIND,
        "format": FORMAT,
        "model": sha256_of_json(dict(folder.digests)),
        "quantization": quantization or "float32",
        "ctranslate2": ctranslate2.__version__,
    }
    place = cache_folder() / "ctranslate2" / sha256_of_json(wanted)[:24]
    if _is_whole(place, wanted):
        with contextlib.suppress(OSError):
            (place / MANIFEST).touch()
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="nmt-") as scratch:
        made = Path(scratch) / "model"
        made.mkdir()
        _convert(folder, made, quantization=quantization, verified=verified)
        # A cache that cannot be written costs time, no answer.
        with contextlib.suppress(MachineError, UsageError):
            with new_directory(place, manifest=MANIFEST, kind=KIND, force=True) as target:
                shutil.copytree(made, target, dirs_exist_ok=True)
                files = {path.name: sha256_of_file(path) for path in sorted(target.iterdir())}
                write_sealed(target / MANIFEST, {**wanted, "files": files})
            _drop_oldest(place.parent)
        yield made


def _is_whole(place: Path, wanted: dict[str, object]) -> bool:
    if not (place / MANIFEST).is_file():
        return False
    try:
        values = read_json(place / MANIFEST)
        files = values.get("files")
        if not is_sealed(place / MANIFEST, values) or not isinstance(files, dict):
            return False
        for name, digest in files.items():
            verify_file(place / name, digest, manifest=MANIFEST, error=ModelError)
    except (NmtError, OSError):
        return False
    return all(values.get(name) == value for name, value in wanted.items())


def _convert(folder: ModelFolder, target: Path, *, quantization: str | None, verified: bool) -> None:
    from nmt_cli.decoding.ctranslate_conversion import convert_to_ctranslate2

    if verified:
        from nmt_cli.decoding.conversion_check import refuse_unequal

        exact = target.with_name("float32")
        exact.mkdir()
        convert_to_ctranslate2(folder, exact)
        refuse_unequal(folder, exact)
        if quantization is None:
            shutil.copytree(exact, target, dirs_exist_ok=True)
            return
    convert_to_ctranslate2(folder, target, quantization=quantization)


def _drop_oldest(cache: Path) -> None:
    with contextlib.suppress(OSError):
        manifests = sorted(cache.glob(f"*/{MANIFEST}"), key=lambda path: -path.stat().st_mtime)
        for manifest in manifests[MOST_KEPT:]:
            shutil.rmtree(manifest.parent, ignore_errors=True)
