"""Our translator as a decoder of the bench: the library as README.md shows it, raw text in and out."""

from __future__ import annotations

import argparse
from pathlib import Path

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.engine_choice import choose_engine
from nmt_cli.decoding.translator import Translator
from nmt_cli.model_folder import open_model_folder
from serving import ALPHA, BEAM_SIZE, serve


def main() -> None:
    """Load, and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--compute-type", required=True)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    folder = open_model_folder(options.model)
    search = SearchConfig(beam_size=BEAM_SIZE, length_penalty="length", alpha=ALPHA)
    choice = choose_engine([folder], search, engine=options.engine, device="cpu", compute_type=options.compute_type)
    if options.engine == "torch":
        import torch

        torch.set_num_threads(options.threads)
    translator = Translator.of_folder(folder, choice=choice, threads=options.threads)

    def translate(lines: list[str], setting: str) -> list[str]:
        batches = search.model_copy(update={"batch_tokens": int(setting)})
        return [translation.text for translation in translator.translate(lines, search=batches)]

    serve(translate)


if __name__ == "__main__":
    main()
