"""`nmt score --model`: the log-probability of given translations, a line each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from nmt_cli import Translator
from nmt_cli.model.load import load_transformer
from nmt_cli.model_folder import open_model_folder
from nmt_cli.subwords.segmenter import END, PAD, Segmenter

PAIRS = [
    ("the red dog sees the bridge", "a cat finds bread"),
    ("", ""),
    ("a child opens the window", ""),
    ("", "bread"),
    ("the old teacher sings", "the old teacher sings slowly over the river with the letter"),
    ("water 中文 \U0001f600", "q!"),
]


def by_hand(folder: Path, source: str, target: str) -> float:
    """Add up log p(next piece) over ever longer beginnings of the target, one pair at a time."""
    opened = open_model_folder(folder)
    model, segmenter = load_transformer(opened, device=torch.device("cpu")), Segmenter.load(opened.source_subwords)
    source_ids, target_ids = ([*ids, END] for ids in segmenter.encode([source, target]))
    total = 0.0
    with torch.no_grad():
        for place, piece in enumerate(target_ids):
            states = model(torch.tensor([source_ids]), torch.tensor([[PAD, *target_ids[:place]]]))
            probabilities = model.logits(states[0, -1]).double().softmax(dim=0)
            total += probabilities[piece].log().item()
    return total


def score(folder: Path, *arguments: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-W", "error", "-m", "nmt_cli", "score", *arguments]
    return subprocess.run(command, input=data, capture_output=True, check=False, cwd=folder)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for place, name in enumerate(["a.en", "a.de"]):
        (tmp_path / name).write_text("".join(pair[place] + "\n" for pair in PAIRS), encoding="utf-8")
    return tmp_path


def test_each_line_is_the_sum_over_its_pieces_and_a_blank_source_gives_the_empty_line(
    model_folder: Path, files: Path
) -> None:
    run = score(files, "--model", str(model_folder), "--source", "a.en", "a.de")
    assert (run.returncode, run.stderr) == (0, b"")
    found = [float(line) for line in run.stdout.splitlines()]
    expected = [by_hand(model_folder, source, target) if source else 0.0 for source, target in PAIRS]
    expected[3] = float("-inf")
    assert found == pytest.approx(expected, abs=1e-4)


def test_json_has_a_record_a_line_and_null_where_there_is_no_probability(model_folder: Path, files: Path) -> None:
    data = (files / "a.de").read_bytes()
    run = score(files, "--model", str(model_folder), "--source", "a.en", "--json", "-", data=data)
    records = [json.loads(line) for line in run.stdout.splitlines()]
    assert [record["line"] for record in records] == [1, 2, 3, 4, 5, 6]
    assert records[1] == {"line": 2, "log_prob": 0.0, "tokens": 1}
    assert records[3]["log_prob"] is None
    segmenter = Segmenter.load(model_folder / "subwords.model")
    assert records[4]["tokens"] == len(segmenter.encode([PAIRS[4][1]])[0]) + 1


def test_what_a_search_finds_scores_what_the_search_said(model_folder: Path) -> None:
    translator = Translator.load(model_folder)
    sources = [f"the {word} sees the bridge" for word in ("dog", "cat", "child", "teacher", "river")]
    found = translator.translate(sources)
    ended = [(source, t) for source, t in zip(sources, found, strict=True) if not t.is_cut]
    scores = translator.score([source for source, _ in ended], [t.text for _, t in ended])
    # A text may be cut into other pieces than those that were found, which is then less probable.
    assert all(score.log_prob <= t.log_prob + 1e-4 for score, (_, t) in zip(scores, ended, strict=True))
    assert any(
        score.log_prob == pytest.approx(t.log_prob, abs=1e-4) for score, (_, t) in zip(scores, ended, strict=True)
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--model", "MODEL", "--source", "a.en", "b.de"], 3, b"b.de: 2 lines, but a.en: 6; they must be parallel"),
        (["--model", "MODEL", "--source", "a.en", "bad.de"], 3, b"bad.de:2:3: not UTF-8"),
        (["--model", "MODEL", "--source", "a.en", "long.de"], 3, b"long.de:1: "),
        (["--model", "MODEL", "a.de"], 2, b"--source"),
        (["--model", "MODEL", "--source", "a.en", "--reference", "a.de", "a.de"], 2, b"--reference"),
        (["a.de"], 2, b"--reference"),
    ],
)
def test_a_mistake_is_named(model_folder: Path, files: Path, arguments: list[str], code: int, said: bytes) -> None:
    (files / "b.de").write_text("x\ny\n")
    (files / "bad.de").write_bytes(b"x\nab\xff\n" + b"x\n" * 4)
    (files / "long.de").write_text("bread " * 3_000 + "\n" + "x\n" * 5)
    run = score(files, *[str(model_folder) if word == "MODEL" else word for word in arguments])
    assert run.returncode == code
    assert said in run.stderr
    assert run.stdout == b""
    assert b"Traceback" not in run.stderr
