"""How the source reads: short modules, plain names, nothing that runs what it loads."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "nmt_cli").rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
# In pieces, so that this file does not hold what it forbids.
PATHS_OUTSIDE = re.compile("|".join([r"\.\./" + "shared", "(^|[^A-Za-z])/" + "work/", "/" + "farm/"]))


def imported(tree: ast.Module) -> set[str]:
    """Return the first parts of all that a module imports."""
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_there_is_source_to_look_at() -> None:
    assert ROOT / "nmt_cli" / "errors.py" in TREES


def test_no_module_has_more_than_300_lines() -> None:
    lengths = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: lines for path, lines in lengths.items() if lines > 300} == {}


def test_no_module_is_called_by_a_word_that_says_nothing() -> None:
    words = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [path for path in MODULES if words & {part.removesuffix(".py") for part in path.parts[-3:]}] == []


def test_nothing_imports_a_library_that_runs_what_it_loads() -> None:
    runs_code = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
    assert [path for path, tree in TREES.items() if imported(tree) & runs_code] == []


def test_nothing_calls_torch_load_or_save_or_passes_objects_between_ranks() -> None:
    forbidden = {("torch", "load"), ("torch", "save"), ("np", "load_pickle")}
    of_objects = r"(all_gather|gather|scatter|broadcast|send|recv)_object(_list)?"
    found = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute):
                continue
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if (owner, node.attr) in forbidden or re.fullmatch(of_objects, node.attr):
                found.append(f"{path}:{node.lineno}: {owner}.{node.attr}")
    assert found == []


def test_arrays_are_never_loaded_with_pickles_allowed() -> None:
    allowing = [
        f"{path}:{node.lineno}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False"
    ]
    assert allowing == []


def test_nothing_imports_click_which_typer_carries_in_a_copy_of_its_own() -> None:
    assert [path for path, tree in TREES.items() if "click" in imported(tree)] == []


def test_no_handler_catches_every_exception_and_goes_on() -> None:
    broad = [
        f"{path}:{node.lineno}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
        and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    ]
    assert broad == []


def test_every_module_states_what_it_is_for() -> None:
    assert [path for path, tree in TREES.items() if not ast.get_docstring(tree)] == []


def tracked_files() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def test_no_tracked_file_names_a_path_outside_the_repository() -> None:
    found = []
    for path in tracked_files():
        for number, line in enumerate(path.read_bytes().decode("utf-8", errors="replace").splitlines(), start=1):
            if PATHS_OUTSIDE.search(line):
                found.append(f"{path}:{number}")
    assert found == []


def test_no_tracked_file_is_larger_than_three_megabytes_but_the_weights_that_ship() -> None:
    large = [path for path in tracked_files() if path.stat().st_size > 3_000_000]
    assert all(path.match("nmt_cli/builtin/*/weights.safetensors") for path in large)
    assert sum(path.stat().st_size for path in large) < 12_000_000
