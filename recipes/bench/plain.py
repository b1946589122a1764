"""Plain CTranslate2 and SentencePiece as a decoder of the bench, or with --once as the script that answers one line.

The converted model is ours; nothing else here is: what a user of those two packages would write.
"""

from __future__ import annotations

import argparse
import sys
import unicodedata
from pathlib import Path

import ctranslate2
import sentencepiece

from serving import ALPHA, BEAM_SIZE, serve


def main() -> None:
    """Load, and serve, or answer standard input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("converted", type=Path)
    parser.add_argument("--source", type=Path, required=True, help="SentencePiece model")
    parser.add_argument("--target", type=Path, required=True, help="the same")
    parser.add_argument("--compute-type", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--nfc", action="store_true")
    parser.add_argument("--fold-spaces", action="store_true")
    parser.add_argument("--lowercase", action="store_true")
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args()
    translator = ctranslate2.Translator(
        str(options.converted),
        device="cpu",
        compute_type=options.compute_type,
        inter_threads=options.threads,
        intra_threads=1,
    )
    source, target = (
        sentencepiece.SentencePieceProcessor(model_file=str(side)) for side in (options.source, options.target)
    )
    end = source.id_to_piece(source.eos_id())

    def translate(lines: list[str], setting: str) -> list[str]:
        texts = [
            prepared(line, nfc=options.nfc, fold_spaces=options.fold_spaces, lowercase=options.lowercase)
            for line in lines
        ]
        size, batch_type = setting.split()
        results = translator.translate_batch(
            [[*pieces, end] for pieces in source.encode(texts, out_type=str)],
            beam_size=BEAM_SIZE,
            length_penalty=ALPHA,
            patience=1,
            max_batch_size=int(size),
            batch_type=batch_type,
        )
        return list(target.decode([result.hypotheses[0] for result in results]))

    if options.once:
        print("\n".join(translate(sys.stdin.read().splitlines(), "32 examples")))
    else:
        serve(translate)


def prepared(line: str, *, nfc: bool, fold_spaces: bool, lowercase: bool) -> str:
    """Return a line as the model learned to read it."""
    if lowercase:
        line = line.lower()
    if nfc:
        line = unicodedata.normalize("NFC", line)
    return " ".join(line.split()) if fold_spaces else line


if __name__ == "__main__":
    main()
