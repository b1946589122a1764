"""What the decoding bench translates, and how good what comes back is."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.model_folder import ModelFolder
from nmt_cli.scoring.bleu import sacrebleu_bleu
from nmt_cli.subwords.segmenter import Segmenter

TEST_SET = "test_2016_flickr"


@dataclass(frozen=True)
class BenchText:
    """Lines as they stand in the files, and how the model's outputs are counted and judged."""

    sources: list[str]
    references: list[str]
    target_language: str
    is_lowercase: bool
    target: Segmenter

    def n_tokens(self, texts: Sequence[str]) -> int:
        """Return the pieces of outputs, with an end symbol each."""
        return sum(len(ids) + 1 for ids in self.target.encode(texts))

    def bleu(self, texts: Sequence[str]) -> float:
        """Return sacreBLEU; of a model that writes lower-case only, to references in lower case."""
        references = [line.lower() for line in self.references] if self.is_lowercase else self.references
        return sacrebleu_bleu(texts, references, target_language=self.target_language).score


def read_text(data: Path, folder: ModelFolder, *, n_lines: int) -> BenchText:
    """Return the test set in the languages of a model, at most so many lines of it."""
    description = folder.description
    languages = description.source_language, description.target_language
    sources, references = (sample(lines_of(data / f"{TEST_SET}.{language}.gz"), n_lines) for language in languages)
    return BenchText(
        sources=sources,
        references=references,
        target_language=description.target_language,
        is_lowercase=description.text.lowercase,
        target=Segmenter.load(folder.target_subwords),
    )


def lines_of(path: Path) -> list[str]:
    """Return the lines of a packed file."""
    if not path.is_file():
        sys.exit(f"{path}: no such file; DATA is to be a folder with the raw Multi30k files")
    return gzip.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")


def sample(lines: Sequence[str], n: int) -> list[str]:
    """Return n lines, evenly spread; all when there are not so many."""
    n = min(n, len(lines))
    return [lines[place * len(lines) // n] for place in range(n)]
