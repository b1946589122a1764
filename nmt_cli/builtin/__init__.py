"""The models that ship with the package; each folder has its card, README.md, with data, licence and scores."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
ENGLISH_GERMAN = FOLDER / "en-de"


def builtin_model() -> Path:
    """Return the model folder that `nmt translate` takes when none is named: English to German."""
    return ENGLISH_GERMAN


def is_builtin(path: Path) -> bool:
    """Tell a model that ships with the package from any other."""
    return path.parent == FOLDER
