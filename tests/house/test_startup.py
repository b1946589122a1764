"""Torch comes late: what does not compute with it does not import it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.model_folder import open_model_folder, subword_files, write_model_folder

PACKAGE = Path(__file__).parents[2] / "nmt_cli"
WITHOUT_TORCH = ["errors", "packed", "files", "config", "settings_files", "weight_storage", "model_folder"]
ROOMS_WITHOUT_TORCH = ["trees", "corpora", "subwords", "scoring", "batches"]
COMMANDS = ["prepare", "bpe", "train", "average", "translate", "score", "export", "report"]

RUN = """
import sys
from nmt_cli.cli.main import main
sys.argv = ["nmt", *sys.argv[1:]]
try:
    main()
finally:
    print("modules:", *sorted({name.split(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def python(source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", source, *arguments], capture_output=True, text=True, check=False, encoding="utf-8"
    )


def modules_of_a_run(*arguments: str) -> set[str]:
    run = python(RUN, *arguments)
    assert run.returncode == 0, run.stderr
    return set(run.stderr.splitlines()[-1].removeprefix("modules: ").split())


def modules_without_torch() -> list[str]:
    rooms = [path for room in ROOMS_WITHOUT_TORCH for path in sorted((PACKAGE / room).rglob("*.py"))]
    inner = [".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in rooms]
    return [f"nmt_cli.{name.removesuffix('.__init__')}" for name in [*WITHOUT_TORCH, *inner]]


@pytest.mark.parametrize("arguments", [["--help"], *[[command, "--help"] for command in COMMANDS]], ids=" ".join)
def test_help_imports_neither_torch_nor_numpy(arguments: list[str]) -> None:
    assert not {"torch", "numpy", "sentencepiece", "sacrebleu"} & modules_of_a_run(*arguments)


def test_score_does_not_import_torch(tmp_path: Path) -> None:
    text = tmp_path / "text.de"
    text.write_bytes("Der Hund schläft heute im Garten .\n".encode())
    assert "torch" not in modules_of_a_run("score", "--reference", str(text), str(text))


def test_translating_with_ctranslate2_does_not_import_torch_even_where_the_model_is_converted(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_model_folder(model_folder)
    builtin = tmp_path / "builtin" / "en-de"
    builtin.mkdir(parents=True)
    search = opened.description.search.model_copy(update={"length_penalty": "length"})
    description = opened.description.model_copy(update={"search": search, "stored_as": "int8"})
    write_model_folder(builtin, weights=opened.weights(), description=description, subwords=subword_files(opened))
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "in").write_bytes(b"the red dog\n")
    as_if_shipped = f"import nmt_cli.builtin, pathlib\nnmt_cli.builtin.FOLDER = pathlib.Path({str(builtin.parent)!r})\n"
    arguments = ("translate", str(tmp_path / "in"), "--model", str(builtin), "--output", str(tmp_path / "out"))
    for _ in range(2):
        run = python(as_if_shipped + RUN, *arguments)
        assert run.returncode == 0, run.stderr
        modules = run.stderr.splitlines()[-1].split()
        assert "ctranslate2" in modules
        assert "torch" not in modules
        assert (tmp_path / "out").read_bytes().count(b"\n") == 1
        (tmp_path / "out").unlink()


def test_no_module_up_to_batches_imports_torch() -> None:
    source = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)\nprint(*sys.modules)"
    run = python(source, *modules_without_torch())
    assert run.returncode == 0, run.stderr
    loaded = run.stdout.split()
    assert "nmt_cli.batches" in loaded
    assert "torch" not in loaded


def test_the_package_offers_its_public_names_and_loads_torch_only_for_them() -> None:
    run = python("import nmt_cli, sys\nprint(nmt_cli.__version__, 'torch' in sys.modules, *nmt_cli.__all__)")
    version, torch_loaded, *names = run.stdout.split()
    assert torch_loaded == "False"
    assert names == ["Translator", "__version__"]
    assert version.count(".") == 2


def test_translator_is_a_name_of_the_package() -> None:
    run = python("from nmt_cli import Translator\nprint(callable(Translator.load), callable(Translator.translate))")
    assert run.stdout.split() == ["True", "True"], run.stderr


def test_an_unknown_name_of_the_package_is_an_attribute_error() -> None:
    run = python("import nmt_cli\nnmt_cli.Translater")
    assert run.returncode == 1
    assert "AttributeError: module 'nmt_cli' has no attribute 'Translater'" in run.stderr
