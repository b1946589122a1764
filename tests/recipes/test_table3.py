"""Table 3: a file a row, the counts of each to the unit, and the chain to the table."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from nmt_cli.config import Settings
from nmt_cli.settings_files import resolve

RECIPE = Path(__file__).parents[2] / "recipes" / "table3"
BASE = (60_485_632, 63_045_632, 65_073_152, 65_126_400)
# What the paper prints: the changed settings, millions of parameters, perplexity and BLEU; then counts worked out from
# the shapes for 32,000, 37,000 and 40,960 pieces, and for these with biases and target space.
ROWS: dict[str, tuple[dict[str, object], int | None, float, float, tuple[int, int, int, int]]] = {
    "base": ({}, 65, 4.92, 25.8, BASE),
    "A1": ({"n_heads": 1, "d_k": 512, "d_v": 512}, None, 5.29, 24.9, BASE),
    "A2": ({"n_heads": 4, "d_k": 128, "d_v": 128}, None, 5.00, 25.5, BASE),
    "A3": ({"n_heads": 16, "d_k": 32, "d_v": 32}, None, 4.91, 25.8, BASE),
    "A4": ({"n_heads": 32, "d_k": 16, "d_v": 16}, None, 5.01, 25.4, BASE),
    "B1": ({"d_k": 16}, 58, 5.16, 25.1, (53_407_744, 55_967_744, 57_995_264, 58_034_688)),
    "B2": ({"d_k": 32}, 60, 5.01, 25.4, (55_767_040, 58_327_040, 60_354_560, 60_398_592)),
    "C1": (
        {"n_encoder_layers": 2, "n_decoder_layers": 2},
        *(36, 6.11, 23.7, (31_084_544, 33_644_544, 35_672_064, 35_700_736)),
    ),
    "C2": (
        {"n_encoder_layers": 4, "n_decoder_layers": 4},
        *(50, 5.19, 25.3, (45_785_088, 48_345_088, 50_372_608, 50_413_568)),
    ),
    "C3": (
        {"n_encoder_layers": 8, "n_decoder_layers": 8},
        *(80, 4.88, 25.5, (75_186_176, 77_746_176, 79_773_696, 79_839_232)),
    ),
    "C4": (
        {"d_model": 256, "d_k": 32, "d_v": 32},
        *(28, 5.75, 24.5, (25_536_512, 26_816_512, 27_830_272, 27_856_896)),
    ),
    "C5": (
        {"d_model": 1024, "d_k": 128, "d_v": 128},
        *(168, 4.66, 26.0, (158_695_424, 163_815_424, 167_870_464, 167_976_960)),
    ),
    "C6": ({"d_ff": 1024}, 53, 5.12, 25.4, (47_890_432, 50_450_432, 52_477_952, 52_531_200)),
    "C7": ({"d_ff": 4096}, 90, 4.75, 26.2, (85_676_032, 88_236_032, 90_263_552, 90_316_800)),
    "D1": ({"dropout": 0.0}, None, 5.77, 24.6, BASE),
    "D2": ({"dropout": 0.2}, None, 4.95, 25.5, BASE),
    "D3": ({"label_smoothing": 0.0}, None, 4.67, 25.3, BASE),
    "D4": ({"label_smoothing": 0.2}, None, 5.47, 25.7, BASE),
    "E": ({"positions": "learned"}, None, 4.92, 25.7, (60_747_776, 63_307_776, 65_335_296, 65_388_544)),
    "big": (
        {"d_model": 1024, "d_ff": 4096, "n_heads": 16, "dropout": 0.3, "max_steps": 300_000, "save_every_steps": 600}
        | {"validate_every_steps": 3_000},
        *(213, 4.33, 26.4, (209_051_648, 214_171_648, 218_226_688, 218_333_184)),
    ),
}


def program() -> ModuleType:
    specification = importlib.util.spec_from_file_location("rows", RECIPE / "rows.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["rows"] = module
    specification.loader.exec_module(module)
    return module


rows = program()


def flat(settings: Settings) -> dict[str, object]:
    return settings.model.model_dump() | settings.training.model_dump() | settings.search.model_dump()


def test_there_is_a_file_a_row_and_make_knows_them_all() -> None:
    assert {path.stem for path in RECIPE.glob("*.toml")} - {"ruff"} == ROWS.keys()
    makefile = (RECIPE / "Makefile").read_text(encoding="utf-8")
    assert f"\nALL := {' '.join(ROWS)}\n" in makefile


@pytest.mark.parametrize("row", ROWS)
def test_a_row_changes_what_the_paper_says_and_nothing_else(row: str) -> None:
    base = flat(resolve(preset="base", config=None))
    of_row = flat(resolve(preset="big" if row == "big" else "base", config=RECIPE / f"{row}.toml"))
    assert {name: value for name, value in of_row.items() if value != base[name]} == ROWS[row][0]
    text = (RECIPE / f"{row}.toml").read_text(encoding="utf-8")
    assert text.startswith("# Table 3, row ")
    assert sum(len(section) for section in tomllib.loads(text).values()) <= 2


@pytest.mark.parametrize("row", ROWS)
def test_the_count_of_a_row_is_exact_and_beside_the_paper_s(row: str) -> None:
    _, published, perplexity, bleu, expected = ROWS[row]
    paper = rows.paper_rows()[row]
    assert (paper.millions, paper.perplexity, paper.bleu) == (published, perplexity, bleu)
    line = rows.counts([paper])[1]
    assert line[2:] == ["-" if published is None else f"{published}M", *(f"{count:,}" for count in expected)]
    if published is not None and row != "big":
        assert round(expected[-1] / 1e6) == published
    readme = (RECIPE / "README.md").read_text(encoding="utf-8")
    in_readme = "as base" if expected == BASE and row != "base" else f"{expected[1]:,}"
    (shown,) = [line for line in readme.splitlines() if line.startswith(f"| `{row}` |")]
    cells = [cell.strip() for cell in shown.strip("|").split("|")]
    assert cells[2:] == [f"{perplexity:.2f}", f"{bleu}", f"{published}M" if published else "", in_readme]


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    }
    environment["OMP_NUM_THREADS"] = "1"
    nmt = Path(sys.executable).parent / "nmt"
    called = ["make", f"NMT={nmt}", f"PYTHON={sys.executable}", *arguments]
    return subprocess.run(called, cwd=folder, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    if shutil.which("make") is None:
        pytest.skip("no make here")
    left = shutil.ignore_patterns("data", "runs", "models", "out")
    return Path(shutil.copytree(RECIPE, tmp_path / "recipes" / "table3", ignore=left))


def test_the_plan_names_each_step_of_each_row(recipe: Path) -> None:
    (recipe / "corpus" / "pieces").mkdir(parents=True)
    (recipe / "corpus" / "pieces" / "manifest.json").touch()
    planned = make(recipe, "-n", "DATA=corpus", "ROWS=B2 big")
    assert planned.returncode == 0, planned.stderr
    calls = [line.partition("nmt ")[2].split("<")[0].split(">")[0].split() for line in planned.stdout.splitlines()]
    assert [" ".join(call) for call in calls if call] == [
        "train corpus --preset base --config B2.toml --run runs/B2",
        "translate --model runs/B2/last",
        "score --json --reference corpus/valid.de out/B2.hyp",
        "train corpus --preset big --config big.toml --run runs/big",
        "translate --model runs/big/last",
        "score --json --reference corpus/valid.de out/big.hyp",
    ]


def test_a_row_that_is_none_is_refused_by_name(recipe: Path) -> None:
    run = make(recipe, "table", "ROWS=A1 Z9")
    assert run.returncode != 0
    assert "no row of table 3 is called Z9; there are base A1" in run.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_smoke_chain_ends_in_a_table_with_the_paper_s_row_ours_and_the_difference(recipe: Path) -> None:
    nmt = Path(sys.executable).parent / "nmt"
    pairs = [(f"{a} has {n} {b} .", f"{a} hat {n} {b} .") for a in ("Anna", "Bo") for b in "xyz" for n in range(60)]
    for side, language in enumerate(("en", "de")):
        (recipe / f"all.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    own = ["--source", "all.en", "--target", "all.de", "--source-lang", "en", "--target-lang", "de"]
    few = ["--set", "cleaning.n_valid=8", "--set", "cleaning.n_test=0"]
    for command in (["prepare", *own, *few, "--out", "corpus"], ["bpe", "corpus", "--vocab-size", "330"]):
        subprocess.run([nmt, *command, "--quiet"], cwd=recipe, check=True)
    run = make(recipe, "DATA=corpus", "SCALE=smoke", "ROWS=A1 E")
    assert run.returncode == 0, run.stderr
    head, first, second, *_ = run.stdout[run.stdout.index("row  changed") :].splitlines()
    assert " ".join(head.split()) == "row changed params paper ppl paper diff BLEU paper diff sacreBLEU step"
    for line, (perplexity, bleu) in ((first, ("5.29", "24.9")), (second, ("4.92", "25.7"))):
        cells = line.split()
        assert (cells[-1], cells[-7], cells[-4]) == ("20", perplexity, bleu)
        assert float(cells[-6]) == pytest.approx(float(cells[-8]) - float(perplexity), abs=0.011)
