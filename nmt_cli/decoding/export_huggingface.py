"""A model as a MarianMT folder of Hugging Face's `transformers`, written without that library."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.numpy import save_file

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.export_cards import alpha_of_length, huggingface_card
from nmt_cli.decoding.exporting import MANIFEST, sources_to_check, write_export_manifest
from nmt_cli.decoding.marian_weights import EPSILON, marian_weights, why_not_marian
from nmt_cli.errors import MachineError, ModelError, UsageError
from nmt_cli.files import new_directory, write_json
from nmt_cli.model_folder import ModelFolder
from nmt_cli.subwords.segmenter import END, PAD, UNKNOWN, Segmenter

KIND = "huggingface export"
N_POSITIONS = 1024
"""Rows of the table of sinusoids that `transformers` makes; past it, it fails."""
MOST_GENERATED = 512
MOST_APART = 1e-3
"""Between log-probabilities of an output, in nats."""


class Outcome(NamedTuple):
    """What the check of an export found."""

    checked: int
    """Lines."""
    apart: float
    """Largest difference between log-probabilities, in nats."""


def export_huggingface(folder: ModelFolder, target: Path, *, lines: Sequence[str], force: bool = False) -> Outcome:
    """Write a MarianMT folder that gives outputs for `lines` the probabilities that the model gives them.

    Raises:
        UsageError: MarianMT cannot express the model, or the target may not be written.
        DataError: there is nothing to check on.
        ModelError: what was written answers otherwise; nothing is left of it.
        MachineError: the disk refuses.
    """
    reason = why_not_huggingface(folder)
    if reason is not None:
        raise UsageError(f"{folder.path}: no MarianMT can do this: {reason}; --to ctranslate2 takes more models")
    sources = sources_to_check(folder, lines, longest=MOST_GENERATED)
    with new_directory(target, manifest=MANIFEST, kind=KIND, force=force) as scratch:
        write_marian(folder, scratch)
        outcome = refuse_other_answers(folder, scratch, sources)
        found = {"lines": outcome.checked, "log_prob_apart": outcome.apart}
        write_export_manifest(scratch, folder, {"kind": KIND, "check": found})
    return outcome


def why_not_huggingface(folder: ModelFolder) -> str | None:
    """Return what a MarianMT folder cannot have of a model, None if it can have all."""
    if not folder.shares_subwords:
        return "source and target have subwords of their own, and here one file serves both"
    return why_not_marian(folder.description.model)


def write_marian(folder: ModelFolder, target: Path) -> None:
    """Write weights, settings and subwords into an empty folder."""
    tensors = marian_weights(folder.weights(), folder.description.model)
    ids = vocabulary(folder)
    weights = target / "model.safetensors"
    try:
        weights.touch()  # for the usual permissions: a new file of this library is its owner's alone
        mode = weights.stat().st_mode
        save_file(tensors, weights, metadata={"format": "pt"})
        weights.chmod(mode)
    except (SafetensorError, OSError) as error:
        raise MachineError(f"{weights}: cannot be written ({error})") from None
    for name, values in [
        ("config.json", _config(folder)),
        ("generation_config.json", _generation_config(folder)),
        ("tokenizer_config.json", _tokenizer_config(folder)),
        ("vocab.json", ids),
    ]:
        write_json(target / name, values)
    for name in ("source.spm", "target.spm"):
        shutil.copyfile(folder.source_subwords, target / name)
    unused = next(name for name, number in ids.items() if number == PAD)
    (target / "README.md").write_text(huggingface_card(folder, unused=unused), encoding="utf-8", newline="\n")


def vocabulary(folder: ModelFolder) -> dict[str, int]:
    """Return the ids of the pieces; the padding symbol is the new one at the end, as MarianMT has it."""
    segmenter = Segmenter.load(folder.source_subwords)
    names = segmenter.pieces(range(segmenter.vocab_size))
    ids = {name: number for number, name in enumerate(names) if number != PAD}
    unused = "<unused>"
    while unused in ids:
        unused = f"<{unused}>"
    return {unused: PAD, **ids, names[PAD]: len(names)}


def _config(folder: ModelFolder) -> dict[str, Any]:
    description = folder.description
    config, padding = description.model, description.target_vocab_size
    both: dict[str, Any] = {}
    for side, n_layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        both |= {
            f"{side}_layers": n_layers,
            f"{side}_attention_heads": config.n_heads,
            f"{side}_ffn_dim": config.d_ff,
            f"{side}_layerdrop": 0.0,
        }
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": padding + 1,
        "decoder_vocab_size": padding + 1,
        "d_model": config.d_model,
        **both,
        "activation_function": "relu",
        "scale_embedding": True,
        "static_position_embeddings": True,
        "max_position_embeddings": N_POSITIONS,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "share_encoder_decoder_embeddings": config.tying == "three-way",
        "tie_word_embeddings": config.tying != "none",
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.ffn_dropout,
        "init_std": 0.02,
        "use_cache": True,
        **_symbols(padding),
    }


def _symbols(padding: int) -> dict[str, Any]:
    return {
        "bos_token_id": None,
        "eos_token_id": END,
        "pad_token_id": padding,
        "decoder_start_token_id": padding,
        "forced_eos_token_id": None,
    }


def _generation_config(folder: ModelFolder) -> dict[str, Any]:
    search, padding = folder.description.search, folder.description.target_vocab_size
    return {
        **_symbols(padding),
        "max_length": MOST_GENERATED,
        # Theirs counts the symbol that the decoder starts with.
        "min_length": search.min_length + 1 if search.min_length else 0,
        "num_beams": search.beam_size,
        # Of a greedy search these are refused.
        **({"length_penalty": alpha_of_length(search), "early_stopping": False} if search.beam_size > 1 else {}),
        "suppress_tokens": [PAD, padding],
    }


def _tokenizer_config(folder: ModelFolder) -> dict[str, Any]:
    segmenter = Segmenter.load(folder.source_subwords)
    padding, end, unknown = segmenter.pieces([PAD, END, UNKNOWN])
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": folder.description.source_language,
        "target_lang": folder.description.target_language,
        "pad_token": padding,
        "eos_token": end,
        "unk_token": unknown,
        "model_max_length": MOST_GENERATED,
        "separate_vocabs": False,
        "clean_up_tokenization_spaces": False,
        # Typed text never becomes a control symbol.
        "split_special_tokens": True,
    }


def refuse_other_answers(folder: ModelFolder, exported: Path, sources: Sequence[Sequence[int]]) -> Outcome:
    """See that a MarianMT folder gives our outputs the probabilities that the model gives them.

    Raises:
        ModelError: it does not.
    """
    from nmt_cli.decoding.engine import TorchEngine
    from nmt_cli.decoding.marian import Marian

    engine, other = TorchEngine.load(folder), Marian.load(exported)
    greedy = SearchConfig(beam_size=1, length_penalty="none")
    targets = [[*found[0].ids, END] for found in engine.search(sources, greedy)]
    ours = engine.score(sources, targets)
    theirs = [other.score(source, target) for source, target in zip(sources, targets, strict=True)]
    apart = max(abs(one - another) for one, another in zip(ours, theirs, strict=True))
    if not apart <= MOST_APART:
        raise ModelError(
            f"{folder.path}: written as MarianMT it answers otherwise: log-probabilities of {len(sources)} outputs "
            f"are up to {apart:.2g} nats apart, at most {MOST_APART:g} is allowed; the model or the disk is damaged, "
            f"or model.layer_norm_epsilon ({folder.description.model.layer_norm_epsilon:g}) is too far from MarianMT's "
            f"{EPSILON:g}; --to ctranslate2 keeps it"
        )
    return Outcome(len(sources), apart)
