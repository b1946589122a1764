"""Learning a SentencePiece model from lines, with the settings that make it reversible."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import sentencepiece

from nmt_cli.errors import DataError
from nmt_cli.subwords.segmenter import END, PAD, SPACE_MARK, STAND_INS, UNKNOWN

LONGEST_STRETCH = 2_000
"""Characters of a line that learning reads at a time; a longer line is read in stretches."""
NOT_LEARNED = re.compile(f"[\0\u2585{SPACE_MARK}{STAND_INS[0]}-{STAND_INS[-1]}]")
"""SentencePiece stops at NUL and leaves out every line with U+2585; the others are ours to carry U+2581."""


def learn_subwords(
    lines: Iterable[str],
    path: Path,
    *,
    vocab_size: int,
    algorithm: Literal["bpe", "unigram"] = "bpe",
    character_coverage: float = 0.9995,
) -> int:
    """Write a SentencePiece model and its list of pieces (`path` with suffix .vocab); return its size.

    The size is smaller than asked for when the text has no more pieces to give. The result does not
    depend on the number of threads, only on the lines.

    Raises:
        DataError: no text to learn from, or fewer pieces allowed than characters need.
    """
    stretches = [stretch for line in lines for stretch in _stretches(line)]
    if not stretches:
        raise DataError("there is no text to learn subwords from")
    model = _train(stretches, vocab_size=vocab_size, algorithm=algorithm, coverage=character_coverage)
    path.write_bytes(model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    size = int(processor.get_piece_size())
    pieces = "".join(f"{processor.id_to_piece(i)}\t{processor.get_score(i):g}\n" for i in range(size))
    path.with_suffix(".vocab").write_text(pieces, encoding="utf-8", newline="\n")
    return size


def _stretches(line: str) -> Iterator[str]:
    clean = NOT_LEARNED.sub(" ", line)
    for start in range(0, len(clean), LONGEST_STRETCH):
        stretch = clean[start : start + LONGEST_STRETCH]
        if not stretch.isspace():
            yield stretch


def _train(stretches: list[str], *, vocab_size: int, algorithm: str, coverage: float) -> bytes:
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(stretches),
            model_writer=model,  # given a path, it would write that path into the model
            model_type=algorithm,
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            character_coverage=coverage,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            byte_fallback=True,
            pad_id=PAD,
            eos_id=END,
            unk_id=UNKNOWN,
            bos_id=-1,
            max_sentence_length=8 * LONGEST_STRETCH,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        needed = re.search(r"(\d+) vs (\d+)", str(error))
        reason = f"; this text needs at least {needed.group(2)}" if needed else f": {str(error).splitlines()[0]}"
        raise DataError(f"subwords cannot be learned with a vocabulary of {vocab_size:,}{reason}") from None
    return model.getvalue()


def sample_lines(lines: Iterable[str], *, limit: int, seed: int) -> list[str]:
    """Return all lines, or a seeded uniform sample of `limit` of them in their order (reservoir)."""
    chooser = random.Random(seed)  # noqa: S311 - a sample, not a secret
    kept: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if number < limit:
            kept.append((number, line))
        elif (place := chooser.randrange(number + 1)) < limit:
            kept[place] = (number, line)
    return [line for _, line in sorted(kept)]
