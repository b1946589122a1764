"""What the README tells people to type works as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli import errors
from nmt_cli.settings_files import preset_names

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAM = Path(sys.executable).parent / "nmt"


def six_commands() -> list[str]:
    return re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)[0].splitlines()


def a_small_corpus(folder: Path) -> None:
    """Write pairs of counted things; enough for validation and test to be held out."""
    things = [("apples", "Äpfel"), ("books", "Bücher"), ("dogs", "Hunde"), ("trees", "Bäume"), ("letters", "Briefe")]
    people = [("Anna", "Anna"), ("my brother", "mein Bruder"), ("the teacher", "die Lehrerin")]
    pairs = [
        (f"{who} has {n} {what} .", f"{wer} hat {n} {was} .")
        for who, wer in people
        for what, was in things
        for n in range(2, 60)
    ]
    for side, name in enumerate(["train.en", "train.de"]):
        (folder / name).write_bytes("".join(f"{pair[side]}\n" for pair in pairs).encode())


def test_the_tests_are_run_by_the_two_commands_that_the_readme_names() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "set -euo pipefail" in script
    typed = re.findall(r"^make .*$", script, flags=re.MULTILINE)
    assert typed == ["make test", "make test-slow"]
    assert all(f"\n    {command}\n" in README for command in typed)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_every_target_of_the_makefile_that_the_readme_names_is_listed_by_make_help() -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make here")
    listed = subprocess.run([make, "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = set(re.findall(r"^make (\S+)", listed, flags=re.MULTILINE))
    assert targets == {"help", "setup", "demo", "test", "test-slow", "check", "format", "clean"}
    assert set(re.findall(r"\bmake ([a-z-]+[a-z])`", README)) <= targets


def test_the_readme_names_every_preset_and_every_exit_code() -> None:
    assert all(f"| `{preset}` |" in README for preset in preset_names())
    codes = {kind.exit_code for kind in vars(errors).values() if isinstance(kind, type)}
    assert all(f"| {code} |" in README for code in codes)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_six_commands_of_the_readme_make_a_model_that_translates(tmp_path: Path) -> None:
    a_small_corpus(tmp_path)
    environment = os.environ | {"PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    commands = six_commands()
    assert [command.split()[:2] for command in commands] == [
        ["nmt", name] for name in ["prepare", "bpe", "train", "average", "translate", "score"]
    ]
    fewer = {"bpe": "--vocab-size 400", "train": "--max-steps 40 --set training.save_every_steps=8"}
    for command in commands:
        typed = f"{command} {fewer.get(command.split()[1], '')}"
        run = subprocess.run(["bash", "-c", typed], cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert run.returncode == 0, f"{typed}\n{run.stderr.decode()}"
    lines_in = (tmp_path / "data/mine/test.en").read_bytes().count(b"\n")
    assert 0 < lines_in == (tmp_path / "test.hyp").read_bytes().count(b"\n")
    assert b"BLEU" in run.stdout
