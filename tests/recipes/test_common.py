"""The chain of the recipes: each step in its order, none done twice, an interrupted one taken up again."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RECIPES = Path(__file__).parents[2] / "recipes"

# Notes how it was called and writes what the real program would; FAIL names a command that fails once it has begun.
STAND_IN = r"""#!/bin/sh
echo "$*" >> calls
begin() { [ "$FAIL" != "$1" ] || { echo half; exit 6; }; }
case $1 in
prepare) d=data/demo-en-de; mkdir -p $d
    for l in en de; do seq 1 70 > $d/test.$l; done; begin prepare; echo '{}' > $d/manifest.json ;;
bpe) mkdir -p $2/pieces; begin bpe; echo '{}' > $2/pieces/manifest.json ;;
train) mkdir -p runs/demo-en-de; begin train ;;
average) mkdir -p models/demo-en-de; begin average; echo '{}' > models/demo-en-de/model.json ;;
translate) begin translate; sed s/7/sieben/ ;;
score) begin score; echo 'BLEU 90.0' ;;
esac
"""
CHAIN = [
    "prepare demo-en-de --out data/demo-en-de",
    "bpe data/demo-en-de --vocab-size 4000 --force",
    "train data/demo-en-de --preset tiny --run runs/demo-en-de",
    "average runs/demo-en-de --last 5 --out models/demo-en-de --force",
    "translate --model models/demo-en-de",
    "score --reference data/demo-en-de/test.de out/demo-en-de.hyp",
]
STEPS = [call.split()[0] for call in CHAIN]


def run_make(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a make that knows nothing of the one which may have started the tests."""
    environment = {
        name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    }
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False, env=environment)


class Demo:
    """A copy of the demo's recipe with a stand-in for the program."""

    def __init__(self, folder: Path) -> None:
        """Copy it into the folder."""
        shutil.copytree(RECIPES, folder / "recipes", ignore=shutil.ignore_patterns("data", "runs", "models", "out"))
        self.folder = folder / "recipes" / "demo"
        self.program = folder / "nmt"
        self.program.write_text(STAND_IN, encoding="utf-8")
        self.program.chmod(0o755)

    def make(self, *, failing: str = "") -> subprocess.CompletedProcess[str]:
        """Run the recipe."""
        arguments = ["make", f"NMT=FAIL={failing} {self.program}"]
        return run_make(arguments, self.folder)

    def calls(self) -> list[str]:
        """Return how the program was called since the last time."""
        path = self.folder / "calls"
        found = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return found


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    if shutil.which("make") is None:
        pytest.skip("no make here")
    return Demo(tmp_path)


def test_the_demo_goes_through_the_six_commands_in_order(demo: Demo) -> None:
    run = demo.make()
    assert run.returncode == 0, run.stderr
    assert demo.calls() == CHAIN


def test_the_demo_given_again_repeats_nothing_and_shows_its_result_again(demo: Demo) -> None:
    first, _ = demo.make(), demo.calls()
    again = demo.make()
    assert demo.calls() == []
    assert again.returncode == 0
    assert first.stdout.endswith(again.stdout)
    assert "BLEU 90.0" in again.stdout


def test_the_demo_shows_a_handful_of_sentences_and_then_how_to_use_ones_own_files(demo: Demo) -> None:
    lines = demo.make().stdout.splitlines()
    shown = [line for line in lines if line.startswith("  -> ")]
    assert 5 <= len(shown) <= 10
    assert "nmt prepare --source" in lines[-1]


def test_the_demo_shows_the_reference_where_a_translation_differs(demo: Demo) -> None:
    lines = demo.make().stdout.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("  -> "):
            differs = "sieben" in line
            assert lines[number + 1].startswith("     (reference: ") == differs


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_failed_stops_the_chain_and_is_the_first_one_done_again(demo: Demo, step: str) -> None:
    assert demo.make(failing=step).returncode != 0
    position = STEPS.index(step)
    assert demo.calls() == CHAIN[: position + 1]
    assert demo.make().returncode == 0
    assert demo.calls() == CHAIN[position:]


@pytest.mark.parametrize(
    ("lost", "first"),
    [("out/demo-en-de.score", "score"), ("out/demo-en-de.hyp", "translate")],
)
def test_what_is_lost_at_the_end_of_the_chain_is_made_again_from_there(demo: Demo, lost: str, first: str) -> None:
    demo.make()
    demo.calls()
    (demo.folder / "out" / "demo-en-de.score").unlink()
    (demo.folder / lost).unlink(missing_ok=True)
    assert demo.make().returncode == 0
    assert demo.calls() == CHAIN[STEPS.index(first) :]


def test_clean_leaves_the_recipe_as_it_came(demo: Demo) -> None:
    before = sorted(path.name for path in demo.folder.iterdir())
    demo.make()
    demo.calls()
    assert run_make(["make", "clean"], demo.folder).returncode == 0
    assert sorted(path.name for path in demo.folder.iterdir()) == before
