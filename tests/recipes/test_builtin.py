"""The recipe of the built-in model: what careless copies look like, and what goes into the package."""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from nmt_cli.model_folder import open_model_folder

RECIPE = Path(__file__).parents[2] / "recipes" / "builtin"


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"builtin_recipe_{name}", RECIPE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("kind", "copy"),
    [
        ("mark", "Is Tom back from the U.S.A"),
        ("capital", "is Tom back from the U.S.A.?!"),
        ("mark and capital", "is Tom back from the U.S.A"),
        ("mark and all capitals", "is tom back from the u.s.a"),
    ],
)
def test_a_careless_copy_lacks_what_its_kind_says_and_nothing_else(kind: str, copy: str) -> None:
    casual = program("casual")
    assert kind in casual.KINDS
    assert casual.casual("Is Tom back from the U.S.A.?!", kind) == copy


def write_packed(path: Path, lines: list[str]) -> Path:
    with gzip.open(path, "wt", encoding="utf-8", newline="\n") as stream:
        stream.writelines(line + "\n" for line in lines)
    return path


def make_copies(folder: Path, sources: list[str], targets: list[str]) -> tuple[list[str], list[str]]:
    source, target = write_packed(folder / "a.gz", sources), write_packed(folder / "b.gz", targets)
    out = folder / "out"
    files = [f"--source={source}", f"--target={target}", f"--out-source={out / 'a'}", f"--out-target={out / 'b'}"]
    run = subprocess.run(
        [sys.executable, RECIPE / "casual.py", "--share=0.5", *files],
        check=False,
    )
    assert run.returncode == 0
    texts = ((out / name).read_text(encoding="utf-8") for name in "ab")
    one, two = (text.removesuffix("\n").split("\n") for text in texts)
    return one, two


def test_every_pair_stays_and_half_of_them_have_a_copy_with_the_same_target(tmp_path: Path) -> None:
    sources = [f"Number {i}\u2028is Odd." for i in range(400)]
    targets = [f"Nummer {i} ist Seltsam." for i in range(400)]
    one, two = make_copies(tmp_path, sources, targets)
    pairs, originals = list(zip(one, two, strict=True)), list(zip(sources, targets, strict=True))
    assert [pair for pair in pairs if pair in set(originals)] == originals
    copies = [pair for pair in pairs if pair not in set(originals)]
    assert 150 < len(copies) < 250
    assert {target for _, target in copies} <= set(targets)
    for source, target in copies:
        assert source.lower().rstrip(".") == sources[targets.index(target)].lower().rstrip(".")
    assert make_copies(tmp_path, sources, targets) == (one, two)


def test_a_sentence_without_mark_or_capital_has_no_copy_and_one_of_marks_alone_no_empty_one(tmp_path: Path) -> None:
    one, _ = make_copies(tmp_path, ["plain"] * 50 + ["?!"] * 50, ["schlicht"] * 100)
    assert one == ["plain"] * 50 + ["?!"] * 50


def test_what_is_shipped_carries_licence_score_and_card(model_folder: Path, tmp_path: Path) -> None:
    scores = {"sacrebleu": {"score": 12.346, "signature": "sig-a"}, "chrf2": {"score": 3, "signature": "sig-b"}}
    (tmp_path / "score.json").write_text(json.dumps({"scores": scores}))
    options = [f"--score={tmp_path / 'score.json'}", f"--out={tmp_path / 'out'}"]
    subprocess.run([sys.executable, RECIPE / "ship.py", model_folder, *options], check=True)
    shipped, model = open_model_folder(tmp_path / "out"), open_model_folder(model_folder)
    assert "CC BY 2.0 FR" in (shipped.description.licence or "")
    assert shipped.description.scores["test_bleu"] == 12.35
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    n_parameters = sum(array.size for array in model.weights().values())
    assert f"{n_parameters:,} parameters" in card
    assert [text for text in ("12.35 BLEU", "Tatoeba", "CC BY 2.0 FR", "sig-a") if text not in card] == []
    assert "{" not in card
