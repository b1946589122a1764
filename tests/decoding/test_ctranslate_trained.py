"""For a model that has learned something, both engines give the same beam-search outputs; the program says which."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.decoding.engine_choice import choose_engine
from nmt_cli.decoding.translator import Translator
from nmt_cli.model_folder import open_model_folder

NUMBERS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ZAHLEN = ["zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]
THINGS = [("apples", "Äpfel"), ("books", "Bücher"), ("dogs", "Hunde"), ("trees", "Bäume"), ("letters", "Briefe")]
PEOPLE = [("Anna", "Anna"), ("my brother", "mein Bruder"), ("the teacher", "die Lehrerin"), ("he", "er")]
PAIRS = [
    (f"{who} has {n} {one} and {m} {other} .", f"{wer} hat {z} {eins} und {y} {anders} .")
    for who, wer in PEOPLE
    for n, z in zip(NUMBERS, ZAHLEN, strict=True)
    for m, y in zip(NUMBERS, ZAHLEN, strict=True)
    for one, eins in THINGS
    for other, anders in THINGS
]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def nmt(*arguments: str | Path, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the program."""
    command = [sys.executable, "-W", "error", "-m", "nmt_cli", *map(str, arguments)]
    return subprocess.run(command, input=data, capture_output=True, check=True)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on sentences of one pattern."""
    folder = tmp_path_factory.mktemp("trained")
    for side, name in enumerate(["en", "de"]):
        (folder / name).write_bytes("".join(f"{pair[side]}\n" for pair in PAIRS).encode())
    nmt(
        *("prepare", "--source", folder / "en", "--target", folder / "de", "--source-lang", "en"),
        *("--target-lang", "de", "--out", folder / "data"),
    )
    nmt("bpe", folder / "data", "--vocab-size", "340")
    nmt(
        *("train", folder / "data", "--preset", "tiny", "--run", folder / "run", "--max-steps", "150", "--ranks", "1"),
        *("--set", "training.tokens_per_update=1024", "--set", "training.validate_every_steps=150"),
        *("--set", "search.length_penalty=length", "--set", "search.alpha=1.0"),
    )
    return folder


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": 0.3},
        {"length_penalty": "none"},
        {"beam_size": 2, "n_best": 2},
        {"batch_tokens": 200},
    ],
    ids=str,
)
def test_both_engines_give_the_same_texts_and_scores(trained: Path, options: dict[str, Any]) -> None:
    folder = open_model_folder(trained / "run/last")
    search = folder.description.search.model_copy(update=options)
    lines = (trained / "data/test.en").read_text(encoding="utf-8").splitlines()[:200]
    assert len(lines) == 200
    expected, found = (
        Translator.of_folder(folder, choice=choose_engine([folder], search, engine=engine, device="cpu")).translate(
            lines, search=search
        )
        for engine in ("torch", "ctranslate2")
    )
    same = [(one, other) for one, other in zip(expected, found, strict=True) if one.text == other.text]
    assert len(same) >= 0.98 * len(lines)
    for one, other in same:
        assert (other.score, other.log_prob) == pytest.approx((one.score, one.log_prob), abs=1e-3)


def test_the_model_has_learned_something(trained: Path) -> None:
    records = [json.loads(line) for line in (trained / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert max(record.get("validation_bleu", 0) for record in records) > 50


def test_the_program_takes_the_faster_engine_and_says_so(trained: Path) -> None:
    model, data = trained / "run/last", b"he has two dogs and three books .\n\nAnna has six trees and ten apples .\n"
    auto = nmt("translate", "--model", model, data=data)
    assert auto.stderr.decode().splitlines()[0] == "engine: ctranslate2 (float32)"
    exact = nmt("translate", "--model", model, "--engine", "torch", data=data)
    assert exact.stderr == b""
    assert auto.stdout == exact.stdout
    by_wu = nmt("translate", "--model", model, "--length-penalty", "wu", data=data)
    assert by_wu.stderr.decode().startswith("engine: torch (float32), since the length penalty is wu")
    small = nmt("translate", "--model", model, "--compute-type", "int8", data=data)
    assert small.stderr.decode().startswith("engine: ctranslate2 (int8)")
    assert small.stdout.count(b"\n") == 3
