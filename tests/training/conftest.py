"""A toy corpus and toy settings: 300 pairs, 24 updates over 3 epochs, dropout on, a checkpoint every 5."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.config import Settings, SubwordConfig, TextConfig
from nmt_cli.corpora.data_folder import DataDescription, open_data_folder, write_manifest
from nmt_cli.files import write_json
from nmt_cli.settings_files import resolve
from nmt_cli.subwords.encoding import encode_corpus
from nmt_cli.training import loop
from nmt_cli.training.start import run_training
from nmt_cli.training.state import Progress

WORDS = ["ba", "do", "gu", "ki", "le", "mo", "na", "pi", "ru", "so", "tu", "we"]
TOY = """
[model]
n_encoder_layers = 1
n_decoder_layers = 1
d_model = 16
d_ff = 32
n_heads = 2
dropout = 0.2
attention_dropout = 0.1

[training]
max_steps = 24
tokens_per_update = 266
micro_batch_tokens = 150
warmup_steps = 20
learning_rate_factor = 0.5
save_every_steps = 5
validate_every_steps = 12
report_every_steps = 1

[search]
beam_size = 2
max_extra = 3

[machine]
device = "cpu"
ranks = 1
"""


def sentences(n_pairs: int, *, seed: int) -> tuple[list[str], list[str]]:
    """Return sources of 2 to 9 words, and targets that say them backwards."""
    draw = random.Random(seed)  # noqa: S311 - toy sentences, no secret
    lists = [draw.choices(WORDS, k=draw.randint(2, 9)) for _ in range(n_pairs)]
    return [" ".join(words) for words in lists], [" ".join(reversed(words)) for words in lists]


def write_corpus(folder: Path, splits: dict[str, tuple[Sequence[str], Sequence[str]]]) -> Path:
    """Write a data folder with its pieces in it."""
    folder.mkdir()
    for split, sides in splits.items():
        for language, lines in zip(("en", "de"), sides, strict=True):
            (folder / f"{split}.{language}").write_bytes("".join(f"{line}\n" for line in lines).encode())
    write_json(folder / "report.json", {})
    description = DataDescription(
        source_language="en",
        target_language="de",
        text=TextConfig(),
        cleaning=None,
        counts={split: len(sides[0]) for split, sides in splits.items()},
        sources=[],
    )
    write_manifest(folder, description)
    encode_corpus(open_data_folder(folder), folder / "pieces", SubwordConfig(vocab_size=300))
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    splits = {"train": sentences(300, seed=1), "valid": sentences(13, seed=2)}
    return write_corpus(tmp_path_factory.mktemp("corpus") / "toy", splits)


@pytest.fixture
def make_corpus(tmp_path: Path) -> Callable[..., Path]:
    return lambda name, **splits: write_corpus(tmp_path / name, splits)


@dataclass(frozen=True)
class Toy:
    """What the tests of this room start from."""

    corpus: Path
    config: Path

    def settings(self, *assignments: str) -> Settings:
        """Return the toy settings with assignments such as "training.max_steps=5" over them."""
        return resolve(preset=None, config=self.config, assignments=assignments)

    def train(self, run: Path, *assignments: str) -> Progress:
        """Train in this process."""
        return run_training(self.corpus, run, self.settings(*assignments), quiet=True)

    def metrics(self, run: Path, kind: str) -> list[dict[str, Any]]:
        """Return the records of a kind that the run wrote."""
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [record for record in map(json.loads, lines) if record["kind"] == kind]

    def log(self, run: Path) -> list[str]:
        """Return the lines of the run's log, without their times."""
        lines = (run / "log.txt").read_text(encoding="utf-8").splitlines()
        return [line.partition(" ")[2] for line in lines]

    sentences = staticmethod(sentences)


@pytest.fixture(scope="session")
def toy(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Toy:
    path = tmp_path_factory.mktemp("settings") / "toy.toml"
    path.write_text(TOY, encoding="utf-8")
    return Toy(corpus, path)


@pytest.fixture
def best_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that lets no validation but that of one step count."""
    real = loop.judged

    def let_count(step: int) -> None:
        def judged(progress: Progress, *arguments: Any) -> Progress:  # noqa: ANN401
            return real(progress, *arguments) if progress.step == step else progress

        monkeypatch.setattr(loop, "judged", judged)

    return let_count


@pytest.fixture(scope="session")
def whole_run(toy: Toy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of all 24 updates that nothing interrupted; not to be changed."""
    run = tmp_path_factory.mktemp("runs") / "whole"
    toy.train(run)
    return run
