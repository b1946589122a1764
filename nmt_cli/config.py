"""Typed, frozen, strict settings: what they are, their units, defaults and where these come from.

`paper` in a description is *Attention Is All You Need* (arXiv 1706.03762) by section; `t2t` is its
reference implementation of June 2017.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator
from pydantic.config import JsonDict

Layers = Annotated[int, Field(gt=0, le=1_000)]
Width = Annotated[int, Field(gt=0, le=100_000)]
Positions = Annotated[int, Field(gt=0, le=10_000_000)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
Seed = Annotated[int, Field(ge=0, lt=1 << 63)]
MAY_CHANGE: JsonDict = {"on_resume": "may change"}
"""Mark of a field that may differ when a run continues; every other field must stay."""
StorageForm = Literal["float32", "float16", "int8"]
"""In which a model folder keeps its weights: `weight_storage`."""


class Section(BaseModel):
    """A group of settings: immutable, and refusing unknown names and values of another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=())


class ModelConfig(Section):
    """The Transformer (paper, section 3). Vocabulary sizes come from the encoded corpus."""

    reading: Literal["paper", "t2t-2017"] = Field(
        default="paper", description="sets positions, attention_bias and target_space where these are not given"
    )
    n_encoder_layers: Layers = Field(description="layers of the encoder (3.1)")
    n_decoder_layers: Layers = Field(description="layers of the decoder (3.1)")
    d_model: Width = Field(description="width of the residual stream (3.1)")
    d_ff: Width = Field(description="inner width of the feed-forward layers (3.3)")
    n_heads: Width = Field(description="attention heads (3.2.2)")
    d_k: Width = Field(description="width of a query and a key of one head; default d_model / n_heads (3.2.2)")
    d_v: Width = Field(description="width of a value of one head; default d_model / n_heads (3.2.2)")
    dropout: Probability = Field(description="on embeddings plus positions and on each sublayer's output (5.4)")
    attention_dropout: Probability = Field(default=0.0, description="on attention weights; the paper: only for parsing")
    ffn_dropout: Probability = Field(default=0.0, description="after the ReLU of the feed-forward layers")
    norm: Literal["post", "pre"] = Field(default="post", description="LayerNorm after the residual sum (3.1) or before")
    layer_norm_epsilon: float = Field(default=1e-6, gt=0, description="inside the square root (t2t)")
    positions: Literal["interleaved", "concatenated", "learned"] = Field(
        default="interleaved", description="sinusoids as in 3.5, as in t2t, or a learned table (table 3, row E)"
    )
    max_positions: Positions = Field(default=256, description="rows of the learned position table (t2t)")
    attention_bias: bool = Field(
        default=False, description="biases in the attention projections; none in the paper (3.2.2)"
    )
    target_space: bool = Field(default=False, description="t2t's learned vector added to every source position")
    tying: Literal["three-way", "decoder", "none"] = Field(
        default="three-way",
        description="one matrix for source, target and output (3.4); target and output; none shared",
    )
    initialisation: Literal["glorot-fused", "glorot"] = Field(
        default="glorot-fused", description="uniform Glorot over t2t's fused projections, or a matrix at a time"
    )

    @model_validator(mode="before")
    @classmethod
    def fill_in(cls, values: Any) -> Any:  # noqa: ANN401 - pydantic hands over the raw input
        """Complete what the reading and the widths imply."""
        if not isinstance(values, dict):
            return values
        filled = dict(values)
        if filled.get("reading") == "t2t-2017":
            filled = {"positions": "concatenated", "attention_bias": True, "target_space": True} | filled
        d_model, n_heads = filled.get("d_model"), filled.get("n_heads")
        if isinstance(d_model, int) and isinstance(n_heads, int) and n_heads > 0 and d_model % n_heads == 0:
            filled = {"d_k": d_model // n_heads, "d_v": d_model // n_heads} | filled
        return filled


class TrainingConfig(Section):
    """How the model is trained (paper, section 5)."""

    max_steps: PositiveInt = Field(description="updates in all (5.2)", json_schema_extra=MAY_CHANGE)
    tokens_per_update: PositiveInt = Field(
        description="at most so many source and so many target tokens make an update, end symbols counted (5.1)"
    )
    micro_batch_tokens: PositiveInt | None = Field(
        default=None,
        le=1_000_000_000_000,
        description="at most so many padded positions a side go through the model at a time; "
        "default: 2,560 on a CPU, what fits on a GPU",
    )
    precision: Literal["float32", "bfloat16"] | None = Field(
        default=None,
        description="of the products in training; weights, their sums and the loss stay float32; "
        "default: float32 on a CPU, bfloat16 on a GPU that has it",
    )
    corpus_weights: list[PositiveFloat] | None = Field(
        default=None, description="pairs of each corpus among those trained on, in proportion; default: each pair once"
    )
    bpe_dropout: Probability = Field(
        default=0.0, description="share of merges left out when a sentence is cut anew each time (BPE-dropout)"
    )
    ema_decay: Probability | None = Field(
        default=None, description="checkpoints hold the exponential moving average of the weights, with this decay"
    )
    fine_tune: str | None = Field(default=None, description="model folder whose weights training begins with")
    max_length: PositiveInt = Field(
        default=256, description="pairs longer than this, in tokens on a side, are left out (t2t)"
    )
    seed: Seed = Field(default=1, description="of initialisation, order of the data and dropout")
    label_smoothing: Probability = Field(default=0.1, description="mass spread over the other symbols (5.4)")
    schedule: Literal["paper", "constant", "linear"] = Field(
        default="paper", description="equation 3; or warm-up then constant; or warm-up then linear to zero at max_steps"
    )
    warmup_steps: PositiveInt = Field(description="steps of rising learning rate (5.3)")
    learning_rate_factor: float = Field(default=1.0, gt=0, description="multiplies equation 3 (`paper` schedule)")
    peak_learning_rate: float = Field(default=5e-4, gt=0, description="of the constant and linear schedules")
    adam_beta1: Probability = Field(default=0.9, description="(5.3)")
    adam_beta2: Probability = Field(default=0.98, description="(5.3)")
    adam_epsilon: float = Field(default=1e-9, gt=0, description="(5.3)")
    clip_norm: float | None = Field(
        default=None, gt=0, description="largest norm of the gradient; the paper has no limit"
    )
    save_every_steps: PositiveInt = Field(
        description="a checkpoint each so many steps (paper: 10 minutes, 1,500 steps of base)",
        json_schema_extra=MAY_CHANGE,
    )
    save_every_minutes: float | None = Field(
        default=None, gt=0, description="and one each so many minutes", json_schema_extra=MAY_CHANGE
    )
    keep_checkpoints: PositiveInt = Field(
        default=20, description="newest checkpoints kept, the best besides (t2t: 20)", json_schema_extra=MAY_CHANGE
    )
    validate_every_steps: PositiveInt = Field(
        description="loss and BLEU on the validation split each so many steps", json_schema_extra=MAY_CHANGE
    )
    best_by: Literal["bleu", "loss"] = Field(default="bleu", description="what makes a checkpoint the best")
    patience: PositiveInt | None = Field(
        default=None, description="stop after so many validations without a better one", json_schema_extra=MAY_CHANGE
    )
    report_every_steps: PositiveInt = Field(
        default=100, description="progress and metrics", json_schema_extra=MAY_CHANGE
    )


MOST_HYPOTHESES = 100_000


class SearchConfig(Section):
    """How a translation is searched for (paper, section 6.1)."""

    beam_size: PositiveInt = Field(default=4, le=MOST_HYPOTHESES, description="hypotheses kept a step (6.1)")
    length_penalty: Literal["wu", "length", "none", "wu-rescored"] = Field(
        default="wu",
        description="log-probability is divided by ((5+n)/6)^alpha, by n^alpha, or not; n counts the end symbol; "
        "wu-rescored: the beam that `length` leaves, in the order of `wu`",
    )
    alpha: float = Field(default=0.6, ge=0, le=10, description="exponent of the length penalty (6.1)")
    max_extra: int = Field(
        default=50, ge=0, le=1_000_000, description="an output holds at most source length + this many tokens (6.1)"
    )
    min_length: int = Field(default=0, ge=0, le=1_000_000, description="tokens that must come before the end symbol")
    n_best: PositiveInt = Field(default=1, description="hypotheses given back a sentence, at most beam_size")
    stop_rule: Literal["exact", "t2t-2017", "t2t-best"] = Field(
        default="exact", description="when no better one can come; the worst finished bounds; the best finished bounds"
    )
    batch_tokens: PositiveInt = Field(
        default=4096, description="source positions, times beam_size, decoded together at most"
    )
    sample: bool = Field(default=False, description="outputs are drawn, n_best of them, in place of a beam search")
    temperature: float = Field(default=1.0, gt=0, le=100, description="log-probabilities are divided by it to draw")
    top_k: int = Field(default=0, ge=0, description="most probable pieces that are drawn from; 0: all")
    top_p: float = Field(default=1.0, gt=0, le=1, description="mass of the most probable pieces that are drawn from")
    alignments: bool = Field(default=False, description="records tell which source piece each piece comes from")
    seed: int = Field(default=1, ge=0, description="of the draws; a line gives the same sample in any company")

    @model_validator(mode="after")
    def n_best_fits_the_beam(self) -> SearchConfig:
        """Refuse more answers than hypotheses."""
        if self.n_best > self.beam_size and not self.sample:
            raise ValueError(f"n_best is {self.n_best}, but beam_size is {self.beam_size}; raise beam_size")
        return self


class TextConfig(Section):
    """What is done to a line before subwords see it; `translate` does the same and undoes it."""

    nfc: bool = Field(default=True, description="Unicode normal form C")
    fold_spaces: bool = Field(default=True, description="runs of white space become one space, none at the ends")
    lowercase: bool = Field(default=False, description="lower-case; cannot be undone")
    moses: bool = Field(
        default=False, description="Moses tokenisation; undone by the detokeniser of the target language"
    )


class CleaningConfig(Section):
    """Which pairs `prepare` drops, and how it holds out what is not given."""

    max_words: PositiveInt = Field(
        default=250, description="longest side, in words; without spaces, 2 Han characters are one"
    )
    max_characters: PositiveInt = Field(default=5000, description="longest side, in characters; long words count too")
    max_ratio: float = Field(default=9.0, ge=1, description="longer side over shorter side, in words (Moses: 9)")
    drop_duplicates: bool = Field(default=True, description="a pair that was seen before is dropped")
    drop_overlap: bool = Field(
        default=True, description="a pair of train with a sentence of given valid or test files is dropped"
    )
    n_valid: PositiveInt = Field(default=1000, description="pairs held out for validation, at most a tenth of all")
    n_test: int | None = Field(
        default=None,
        ge=0,
        description="pairs held out for testing, at most a tenth of all; default: 1000, or 0 beside given valid files",
    )
    seed: Seed = Field(default=1, description="of the choice of what is held out")


MOST_PIECES = 10_000_000


class SubwordConfig(Section):
    """How the subwords are learned (paper, section 5.1: a shared vocabulary)."""

    algorithm: Literal["bpe", "unigram"] = Field(default="bpe", description="SentencePiece model type")
    vocab_size: int = Field(
        ge=260, le=MOST_PIECES, description="pieces, the 3 control symbols and 256 bytes among them"
    )
    target_vocab_size: int | None = Field(
        default=None,
        ge=260,
        le=MOST_PIECES,
        description="pieces of a target vocabulary of its own; none: both sides share one",
    )
    character_coverage: float = Field(
        default=0.9995, ge=0.98, le=1, description="share of characters with a piece of their own"
    )
    max_sentences: PositiveInt = Field(
        default=5_000_000, description="lines, both sides together, that learning reads at most"
    )
    seed: Seed = Field(default=1, description="of the sample when there are more lines")


class MachineConfig(Section):
    """What the run may use; nothing here changes which pairs make up an update."""

    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="auto: a GPU where there is one", json_schema_extra=MAY_CHANGE
    )
    ranks: PositiveInt | None = Field(
        default=None,
        description="processes that share an update; default: one a core on a CPU, as far as memory goes; one on a GPU",
        json_schema_extra=MAY_CHANGE,
    )
    rank_timeout_minutes: float = Field(
        default=10.0,
        gt=0,
        le=1_000_000,
        description="a process that keeps the others waiting longer ends the run",
        json_schema_extra=MAY_CHANGE,
    )
    compile: bool = Field(default=False, description="compile the layers (torch.compile)", json_schema_extra=MAY_CHANGE)
    sustained_tflops: float | None = Field(
        default=None,
        gt=0,
        description="rate of one device (GPU or CPU core) in TFLOP/s, for the cost as the paper counts it, training "
        "time x devices x rate (6.1: K80 2.8, K40 3.7, M40 6.0, P100 9.5); default: that cost is left out",
        json_schema_extra=MAY_CHANGE,
    )
    tensorboard: bool = Field(
        default=False, description="curves for TensorBoard too, in the run's tensorboard/", json_schema_extra=MAY_CHANGE
    )


class Settings(Section):
    """All that `nmt train` follows; written to the run as config.toml and given back with --config."""

    model: ModelConfig
    training: TrainingConfig
    search: SearchConfig = SearchConfig()
    machine: MachineConfig = MachineConfig()
