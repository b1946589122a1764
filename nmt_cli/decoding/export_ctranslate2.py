"""A model as a folder for plain CTranslate2, checked before anybody sees it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.conversion_check import LEAST_SAME, MOST_APART
from nmt_cli.decoding.ctranslate_conversion import convert_to_ctranslate2
from nmt_cli.decoding.ctranslate_engine import CTranslateEngine, n_positions, why_not_model
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.decoding.export_cards import ctranslate2_card
from nmt_cli.decoding.exporting import MANIFEST, sources_to_check, write_export_manifest
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.files import new_directory
from nmt_cli.model_folder import ModelFolder, subword_files
from nmt_cli.subwords.segmenter import END, Segmenter

KIND = "ctranslate2 export"
FORMS = ("float32", "float16", "bfloat16", "int8", "int8_float32", "int8_float16", "int8_bfloat16")


class Outcome(NamedTuple):
    """How alike an export and its model are."""

    checked: int
    """Lines."""
    same: int
    """Lines with the same output of a greedy search, in which the two programs do not differ."""
    same_by_beam: int
    """Lines with the same output of the model's own search, of which CTranslate2 has its own reading."""
    apart: float
    """Largest difference between log-probabilities of an output, in nats."""
    apart_per_piece: float
    """The sum of these differences over the number of pieces in all outputs."""


class Bounds(NamedTuple):
    """What an export must keep to."""

    least_same: float
    """Share of lines."""
    most_apart: float
    most_apart_per_piece: float


EXACT = Bounds(LEAST_SAME, MOST_APART, MOST_APART)
ROUNDED = Bounds(least_same=0.0, most_apart=float("inf"), most_apart_per_piece=0.05)
"""Of weights in fewer bits. What is as good as equal changes places, so that no text has to be the same."""


def export_ctranslate2(
    folder: ModelFolder, target: Path, *, form: str, lines: Sequence[str], force: bool = False
) -> Outcome:
    """Write a folder that CTranslate2 loads, its weights in a form of FORMS, if it does to `lines` what the model does.

    Weights in fewer bits are held to the bounds of ROUNDED, and the same conversion in float32 to those of EXACT.

    Raises:
        UsageError: CTranslate2 cannot express the model, or the target may not be written.
        DataError: there is nothing to check on.
        ModelError: what was written answers otherwise; nothing is left of it.
        MachineError: the disk refuses.
    """
    config = folder.description.model
    reason = why_not_model(config)
    if reason is not None:
        raise UsageError(f"{folder.path}: CTranslate2 cannot do this: {reason}")
    if form not in FORMS:
        raise UsageError(f"form {form!r} of weights is unknown; there are {', '.join(FORMS)}")
    sources = sources_to_check(folder, lines, longest=n_positions(config))
    with new_directory(target, manifest=MANIFEST, kind=KIND, force=force) as scratch:
        convert_to_ctranslate2(folder, scratch)
        outcome = refuse_other_answers(folder, scratch, sources, form="float32")
        if form != "float32":
            for path in scratch.iterdir():
                path.unlink()
            convert_to_ctranslate2(folder, scratch, quantization=form)
            outcome = refuse_other_answers(folder, scratch, sources, form=form)
        for name, path in subword_files(folder).items():
            shutil.copyfile(path, scratch / name)
        card = ctranslate2_card(folder, form=form, n_positions=n_positions(config))
        (scratch / "README.md").write_text(card, encoding="utf-8", newline="\n")
        found = {**outcome._asdict(), "search": search_for_check(folder.description.search).model_dump(mode="json")}
        write_export_manifest(scratch, folder, {"kind": KIND, "form": form, "check": found})
    return outcome


def refuse_other_answers(
    folder: ModelFolder, exported: Path, sources: Sequence[Sequence[int]], *, form: str
) -> Outcome:
    """See that a folder answers as its model does by the torch engine, as near as the form of its weights allows.

    Raises:
        ModelError: it does not, or CTranslate2 cannot load it.
    """
    outcome = compare(folder, exported, sources, form=form)
    bounds = EXACT if form == "float32" else ROUNDED
    problems = []
    if outcome.same < bounds.least_same * outcome.checked:
        problems.append(
            f"{outcome.same} of {outcome.checked} greedy outputs are the same, {bounds.least_same:.0%} must be"
        )
    for name, found, most in [
        ("of an output", outcome.apart, bounds.most_apart),
        ("a piece", outcome.apart_per_piece, bounds.most_apart_per_piece),
    ]:
        if not found <= most:  # which NaN is not either
            problems.append(f"log-probabilities {name} are {found:.2g} nats apart, at most {most:g} is allowed")
    if problems:
        raise ModelError(
            f"{folder.path}: as written for CTranslate2 it answers otherwise: {'; '.join(problems)}; "
            "the model or the disk is damaged, or the form of the weights is too coarse for it"
        )
    return outcome


def compare(folder: ModelFolder, exported: Path, sources: Sequence[Sequence[int]], *, form: str) -> Outcome:
    """Translate with both, and have the folder score the outputs of the model.

    A beam tells more of what users will see, but CTranslate2 takes an end only from among the best of a step, so that
    a model that is not sure of its ends, however well it was converted, can answer otherwise.
    """
    source, target = Segmenter.load(folder.source_subwords), Segmenter.load(folder.target_subwords)
    reference = TorchEngine.load(folder)
    other = CTranslateEngine.load(
        exported,
        source=source.pieces(range(source.vocab_size)),
        target=target.pieces(range(target.vocab_size)),
        config=folder.description.model,
        # What is stored in half of float32 is computed in it where the processor has no better.
        compute_type="int8" if form.startswith("int8") else "float32",
    )
    by_beam = search_for_check(folder.description.search)
    outputs, same = [], []
    for search in (by_beam.model_copy(update={"beam_size": 1}), by_beam):
        outputs = [found[0].ids for found in reference.search(sources, search)]
        others = [found[0].ids for found in other.search(sources, search)]
        same.append(sum(one == another for one, another in zip(outputs, others, strict=True)))
    targets = [[*ids, END] for ids in outputs]
    apart = [
        abs(one - another)
        for one, another in zip(reference.score(sources, targets), other.score(sources, targets), strict=True)
    ]
    return Outcome(
        checked=len(sources),
        same=same[0],
        same_by_beam=same[1],
        apart=max(apart),
        apart_per_piece=sum(apart) / sum(map(len, targets)),
    )


def search_for_check(search: SearchConfig) -> SearchConfig:
    """Return the model's own search as far as CTranslate2 knows it."""
    penalty = "length" if search.length_penalty.startswith("wu") else search.length_penalty
    return SearchConfig(
        beam_size=search.beam_size,
        length_penalty=penalty,
        alpha=search.alpha,
        max_extra=search.max_extra,
        min_length=search.min_length,
    )
