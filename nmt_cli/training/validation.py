"""Validation: loss over all pairs, and BLEU of translations made by the real search."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from nmt_cli.batches.corpus import EncodedCorpus, PiecesFolder
from nmt_cli.batches.padding import pad_batch
from nmt_cli.batches.plan import MICRO_BATCH_TOKENS, Indices, cut_update
from nmt_cli.config import Settings
from nmt_cli.corpora.text_steps import undo
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.model.transformer import Transformer
from nmt_cli.scoring.bleu import BleuResult, sacrebleu_bleu
from nmt_cli.scoring.chrf_ter import chrf
from nmt_cli.scoring.result import MetricResult
from nmt_cli.subwords.segmenter import Segmenter
from nmt_cli.training.gradient import batch_loss


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
    """The validation split with its references, read once."""

    def __init__(self, pieces: PiecesFolder, settings: Settings) -> None:
        """Read the split and turn its targets back into text, the references."""
        self._corpus = pieces.split("valid")
        self._settings = settings
        self._language = str(pieces.manifest["target_language"])
        self._text = pieces.text
        self._segmenter = Segmenter.load(pieces.subwords_of("target"))
        targets = self._corpus.target
        self.references = [self._to_text(targets.sentence(i)[:-1].tolist()) for i in range(len(self._corpus))]
        self._sample_sources = self._source_texts(pieces, sample_places(len(self._corpus)))

    def validate(self, model: Transformer) -> ValidationResult:
        """Return loss and BLEU of the model as it stands; its mode is left as it was."""
        was_training = model.training
        model.eval()
        smoothed, plain, tokens = self._loss(model)
        hypotheses = self._translate(model)
        model.train(was_training)
        bleu = sacrebleu_bleu(hypotheses, self.references, target_language=self._language)
        return ValidationResult(
            smoothed_loss=smoothed / tokens,
            plain_loss=plain / tokens,
            target_tokens=tokens,
            bleu=bleu,
            chrf=chrf(hypotheses, self.references),
            hypotheses=hypotheses,
            samples=[
                Sample(source, self.references[place], hypotheses[place])
                for place, source in self._sample_sources.items()
            ],
        )

    def _loss(self, model: Transformer) -> tuple[float, float, int]:
        corpus, training = self._corpus, self._settings.training
        smoothed = plain = 0.0
        tokens = 0
        for part in _batches_by_length(corpus, micro_batch_tokens=training.micro_batch_tokens or MICRO_BATCH_TOKENS):
            batch = pad_batch(corpus, part)
            with torch.no_grad():
                loss = batch_loss(model, batch, smoothing=training.label_smoothing)
            smoothed += float(loss.smoothed)
            plain += float(loss.plain)
            tokens += batch.target_tokens
        return smoothed, plain, tokens

    def _translate(self, model: Transformer) -> list[str]:
        source = self._corpus.source
        sources = [source.sentence(i).tolist() for i in range(len(self._corpus))]
        found = TorchEngine([model]).search(sources, self._settings.search)
        return [self._to_text(hypotheses[0].ids) for hypotheses in found]

    def _to_text(self, ids: list[int]) -> str:
        return undo(self._segmenter.decode(ids), self._text, self._language)

    def _source_texts(self, pieces: PiecesFolder, places: list[int]) -> dict[int, str]:
        language, segmenter = str(pieces.manifest["source_language"]), Segmenter.load(pieces.subwords_of("source"))
        source = self._corpus.source
        return {i: undo(segmenter.decode(source.sentence(i)[:-1].tolist()), self._text, language) for i in places}


def sample_places(n_pairs: int) -> list[int]:
    """Return the places of the pairs that are shown: first, middle and last."""
    return sorted({0, n_pairs // 2, n_pairs - 1})


def _batches_by_length(corpus: EncodedCorpus, *, micro_batch_tokens: int) -> list[Indices]:
    order = np.lexsort((corpus.source.lengths, corpus.target.lengths))
    return cut_update(order, corpus.source.lengths, corpus.target.lengths, micro_batch_tokens=micro_batch_tokens)
