"""Put a model into the package: with its licence, its score and a card that tells of both."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from nmt_cli.builtin import builtin_model
from nmt_cli.files import new_directory
from nmt_cli.model_folder import (
    KIND,
    MANIFEST,
    WEIGHTS,
    ModelFolder,
    open_model_folder,
    subword_files,
    write_model_folder,
)

CARD = Path(__file__).parent / "card.md"
LICENCE = "CC BY 2.0 FR; trained on sentences of the Tatoeba Project (tatoeba.org), as selected by ManyThings"


def main() -> None:
    """Read a model and what `nmt score --json` said of its translations; write the model folder of the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--score", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=builtin_model())
    options = parser.parse_args()
    model = open_model_folder(options.model)
    scores = json.loads(options.score.read_text(encoding="utf-8"))["scores"]
    measured = {
        "test_bleu": round(scores["sacrebleu"]["score"], 2),
        "test_bleu_signature": scores["sacrebleu"]["signature"],
        "test_chrf": round(scores["chrf2"]["score"], 2),
        "test_chrf_signature": scores["chrf2"]["signature"],
    }
    description = model.description.model_copy(update={"licence": LICENCE, "scores": measured})
    with new_directory(options.out, manifest=MANIFEST, kind=KIND, force=True) as scratch:
        (scratch / "README.md").write_text(card(model, measured), encoding="utf-8", newline="\n")
        write_model_folder(scratch, weights=model.weights(), description=description, subwords=subword_files(model))


def card(model: ModelFolder, measured: dict[str, Any]) -> str:
    """Return the model card."""
    description = model.description
    return CARD.read_text(encoding="utf-8").format(
        **description.model.model_dump(),
        **description.search.model_dump(),
        **measured,
        parameters=sum(math.prod(array.shape) for array in model.weights().values()),
        vocab_size=description.source_vocab_size,
        step=description.step,
        stored_as=description.stored_as,
        megabytes=sum((model.path / name).stat().st_size for name in [*subword_files(model), WEIGHTS]) / 1e6,
    )


if __name__ == "__main__":
    main()
