"""Validation: loss over all pairs, and BLEU of translations made by the real search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float64
from torch import Tensor

from nmt_cli.batches.corpus import EncodedCorpus, PiecesFolder
from nmt_cli.batches.cutting import cut_update
from nmt_cli.batches.padding import pad_batch
from nmt_cli.batches.plan import MICRO_BATCH_TOKENS, Indices, by_length
from nmt_cli.config import Settings
from nmt_cli.corpora.text_steps import undo
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.model.transformer import Transformer
from nmt_cli.scoring.bleu import BleuResult, sacrebleu_bleu
from nmt_cli.scoring.chrf_ter import chrf
from nmt_cli.scoring.result import MetricResult
from nmt_cli.subwords.segmenter import Segmenter
from nmt_cli.training.gradient import ONE_RANK, batch_loss
from nmt_cli.training.precision import in_full
from nmt_cli.training.ranks import Ranks


@dataclass(frozen=True)
class Sample:
    """A pair of the validation split, and what the model makes of it."""

    source: str
    reference: str
    hypothesis: str


@dataclass(frozen=True)
class ValidationResult:
    """What the model is worth on the validation split."""

    smoothed_loss: float
    """Mean over target tokens, in nats."""
    plain_loss: float
    """Mean over target tokens, in nats, without smoothing."""
    target_tokens: int
    bleu: BleuResult
    chrf: MetricResult
    hypotheses: list[str]
    samples: list[Sample]
    """The same pairs each time: the first, the middle and the last of the split."""

    @property
    def perplexity(self) -> float:
        """Of a target token, without smoothing."""
        return math.exp(min(self.plain_loss, 700.0))

    @property
    def scores(self) -> dict[str, float | str]:
        """What metrics and model folders say of it."""
        return {
            "validation_bleu": self.bleu.score,
            "validation_bleu_signature": self.bleu.signature,
            "validation_chrf": self.chrf.score,
            "validation_chrf_signature": self.chrf.signature,
            "validation_loss_nats": self.smoothed_loss,
            "validation_perplexity": self.perplexity,
        }


class Validator:
    """The validation split, with its references on the rank that needs them."""

    def __init__(self, pieces: PiecesFolder, settings: Settings) -> None:
        """Take the validation split of an encoded corpus."""
        self._pieces, self._settings = pieces, settings
        self._corpus = pieces.split("valid")
        self._language = str(pieces.manifest["target_language"])

    @cached_property
    def _segmenter(self) -> Segmenter:
        return Segmenter.load(self._pieces.subwords_of("target"))

    @cached_property
    def references(self) -> list[str]:
        """The targets turned back into text."""
        targets = self._corpus.target
        return [self._to_text(targets.sentence(i)[:-1].tolist()) for i in range(len(self._corpus))]

    @cached_property
    def _sample_sources(self) -> dict[int, str]:
        return self._source_texts(self._pieces, sample_places(len(self._corpus)))

    def validate(self, model: Transformer, ranks: Ranks = ONE_RANK) -> ValidationResult:
        """Return loss and BLEU of the model as it stands, the same bits for any number of ranks.

        The other ranks meanwhile `take_part`.

        Raises:
            LostRankError: a rank is gone.
        """
        losses, outputs = self.take_part(model, ranks)
        tokens = int(self._corpus.target.lengths.sum())
        hypotheses = [self._to_text(ids) for ids in outputs]
        return ValidationResult(
            smoothed_loss=sum(losses[:, 0].tolist()) / tokens,
            plain_loss=sum(losses[:, 1].tolist()) / tokens,
            target_tokens=tokens,
            bleu=sacrebleu_bleu(hypotheses, self.references, target_language=self._language),
            chrf=chrf(hypotheses, self.references),
            hypotheses=hypotheses,
            samples=[
                Sample(source, self.references[place], hypotheses[place])
                for place, source in self._sample_sources.items()
            ],
        )

    def take_part(self, model: Transformer, ranks: Ranks) -> tuple[Float64[Tensor, "N 2"], list[list[int]]]:
        """Return the losses of each batch and the ids of each translation, after this rank did its share of both.

        The mode of the model is left as it was.

        Raises:
            LostRankError: a rank is gone.
        """
        was_training = model.training
        model.eval()
        with in_full(model):
            losses = self._losses(model, ranks)
            # A model without finite numbers says nothing; the losses are the same on every rank.
            speaks = bool(torch.isfinite(losses).all())
            outputs = self._outputs(model, ranks) if speaks else [[] for _ in range(len(self._corpus))]
        model.train(was_training)
        return losses, outputs

    def _losses(self, model: Transformer, ranks: Ranks) -> Float64[Tensor, "N 2"]:
        corpus, training = self._corpus, self._settings.training
        parts = _batches_by_length(corpus, micro_batch_tokens=training.micro_batch_tokens or MICRO_BATCH_TOKENS)
        losses = torch.zeros(len(parts), 2, dtype=torch.float64)
        for place in range(ranks.rank, len(parts), ranks.world_size):
            ranks.standing.turns(waits=False)  # a batch may take its time, and all of them any time
            with torch.no_grad():
                loss = batch_loss(model, pad_batch(corpus, parts[place]), smoothing=training.label_smoothing)
            losses[place] = torch.tensor([float(loss.smoothed), float(loss.plain)], dtype=torch.float64)
        ranks.sum_(losses)
        return losses

    def _outputs(self, model: Transformer, ranks: Ranks) -> list[list[int]]:
        source, engine, search = self._corpus.source, TorchEngine([model]), self._settings.search
        batches = list(engine.search_batches(source.lengths.tolist(), search))
        outputs: dict[int, list[int]] = {}
        for places in batches[ranks.rank :: ranks.world_size]:
            ranks.standing.turns(waits=False)
            found = engine.search([source.sentence(place).tolist() for place in places], search)
            outputs |= {place: list(best[0].ids) for place, best in zip(places, found, strict=True)}
        return gathered(outputs, len(self._corpus), ranks)

    def _to_text(self, ids: list[int]) -> str:
        return undo(self._segmenter.decode(ids), self._pieces.text, self._language)

    def _source_texts(self, pieces: PiecesFolder, places: list[int]) -> dict[int, str]:
        language, segmenter = str(pieces.manifest["source_language"]), Segmenter.load(pieces.subwords_of("source"))
        source = self._corpus.source
        return {
            i: undo(segmenter.decode(source.sentence(i)[:-1].tolist()), self._pieces.text, language) for i in places
        }


def sample_places(n_pairs: int) -> list[int]:
    """Return the places of the pairs that are shown: first, middle and last."""
    return sorted({0, n_pairs // 2, n_pairs - 1})


def gathered(outputs: Mapping[int, Sequence[int]], n_outputs: int, ranks: Ranks) -> list[list[int]]:
    """Return the outputs of all ranks by their places; no two ranks have one in common.

    Raises:
        LostRankError: a rank is gone.
    """
    lengths = torch.zeros(n_outputs, dtype=torch.int64)
    for place, ids in outputs.items():
        lengths[place] = len(ids)
    ranks.sum_(lengths)
    ends = lengths.cumsum(0).tolist()
    ids_of_all = torch.zeros(ends[-1], dtype=torch.int64)
    for place, ids in outputs.items():
        ids_of_all[ends[place] - len(ids) : ends[place]] = torch.tensor(ids, dtype=torch.int64)
    ranks.sum_(ids_of_all)
    flat = ids_of_all.tolist()
    return [flat[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]


def _batches_by_length(corpus: EncodedCorpus, *, micro_batch_tokens: int) -> list[Indices]:
    order = by_length(corpus.source.lengths, corpus.target.lengths)
    return cut_update(order, corpus.source.lengths, corpus.target.lengths, micro_batch_tokens=micro_batch_tokens)
