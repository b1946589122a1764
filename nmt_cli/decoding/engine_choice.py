"""Which engine translates: the fastest that can do exactly what is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nmt_cli.builtin import is_builtin
from nmt_cli.config import SearchConfig
from nmt_cli.cores import cores_to_use
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.model_folder import ModelFolder
from nmt_cli.subwords.segmenter import Segmenter

if TYPE_CHECKING:
    from nmt_cli.decoding.translator import Engine

EngineName = Literal["torch", "ctranslate2"]
INT8 = ("int8", "int8_float32", "int8_float16", "int8_bfloat16")
TYPES = ("auto", "float32", "float16", "bfloat16", *INT8)


@dataclass(frozen=True)
class EngineChoice:
    """An engine, where it computes and in what."""

    name: EngineName
    device: str
    """auto, cpu or cuda."""
    compute_type: str
    """One of TYPES, but auto."""
    reason: str = ""
    """Why it is not the faster one; empty when it is, or was asked for."""
    may_fall_back: bool = False
    """Whether torch does as well, should the conversion fail."""

    def __str__(self) -> str:
        """Return what a user is told."""
        return f"{self.name} ({self.compute_type})" + (f", since {self.reason}" if self.reason else "")


def choose_engine(
    folders: Sequence[ModelFolder],
    search: SearchConfig,
    *,
    engine: str = "auto",
    device: str = "auto",
    compute_type: str = "auto",
    has_prefixes: bool = False,
) -> EngineChoice:
    """Return what computes.

    Without a type it is the one that the weights are stored in, so that nothing is lost: int8 or else float32.

    Raises:
        UsageError: an unknown engine or type, or one that cannot do what is asked for.
    """
    if engine not in {"auto", "torch", "ctranslate2"}:
        raise UsageError(f"engine {engine!r} is unknown; there are auto, torch and ctranslate2")
    if compute_type not in TYPES:
        raise UsageError(f"compute type {compute_type!r} is unknown; there are {', '.join(TYPES)}")
    reason = _why_not_ctranslate2(folders, search, has_prefixes=has_prefixes)
    if engine == "torch" or (engine == "auto" and reason is not None):
        if search.length_penalty == "wu-rescored":
            raise UsageError("length penalty wu-rescored: not by the engine torch, which has wu itself")
        chosen = "float32" if compute_type == "auto" else compute_type
        return EngineChoice("torch", device, chosen, reason or "" if engine == "auto" else "")
    if reason is not None:
        raise UsageError(f"engine ctranslate2: {reason}; use --engine torch")
    chosen = _stored_type(folders[0]) if compute_type == "auto" else compute_type
    return EngineChoice("ctranslate2", device, chosen, may_fall_back=engine == "auto" and compute_type == "auto")


def _why_not_ctranslate2(folders: Sequence[ModelFolder], search: SearchConfig, *, has_prefixes: bool) -> str | None:
    from nmt_cli.decoding.ctranslate_engine import why_not_model, why_not_search

    if len(folders) > 1:
        return "there are several models"
    return why_not_model(folders[0].description.model) or why_not_search(search, has_prefixes=has_prefixes)


def _stored_type(folder: ModelFolder) -> str:
    return "int8" if folder.description.stored_as == "int8" else "float32"


def open_engine(
    folders: Sequence[ModelFolder],
    choice: EngineChoice,
    *,
    source: Segmenter,
    target: Segmenter,
    threads: int | None = None,
) -> tuple[Engine, EngineChoice]:
    """Load the models; return the engine and what it came to be.

    `threads` are those of CTranslate2, by default one a core.

    Raises:
        ModelError: weights, subwords and description do not fit each other, or the conversion is no good.
        UsageError: no such device, or it does not compute in this type.
    """
    if choice.name == "ctranslate2":
        try:
            pieces = [side.pieces(range(side.vocab_size)) for side in (source, target)]
            return _open_ctranslate2(folders[0], choice, *pieces, threads=threads or cores_to_use()), choice
        except ModelError as error:
            if not choice.may_fall_back:
                raise
            choice = EngineChoice("torch", choice.device, "float32", reason=str(error))
    from nmt_cli.decoding.engine import TorchEngine

    return TorchEngine.load(*folders, device=choice.device, compute_type=choice.compute_type), choice


def _open_ctranslate2(
    folder: ModelFolder, choice: EngineChoice, source: list[str], target: list[str], *, threads: int
) -> Engine:
    from nmt_cli.decoding.converted import converted_model
    from nmt_cli.decoding.ctranslate_engine import CTranslateEngine, chosen_device

    quantization = "int8" if choice.compute_type in INT8 else None
    with converted_model(folder, quantization=quantization, verified=not is_builtin(folder.path)) as converted:
        return CTranslateEngine.load(
            converted,
            source=source,
            target=target,
            config=folder.description.model,
            device=chosen_device(choice.device),
            compute_type=choice.compute_type,
            threads=threads,
        )
