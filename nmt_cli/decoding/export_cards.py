"""The README.md of an export: how to use it without `nmt`, and what differs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.exporting import steps_after, steps_before
from nmt_cli.model_folder import ModelDescription, ModelFolder
from nmt_cli.subwords.segmenter import END, PAD, Segmenter

CTRANSLATE2_CARD = """\
# {source} to {target}, for CTranslate2

Written by `nmt export --to ctranslate2`; the weights are {form}.{licence}

```python
import ctranslate2
import sentencepiece

translator = ctranslate2.Translator("FOLDER")
source = sentencepiece.SentencePieceProcessor(model_file="FOLDER/{source_model}")
target = sentencepiece.SentencePieceProcessor(model_file="FOLDER/{target_model}")

line = "{example}"  # after the steps below
pieces = source.encode(line, out_type=str) + ["{end}"]
result = translator.translate_batch(
    [pieces],
    beam_size={beam_size},
    length_penalty={alpha},
    patience=2,
    suppress_sequences=[["{padding}"]],
    min_decoding_length={min_length},
    max_decoding_length=len(pieces) + {max_extra},
    max_input_length=0,
)
print(target.decode(result[0].hypotheses[0]))
```

## What matters

- A source ends in `{end}`; CTranslate2 does not add it. The decoder starts with a zero vector by itself.
- `suppress_sequences` forbids the padding symbol `{padding}`, which has a small probability and no text.
- {penalty}
- `patience=2` has the search go on until twice as many hypotheses have ended as the beam holds. With less it may miss
  the best one.
- A source and an output have at most {n_positions:,} pieces. An output has at most those of its source and
  {max_extra} more; CTranslate2 has one such limit for all of a call, so put sources of a length together.
{text}"""

HUGGINGFACE_CARD = """\
---
language:
- {source}
- {target}
library_name: transformers
pipeline_tag: translation
{licence_field}---

# {source} to {target}, as MarianMT

Written by `nmt export --to huggingface`.

```python
from transformers import MarianMTModel, MarianTokenizer

tokenizer = MarianTokenizer.from_pretrained("FOLDER")
model = MarianMTModel.from_pretrained("FOLDER")
lines = ["{example}"]  # after the steps below
batch = tokenizer(lines, return_tensors="pt", padding=True)
outputs = model.generate(**batch, max_length=batch.input_ids.shape[1] + {max_extra} + 1)
print(tokenizer.batch_decode(outputs, skip_special_tokens=True))
```

## What differs from `nmt translate`

- The dimensions of the model stand in another order (first all sines of the positions, then all cosines), which
  changes no result. LayerNorm has an epsilon of 1e-5 here, and had {epsilon:g} in training; the weights are
  scaled so that it comes to the same, but at the first norm of encoder and decoder.
- The padding symbol, with which the decoder starts, is a new one at the end of the vocabulary; its embedding is zero
  and its share in the probabilities is none. The symbol that was the padding is called `{unused}`, keeps its share,
  and is never generated.
- {penalty}
- The beam search of `transformers` takes an end only from among the best `num_beams` pieces of a step (`nmt`: twice as
  many), has outputs that were cut compete with those that ended, and stops a little early, unless it is told
  `early_stopping="never"`. With a trained model the outputs are nearly always the same.
- Text that begins with `>>` and has `<<` further on is read as a language code, which this model has none of.
  U+2581 in the text becomes a space.
- A source and an output have at most 1,024 pieces here. `nmt` splits a longer source at sentence ends.
{text}"""


def ctranslate2_card(folder: ModelFolder, *, form: str, n_positions: int) -> str:
    """Return the README.md of a CTranslate2 folder."""
    description, search = folder.description, folder.description.search
    target = Segmenter.load(folder.target_subwords)
    padding, end = target.pieces([PAD, END])
    return CTRANSLATE2_CARD.format(
        source=description.source_language,
        target=description.target_language,
        form=form,
        licence=f" Licence of the weights: {description.licence}." if description.licence else "",
        source_model=folder.source_subwords.name,
        target_model=folder.target_subwords.name,
        example=_example(description),
        end=end,
        padding=padding,
        beam_size=search.beam_size,
        alpha=alpha_of_length(search),
        min_length=search.min_length,
        max_extra=search.max_extra,
        penalty=_penalty(search, "CTranslate2"),
        n_positions=n_positions,
        text=_text(description),
    )


def huggingface_card(folder: ModelFolder, *, unused: str) -> str:
    """Return the README.md of a MarianMT folder; `unused` is what our padding symbol is called there."""
    description, search = folder.description, folder.description.search
    return HUGGINGFACE_CARD.format(
        source=description.source_language,
        target=description.target_language,
        licence_field=f"license: {description.licence}\n" if description.licence else "",
        example=_example(description),
        max_extra=search.max_extra,
        epsilon=description.model.layer_norm_epsilon,
        unused=unused,
        penalty=_penalty(search, "transformers"),
        text=_text(description),
    )


def alpha_of_length(search: SearchConfig) -> float:
    """Return the exponent for a search by log-probability / length^alpha, the only one that others know."""
    return 0.0 if search.length_penalty == "none" else search.alpha


def _penalty(search: SearchConfig, program: str) -> str:
    said = (
        f"`length_penalty` is an exponent: hypotheses are ordered by log-probability / n^{alpha_of_length(search):g}, "
        "where n counts the end symbol."
    )
    if search.length_penalty in {"wu", "wu-rescored"} and search.alpha > 0:
        said += (
            f" This model was meant to be searched with ((5 + n) / 6)^{search.alpha:g}, which {program} does not "
            "know: ask for all hypotheses of the beam, and order them by that."
        )
    return textwrap.fill(said, width=116, subsequent_indent="  ", break_on_hyphens=False)


def _text(description: ModelDescription) -> str:
    before = steps_before(description.text, description.source_language)
    after = steps_after(description.text, description.target_language)
    said = ["", "## Text", "", "Before the pieces of a line are looked for:", "", *_numbered(before)]
    if after:
        said += ["", "After an output is decoded:", "", *_numbered(after)]
    return "\n".join([*said, ""])


def _numbered(steps: Iterable[str]) -> list[str]:
    return [f"{number}. {step}" for number, step in enumerate(steps, start=1)]


def _example(description: ModelDescription) -> str:
    """Return a sentence as it is after the steps that cannot be seen in it anyway."""
    return "how are you?" if description.text.lowercase else "How are you?"
