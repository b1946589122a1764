"""The ladder of the house: a module imports from its own room and from those before it, never from above."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "nmt_cli"
LADDER = [
    *("errors", "cache", "packed", "files", "cores", "sealed", "config", "settings_files"),
    *("weight_storage", "model_folder", "builtin"),
    *("trees", "corpora", "subwords", "scoring"),
    *("batches", "model", "decoding", "training"),
    *("views", "serving", "cli"),
]
APART = {"__init__", "__main__"}
HEIGHT = {room: height for height, room in enumerate(LADDER)}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def rooms_imported(source: str, *, package: str) -> set[str]:
    """Return the rooms of nmt_cli that a module names in any import, wherever it stands."""
    names = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("nmt_cli.")}


def test_the_reader_of_imports_sees_every_form() -> None:
    source = """
from __future__ import annotations
import nmt_cli.files as f
from nmt_cli import errors
from nmt_cli.model.loss import summed_loss
from ..config import Section
from . import layers
import torch
if TYPE_CHECKING:
    from nmt_cli.training import loop
def late():
    from nmt_cli.decoding.beam import search
"""
    found = rooms_imported(source, package="nmt_cli.batches")
    assert found == {"files", "errors", "model", "config", "batches", "training", "decoding"}


def test_every_module_has_its_rung() -> None:
    assert {room_of(module) for module in MODULES} <= HEIGHT.keys() | APART


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_its_own_room_and_from_below(module: Path) -> None:
    room = room_of(module)
    if room in APART:
        return
    package = ".".join(["nmt_cli", *module.relative_to(PACKAGE).parts[:-1]])
    # `__version__` and `Translator` are attributes of the package itself.
    imported = rooms_imported(module.read_text(encoding="utf-8"), package=package) - {"__version__", "Translator"}
    assert imported <= HEIGHT.keys()
    above = {other for other in imported if HEIGHT[other] > HEIGHT[room]}
    assert not above, f"{room} imports from above: {above}"
