"""The model folder: weights, subwords and all that a user of the model needs; no torch here.

    weights.safetensors   subwords.model (or source.model and target.model)   model.json (last)

A checkpoint is an average is a model: all three are this folder. `model.json` names the SHA-256 of
every sibling and of its own other fields.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from nmt_cli.config import ModelConfig, SearchConfig, Section, StorageForm, TextConfig
from nmt_cli.errors import MachineError, ModelError, UsageError
from nmt_cli.files import read_json, require_folder, sha256_of_file
from nmt_cli.sealed import is_sealed, verify_file, write_sealed
from nmt_cli.settings_files import validated

if TYPE_CHECKING:
    import numpy as np  # as late as torch: a start that reads no weights goes without

Weights = Mapping[str, "np.ndarray[Any, Any]"]
MANIFEST = "model.json"
KIND = "model"
FORMAT = 1
WEIGHTS = "weights.safetensors"
JOINT_SUBWORDS = "subwords.model"
SEPARATE_SUBWORDS = ("source.model", "target.model")
FILE_SETS = ({WEIGHTS, JOINT_SUBWORDS}, {WEIGHTS, *SEPARATE_SUBWORDS})


class ModelDescription(Section):
    """What `model.json` says beside the digests."""

    kind: Literal["model"] = "model"
    format: Literal[1] = 1
    source_language: str = Field(description="code such as en")
    target_language: str = Field(description="code such as de")
    source_vocab_size: int = Field(gt=0, description="pieces of the source side")
    target_vocab_size: int = Field(gt=0, description="pieces of the target side")
    model: ModelConfig
    search: SearchConfig = Field(description="the defaults of `translate` with this model")
    text: TextConfig = Field(description="what is done to text before subwords see it")
    stored_as: StorageForm = Field(default="float32", description="of the weights: `weight_storage`")
    step: int = Field(ge=0, description="updates behind these weights; of an average, the last one's")
    scores: dict[str, float | str] = Field(default_factory=dict, description="at the last validation")
    licence: str | None = Field(default=None, description="of the weights")
    provenance: dict[str, Any] = Field(default_factory=dict, description="digests of data and parents, versions")


@dataclass(frozen=True)
class ModelFolder:
    """A verified model folder."""

    path: Path
    description: ModelDescription
    digests: Mapping[str, str]
    """SHA-256 by file name."""

    @property
    def source_subwords(self) -> Path:
        """The SentencePiece model of the source side."""
        return self.path / (JOINT_SUBWORDS if self.shares_subwords else SEPARATE_SUBWORDS[0])

    @property
    def target_subwords(self) -> Path:
        """The SentencePiece model of the target side."""
        return self.path / (JOINT_SUBWORDS if self.shares_subwords else SEPARATE_SUBWORDS[1])

    @property
    def shares_subwords(self) -> bool:
        """Whether both sides use one SentencePiece model."""
        return JOINT_SUBWORDS in self.digests

    def weights(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the tensors by name, in float32 if they were stored in fewer bits.

        Raises:
            ModelError: missing, damaged, or another format.
        """
        from nmt_cli.weight_storage import restored

        return restored(self.stored_weights(), self.description.stored_as, where=str(self.path / WEIGHTS))

    def stored_weights(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the tensors by name as they are stored: in an int8 model, numbers and scales."""
        return read_tensors(self.path / WEIGHTS)


def read_tensors(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Return the tensors of a safetensors file.

    Raises:
        ModelError: missing, damaged, or another format.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return dict(load_file(path))
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: cannot be loaded ({error})") from None


def write_tensors(path: Path, tensors: Weights) -> None:
    """Write a safetensors file.

    Raises:
        MachineError: the disk refuses.
    """
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        # Beforehand, so that the file has the usual permissions: a new one of this library is its owner's alone.
        path.touch()
        mode = path.stat().st_mode
        save_file({name: np.asarray(array, order="C") for name, array in tensors.items()}, path)
        path.chmod(mode)
    except (SafetensorError, OSError) as error:
        raise MachineError(f"{path}: cannot be written ({error})") from None


def open_model_folder(path: Path) -> ModelFolder:
    """Return the model folder at a path, all digests checked.

    Raises:
        ModelError: no model folder, incomplete, damaged, or of a newer format.
    """
    require_folder(path, wanted="a model folder", error=ModelError)
    if not (path / MANIFEST).is_file():
        raise ModelError(f"{path}: no model folder ({MANIFEST} is missing){_what_it_is(path)}")
    values = read_json(path / MANIFEST, error=ModelError)
    sealed = is_sealed(path / MANIFEST, values)
    digests, _ = values.pop("files", None), values.pop("digest", None)
    if values.get("kind") != KIND or not isinstance(digests, dict):
        raise ModelError(f"{path / MANIFEST}: describes no model (kind {values.get('kind')!r})")
    if values.get("format") != FORMAT:
        raise ModelError(f"{path / MANIFEST}: format {values.get('format')!r}, but this nmt reads format {FORMAT}")
    if not sealed:
        raise ModelError(f"{path / MANIFEST}: damaged or edited: its digest is not that of its fields")
    if set(digests) not in FILE_SETS:
        raise ModelError(f"{path / MANIFEST}: names the files {', '.join(sorted(digests))}; a model has others")
    for name, digest in digests.items():
        verify_file(path / name, digest, manifest=MANIFEST, error=ModelError)
    try:
        description = validated(ModelDescription, values, where=str(path / MANIFEST))
    except UsageError as error:
        raise ModelError(str(error)) from None
    return ModelFolder(path, description, digests)


def _what_it_is(path: Path) -> str:
    if (path / "last" / MANIFEST).is_file():
        return f"; this is a run: use {path / 'last'} or {path / 'best'}"
    if (path / "manifest.json").is_file():
        return f"; this is a {read_json(path / 'manifest.json', error=ModelError).get('kind', 'foreign')} folder"
    return ""


def write_model_folder(
    folder: Path, *, weights: Weights, description: ModelDescription, subwords: Mapping[str, Path]
) -> None:
    """Fill an empty folder (see `files.new_directory`) with a model.

    `subwords` maps the file names of this format to the files to copy. The description says how to store weights.
    """
    from nmt_cli.weight_storage import stored

    write_tensors(folder / WEIGHTS, stored(weights, description.stored_as))
    for name, source in subwords.items():
        shutil.copyfile(source, folder / name)
    digests = {name: sha256_of_file(folder / name) for name in (WEIGHTS, *subwords)}
    values = description.model_dump(mode="json") | {"files": digests}
    write_sealed(folder / MANIFEST, values)


def subword_digests(model: ModelFolder) -> list[str]:
    """Return the SHA-256 of the subword models of source and target; one where they share it."""
    files = [model.source_subwords] if model.shares_subwords else [model.source_subwords, model.target_subwords]
    return [model.digests[path.name] for path in files]


def subword_files(model: ModelFolder) -> dict[str, Path]:
    """Return the subword files of a model, as `write_model_folder` takes them."""
    return {name: model.path / name for name in model.digests if name != WEIGHTS}
