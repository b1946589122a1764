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
from nmt_cli.subwords.segmenter import Segmenter
from nmt_cli.training.gradient import batch_loss


@dataclass(frozen=True)
class ValidationResult:
    """What the model is worth on the validation split."""

    smoothed_loss: float
    """Mean over target tokens, in nats."""
    plain_loss: float
    """Mean over target tokens, in nats, without smoothing."""
    target_tokens: int
    bleu: BleuResult
    hypotheses: list[str]

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

    def validate(self, model: Transformer) -> ValidationResult:
        """Return loss and BLEU of the model as it stands; its mode is left as it was."""
        was_training = model.training
        model.eval()
        smoothed, plain, tokens = self._loss(model)
        hypotheses = self._translate(model)
        model.train(was_training)
        bleu = sacrebleu_bleu(hypotheses, self.references, target_language=self._language)
        return ValidationResult(smoothed / tokens, plain / tokens, tokens, bleu, hypotheses)

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


def _batches_by_length(corpus: EncodedCorpus, *, micro_batch_tokens: int) -> list[Indices]:
    order = np.lexsort((corpus.source.lengths, corpus.target.lengths))
    return cut_update(order, corpus.source.lengths, corpus.target.lengths, micro_batch_tokens=micro_batch_tokens)
