"""Hugging Face's `generate` as a decoder of the bench, from the folder that `nmt export --to huggingface` writes.

Run with the interpreter of the environment that the Makefile installs for it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers import MarianMTModel, MarianTokenizer  # type: ignore[import-not-found]

from nmt_cli.config import TextConfig
from nmt_cli.corpora.text_steps import apply
from serving import ALPHA, BEAM_SIZE, serve

MAX_EXTRA = 50


def main() -> None:
    """Load, and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("exported", type=Path)
    parser.add_argument("--text", required=True, help="steps of text, as JSON")
    parser.add_argument("--source-language", required=True)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    steps = TextConfig.model_validate_json(options.text)
    tokenizer = MarianTokenizer.from_pretrained(options.exported)
    model = MarianMTModel.from_pretrained(options.exported).eval()

    @torch.inference_mode()
    def one_batch(texts: list[str]) -> list[str]:
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        outputs = model.generate(
            **batch,
            num_beams=BEAM_SIZE,
            length_penalty=ALPHA,
            early_stopping=False,
            max_length=batch.input_ids.shape[1] + MAX_EXTRA + 1,
        )
        return list(tokenizer.batch_decode(outputs, skip_special_tokens=True))

    def translate(lines: list[str], setting: str) -> list[str]:
        texts = [apply(line, steps, options.source_language) for line in lines]
        size = int(setting)
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        found = dict[int, str]()
        for first in range(0, len(order), size):
            places = order[first : first + size]
            found.update(zip(places, one_batch([texts[place] for place in places]), strict=True))
        return [found[place] for place in range(len(texts))]

    serve(translate)


if __name__ == "__main__":
    main()
