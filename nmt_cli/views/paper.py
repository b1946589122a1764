"""What the paper says of its two translation models: settings, sizes, costs and scores, each with its section.

`t2t` is its reference implementation of June 2017, where the paper is silent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PaperModel = Literal["base", "big"]


@dataclass(frozen=True)
class Expected:
    """The value of a setting in the paper."""

    setting: str
    """Section and field, as --set names them."""
    base: object
    big: object
    where: str

    def value(self, model: PaperModel, target_language: str) -> object:
        """Return the value for a model and the language that it translates into."""
        if (self.setting, model, target_language) == ("model.dropout", "big", "fr"):
            return 0.1
        return self.base if model == "base" else self.big


def _both(setting: str, value: object, where: str) -> Expected:
    return Expected(setting, value, value, where)


SETTINGS = [
    _both("model.n_encoder_layers", 6, "3.1"),
    _both("model.n_decoder_layers", 6, "3.1"),
    Expected("model.d_model", 512, 1024, "3.1, table 3"),
    Expected("model.d_ff", 2048, 4096, "3.3, table 3"),
    Expected("model.n_heads", 8, 16, "3.2.2, table 3"),
    _both("model.d_k", 64, "3.2.2"),
    _both("model.d_v", 64, "3.2.2"),
    Expected("model.dropout", 0.1, 0.3, "5.4, table 3; EN-FR big: 6.1"),
    _both("model.attention_dropout", 0.0, "5.4 names none; t2t"),
    _both("model.ffn_dropout", 0.0, "5.4 names none; t2t"),
    _both("model.norm", "post", "3.1"),
    _both("model.layer_norm_epsilon", 1e-6, "t2t"),
    _both("model.positions", "interleaved", "3.5; t2t: concatenated"),
    _both("model.attention_bias", value=False, where="3.2.2 has none; t2t has"),
    _both("model.target_space", value=False, where="not in the paper; t2t has it"),
    _both("model.tying", "three-way", "3.4"),
    _both("model.initialisation", "glorot-fused", "t2t"),
    Expected("training.max_steps", 100_000, 300_000, "5.2"),
    _both("training.tokens_per_update", 25_000, "5.1"),
    _both("training.max_length", 256, "t2t"),
    _both("training.precision", "float32", "t2t"),
    _both("training.label_smoothing", 0.1, "5.4"),
    _both("training.schedule", "paper", "5.3"),
    _both("training.warmup_steps", 4_000, "5.3"),
    _both("training.learning_rate_factor", 1.0, "5.3"),
    _both("training.adam_beta1", 0.9, "5.3"),
    _both("training.adam_beta2", 0.98, "5.3"),
    _both("training.adam_epsilon", 1e-9, "5.3"),
    _both("training.clip_norm", None, "5.3 names none; t2t"),
    _both("training.bpe_dropout", 0.0, "not in the paper"),
    _both("training.ema_decay", None, "not in the paper"),
    _both("training.fine_tune", None, "not in the paper"),
    _both("training.corpus_weights", None, "not in the paper"),
    Expected("training.save_every_steps", 1_500, 600, "6.1: 10 minutes, 5.2: 0.4 s and 1.0 s a step"),
    _both("training.save_every_minutes", None, "by steps above"),
    _both("search.beam_size", 4, "6.1"),
    _both("search.length_penalty", "wu", "6.1"),
    _both("search.alpha", 0.6, "6.1"),
    _both("search.max_extra", 50, "6.1"),
    _both("search.min_length", 0, "not in the paper"),
    _both("search.stop_rule", "exact", "6.1: early where possible; t2t: t2t-2017"),
    _both("search.sample", value=False, where="not in the paper"),
]


@dataclass(frozen=True)
class Published:
    """What came of a model in the paper."""

    million_parameters: int
    """Table 3."""
    averaged: int
    """Checkpoints in the mean (6.1)."""
    steps_apart: int
    gpu_hours: float
    """Hours of training (5.2) times 8 GPUs."""
    model_flops: float
    """Worked out for 25,000 source and target tokens an update and 37,000 pieces."""
    bleu: dict[str, float]
    """On newstest2014, by target language (table 2)."""
    development: tuple[float, float]
    """Perplexity and BLEU on newstest2013 of English-German, one checkpoint (table 3)."""


PUBLISHED: dict[PaperModel, Published] = {
    "base": Published(65, 5, 1_500, 12 * 8, 9.6e17, {"de": 27.3, "fr": 38.1}, (4.92, 25.8)),
    "big": Published(213, 20, 600, 3.5 * 24 * 8, 9.7e18, {"de": 28.4, "fr": 41.8}, (4.33, 26.4)),
}
P100_TFLOPS = 9.5
"""Sustained, as the paper reckons (6.1)."""
TOKENS_PER_UPDATE = 25_000
"""Of source and of target, about (5.1)."""
VOCABULARY = {"de": 37_000, "fr": 32_000}
"""Pieces shared by both sides (5.1)."""
PAIRS = {"de": 4_500_000, "fr": 36_000_000}
"""Of training, about (5.1)."""
COMPARABLE = {"de": "bleu_paper", "fr": "bleu_tokenised"}
"""The protocol whose figure may stand beside table 2."""


def paper_flops(model: PaperModel) -> float:
    """Return the training cost of table 2: time x GPUs x sustained rate."""
    return PUBLISHED[model].gpu_hours * 3600 * P100_TFLOPS * 1e12
