"""The model that ships with the package: it is what `nmt translate` uses, it is small, and nothing upsets it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from nmt_cli.builtin import builtin_model
from nmt_cli.decoding.translator import Translator
from nmt_cli.model_folder import open_model_folder

PROGRAM = Path(sys.executable).parent / "nmt"
LONG = ("it was raining and Tom was tired " * 75).split()[:500]
OUTSIDE = [
    "🙂🙃🚀",
    "你好吗？我今天很高兴。",
    " ".join(LONG),
    "3.14159 26535 89793 23846 26433 83279 50288 41971",
    "0" * 300,
    "I AM VERY TIRED TODAY AND I WANT TO GO HOME.",
    "مرحبا كيف حالك",
    "a",
    "?",
    "ha " * 120,
    "\u200b\u202e\u0301\u0301 \x01\x02",
    "def f(x): return {'a': [x ** 2 for _ in range(10)]}",
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen",
]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(builtin_model())


def test_it_is_what_translate_uses_when_no_model_is_named_and_it_says_so() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NMT_MODEL"}
    run = subprocess.run(
        [PROGRAM, "translate"], input=b"How are you\n", capture_output=True, check=False, env=environment, timeout=120
    )
    assert run.returncode == 0, run.stderr.decode()
    assert run.stdout.decode() in {"Wie geht es dir?\n", "Wie geht es Ihnen?\n", "Wie geht es euch?\n"}
    assert run.stderr.decode().splitlines()[0].startswith("model: the built-in one, English to German")


@pytest.mark.parametrize("text", ["How are you?", "how are you", "How are you", "how are you?"])
def test_capitals_and_the_final_mark_may_be_left_out(translator: Translator, text: str) -> None:
    assert translator.translate([text])[0].text in {"Wie geht es dir?", "Wie geht es Ihnen?", "Wie geht es euch?"}


def test_the_folder_is_small_has_int8_weights_and_says_whose_sentences_it_was_made_of() -> None:
    folder = open_model_folder(builtin_model())
    assert sum(path.stat().st_size for path in builtin_model().iterdir()) <= 12_000_000
    assert folder.stored_weights()["source_embedding.weight"].dtype == np.int8
    assert folder.description.search.length_penalty == "length"
    for text in (folder.description.licence or "", (builtin_model() / "README.md").read_text(encoding="utf-8")):
        assert "Tatoeba" in text
        assert "ManyThings" in text
        assert "CC BY 2.0 FR" in text


@pytest.mark.parametrize("text", OUTSIDE, ids=range(len(OUTSIDE)))
def test_what_is_outside_its_world_gives_one_line_within_the_limit(translator: Translator, text: str) -> None:
    [translation] = translator.translate([text])
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(builtin_model() / "subwords.model"))
    limit = translation.source_length + translation.n_parts * (translator.search.max_extra + 1)
    assert "\n" not in translation.text
    assert len(pieces.encode(translation.text)) <= limit
