"""The CTranslate2 engine: sequences of ids in, hypotheses out; no torch here."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import ctranslate2

from nmt_cli.config import ModelConfig, SearchConfig
from nmt_cli.decoding.hypothesis import Hypothesis, length_penalty
from nmt_cli.errors import MachineError, ModelError, UsageError
from nmt_cli.subwords.segmenter import END, PAD

MOST_POSITIONS = 2_048
"""Rows of the table of sinusoids, which CTranslate2 cannot work out in our order by itself."""
EXACT_PATIENCE, PATIENCE = 2.0, 1.5
"""A search ends when beam size times this many hypotheses have ended. On a test set of Multi30k, beam 4, the outputs
were those of an exact search in 1,000 of 1,000 lines with the first, in 999 with the second, in 984 with CTranslate2's
own 1; in int8, where the second is used, there was no difference between the first two."""


def why_not_model(config: ModelConfig) -> str | None:
    """Return what CTranslate2 cannot express of a model, None if it can express all."""
    if config.target_space:
        return "the model has a target space"
    if config.d_k != config.d_v or config.d_k * config.n_heads != config.d_model:
        return f"the model's heads are of {config.d_k} and {config.d_v} numbers, not d_model / n_heads"
    return None


def n_positions(config: ModelConfig) -> int:
    """Return how many positions a side a converted model has."""
    return config.max_positions if config.positions == "learned" else MOST_POSITIONS


def chosen_device(name: str) -> str:
    """Return the device called auto, cpu or cuda.

    Raises:
        UsageError: unknown, or not there.
    """
    if name not in {"auto", "cpu", "cuda"}:
        raise UsageError(f"device {name!r} is unknown; there are auto, cpu and cuda")
    has_gpu = name != "cpu" and ctranslate2.get_cuda_device_count() > 0
    if name == "cuda" and not has_gpu:
        raise UsageError("device cuda: CTranslate2 finds no GPU here; use --device cpu, or auto")
    return "cuda" if has_gpu else "cpu"


def why_not_search(config: SearchConfig, *, has_prefixes: bool) -> str | None:
    """Return what CTranslate2 cannot do of a search exactly, None if it can do all of it."""
    is_wu = config.length_penalty == "wu" and config.alpha > 0 and config.beam_size > 1
    reasons = {
        "outputs are to be drawn": config.sample,
        "alignments are asked for": config.alignments,
        "outputs are to begin with a prefix": has_prefixes,
        "the length penalty is wu (wu-rescored is its nearest)": is_wu,
        # CTranslate2 would give the probability of an end that is too early to the other pieces.
        "outputs are to have a least length": config.min_length > 0,
        f"the stop rule is {config.stop_rule}": config.stop_rule != "exact",
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


class CTranslateEngine:
    """A converted model."""

    def __init__(
        self, translator: ctranslate2.Translator, *, source: Sequence[str], target: Sequence[str], config: ModelConfig
    ) -> None:
        """Take a loaded model, the pieces of both sides by id, and the settings of the original."""
        self._translator = translator
        self._source, self._target = source, target
        self._ids = {piece: number for number, piece in enumerate(target)}
        self._n_positions = n_positions(config)

    @classmethod
    def load(
        cls,
        converted: Path,
        *,
        source: Sequence[str],
        target: Sequence[str],
        config: ModelConfig,
        device: str = "cpu",
        compute_type: str = "default",
        threads: int = 1,
    ) -> CTranslateEngine:
        """Load a folder that `convert_to_ctranslate2` wrote; each of `threads` translates a batch of its own.

        Raises:
            ModelError: CTranslate2 refuses the folder.
            UsageError: the device does not compute in this type.
        """
        try:
            translator = ctranslate2.Translator(
                str(converted), device=device, compute_type=compute_type, inter_threads=threads, intra_threads=1
            )
        except ValueError as error:
            raise UsageError(f"CTranslate2 on {device}: {error}; give another --compute-type") from None
        except RuntimeError as error:
            raise ModelError(f"{converted}: CTranslate2 cannot load it ({error})") from None
        return cls(translator, source=source, target=target, config=config)

    @property
    def max_source_length(self) -> int | None:
        """Most pieces of a source, end symbol included."""
        return self._n_positions

    @property
    def max_target_length(self) -> int | None:
        """Most pieces of an output, end symbol included."""
        return self._n_positions

    def search(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig,
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        keys: Sequence[str] | None = None,  # noqa: ARG002 - nothing is drawn here
    ) -> list[list[Hypothesis]]:
        """Return up to n_best hypotheses for each source; sources hold their end symbol.

        Raises:
            UsageError: CTranslate2 cannot do what the settings ask for.
            MachineError: not enough memory.
        """
        reason = why_not_search(config, has_prefixes=prefixes is not None and any(prefixes))
        if reason is not None:
            raise UsageError(f"engine ctranslate2: {reason}; use the engine torch")
        if not sources:
            return []
        limits = [min(len(source) + config.max_extra, self._n_positions) for source in sources]
        n_wanted = config.beam_size if config.length_penalty == "wu-rescored" else config.n_best
        answers = self._decode(sources, config, limit=max(limits), n_hypotheses=n_wanted)
        # The limit is one number a call. Up to its own limit a sentence is searched for as by itself; the few that
        # went over it, have no end, or hold padding are searched for again, and all of their beam looked at.
        again: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for place, (limit, found) in enumerate(zip(limits, answers, strict=True)):
            has_padding = any(PAD in hypothesis.ids for hypothesis in found)
            if has_padding or any(h.is_cut or len(h.ids) >= limit for h in found):
                again[limit, has_padding].append(place)
        for (limit, has_padding), places in again.items():
            redone = self._decode(
                [sources[place] for place in places],
                config,
                limit=limit,
                n_hypotheses=config.beam_size,
                # Not from the first on: the probability of what is forbidden goes to the other pieces.
                suppressed=[[self._target[PAD]]] if has_padding else None,
            )
            for place, found in zip(places, redone, strict=True):
                answers[place] = found
        return [_best(found, config) for found in answers]

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[float]:
        """Return the log-probability of each target given its source, in nats; both hold their end symbol."""
        results = self._translator.score_batch(
            [self._pieces(source) for source in sources],
            [[self._target[piece] for piece in target[:-1]] for target in targets],
            max_input_length=0,
        )
        return [float(sum(result.log_probs)) for result in results]

    def _decode(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig,
        *,
        limit: int,
        n_hypotheses: int,
        suppressed: list[list[str]] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses for each source, none longer than the limit, by CTranslate2's own score."""
        beam_size = min(config.beam_size, len(self._target) - 1)
        try:
            results = self._translator.translate_batch(
                [self._pieces(source) for source in sources],
                beam_size=beam_size,
                patience=EXACT_PATIENCE if self._translator.compute_type == "float32" else PATIENCE,
                num_hypotheses=min(n_hypotheses, beam_size),
                length_penalty=0.0 if config.length_penalty == "none" else config.alpha,
                max_input_length=0,
                max_decoding_length=limit,
                min_decoding_length=0,
                max_batch_size=self._batch_tokens(sources, config),
                batch_type="tokens",
                suppress_sequences=suppressed,
                return_scores=True,
                return_end_token=True,
            )
        except MemoryError:
            longest = max(len(source) for source in sources)
            raise MachineError(
                f"not enough memory for sequences of {longest:,} tokens; give a smaller --batch-tokens or --beam-size"
            ) from None
        return [
            [
                self._hypothesis(pieces, score, config)
                for pieces, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result in results
        ]

    def _batch_tokens(self, sources: Sequence[Sequence[int]], config: SearchConfig) -> int:
        """Return the tokens of a batch: as set, or fewer so that every thread has one."""
        longest = max(len(source) for source in sources)
        share = -(-longest * len(sources) // int(self._translator.num_translators))
        return max(min(config.batch_tokens // config.beam_size, share), longest)

    def _pieces(self, ids: Iterable[int]) -> list[str]:
        return [self._source[number] for number in ids]

    def _hypothesis(self, pieces: Sequence[str], score: float, config: SearchConfig) -> Hypothesis:
        ids = [self._ids[piece] for piece in pieces]
        is_cut = not ids or ids[-1] != END
        alpha = 0.0 if config.length_penalty == "none" else config.alpha
        log_prob = score * length_penalty(len(ids), kind="length", alpha=alpha)
        return Hypothesis(ids if is_cut else ids[:-1], log_prob, score=log_prob if is_cut else score, is_cut=is_cut)


def _best(found: list[Hypothesis], config: SearchConfig) -> list[Hypothesis]:
    """Return the n best by the score that was asked for; those without an end only where none has one."""
    ended = [hypothesis for hypothesis in found if not hypothesis.is_cut]
    if config.length_penalty in {"wu", "wu-rescored"}:
        ended = [
            replace(h, score=h.log_prob / length_penalty(len(h.ids) + 1, kind="wu", alpha=config.alpha)) for h in ended
        ]
    chosen = sorted(ended or found, key=lambda hypothesis: -hypothesis.score)
    return chosen[: config.n_best] or [Hypothesis([], -math.inf, -math.inf, is_cut=True)]
