"""The torch engine: sequences of ids in, hypotheses out, batched by length."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from nmt_cli.config import SearchConfig
from nmt_cli.cores import cores_to_use
from nmt_cli.decoding.alignment import alignments
from nmt_cli.decoding.by_length import batches_by_length
from nmt_cli.decoding.forced import forced_log_probs
from nmt_cli.decoding.hypothesis import Hypothesis
from nmt_cli.decoding.incremental import CachedTransformer, Ensemble
from nmt_cli.decoding.number_formats import number_format
from nmt_cli.decoding.paths import greedy_search, sample
from nmt_cli.decoding.search import beam_search
from nmt_cli.errors import MachineError, UsageError
from nmt_cli.model.load import load_transformer
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_folder import ModelFolder
from nmt_cli.subwords.segmenter import END, PAD

NUMBERS_AT_ONCE = 1 << 24
"""Probabilities, rows times vocabulary, made together at most: 64 MB of float32."""
NO_MEMORY = ("can't allocate memory", "CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED")
"""What torch says of it on a CPU, and what the libraries of a GPU say that take theirs past torch."""


class TorchEngine:
    """One Transformer, or several of the same vocabularies as an ensemble."""

    def __init__(self, models: Sequence[Transformer]) -> None:
        """Take models on one device, in evaluation mode."""
        self._models = models

    @classmethod
    def load(cls, *folders: ModelFolder, device: str = "cpu", compute_type: str = "auto") -> TorchEngine:
        """Read the models of folders, an ensemble where there are several; `device` is auto, cpu or cuda.

        `compute_type` is float32 (also for auto), bfloat16, float16 on a GPU, or int8 on a CPU.

        Raises:
            ModelError: the weights do not fit the description.
            UsageError: there is no such device, or it does not compute in the type.
        """
        where = chosen_device(device)
        change = number_format(compute_type, where)
        return cls([change(load_transformer(folder, device=where)) for folder in folders])

    @property
    def max_source_length(self) -> int | None:
        """Most pieces of a source, end symbol included; None: as many as memory holds."""
        return _smallest([model.source_positions.limit for model in self._models])

    @property
    def max_target_length(self) -> int | None:
        """Most pieces of an output, end symbol included; None: no limit of the model."""
        return _smallest([model.target_positions.limit for model in self._models])

    def search(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig,
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        keys: Sequence[str] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return up to n_best hypotheses for each source; sources hold their end symbol.

        They do not depend on the other sources, nor on their order. A source longer than
        `max_source_length` is cut to it: a caller that minds looks first. `prefixes` are the pieces that the
        outputs begin with; with `config.sample` the `keys` (else the places) say what is drawn for each.

        Raises:
            MachineError: not enough memory.
        """
        limit = self.max_source_length
        cut = [source if limit is None or len(source) <= limit else [*source[: limit - 1], END] for source in sources]
        answers: list[list[Hypothesis]] = [[] for _ in sources]
        for places in self.search_batches([len(source) for source in cut], config):
            with _memory(len(cut[places[0]])):
                found = self._search_batch(
                    [cut[place] for place in places],
                    config,
                    prefixes=None if prefixes is None else [prefixes[place] for place in places],
                    keys=[str(place) if keys is None else keys[place] for place in places],
                )
                if config.alignments:
                    found = self._aligned([cut[place] for place in places], found)
            for place, hypotheses in zip(places, found, strict=True):
                answers[place] = hypotheses
        return answers

    def _aligned(self, sources: list[Sequence[int]], found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """Return the hypotheses with their alignments, worked out from the whole of each."""
        flat = [(source, hypothesis) for source, some in zip(sources, found, strict=True) for hypothesis in some]
        pairs = alignments(
            self._models,
            self._padded([source for source, _ in flat]),
            # One that was cut has no end, and perhaps no position for it.
            self._padded([h.ids if h.is_cut else [*h.ids, END] for _, h in flat]),
        )
        aligned = (replace(hypothesis, alignment=pair) for (_, hypothesis), pair in zip(flat, pairs, strict=True))
        return [[next(aligned) for _ in some] for some in found]

    def search_batches(self, lengths: Sequence[int], config: SearchConfig) -> Iterator[list[int]]:
        """Yield the places of sources of these lengths that are searched for together; one such batch stays one."""
        most = self.max_source_length
        n_paths = config.n_best if config.sample else config.beam_size
        return batches_by_length(
            [length if most is None else min(length, most) for length in lengths],
            batch_tokens=config.batch_tokens // n_paths,
            max_sentences=NUMBERS_AT_ONCE // self._vocab_size // n_paths,
        )

    def _search_batch(
        self,
        sources: list[Sequence[int]],
        config: SearchConfig,
        *,
        prefixes: list[Sequence[int]] | None,
        keys: list[str],
    ) -> list[list[Hypothesis]]:
        most = self.max_target_length or sys.maxsize
        source = self._padded(sources)
        lengths = [len(ids) + config.max_extra for ids in sources]
        begun = None if prefixes is None or not any(prefixes) else self._padded(prefixes)
        if prefixes is not None:
            lengths = [max(length, len(prefix) + 1) for length, prefix in zip(lengths, prefixes, strict=True)]
        limits = torch.tensor([min(length, most) for length in lengths], device=source.device)
        with torch.no_grad():
            members = [CachedTransformer(model, source) for model in self._models]
        step_model = members[0] if len(members) == 1 else Ensemble(members)
        if config.sample:
            return sample(step_model, limits, config, keys=keys, prefixes=begun)
        if config.beam_size == 1:
            return greedy_search(step_model, limits, config, prefixes=begun)
        return beam_search(step_model, limits, config, prefixes=begun)

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, batch_tokens: int = 4096
    ) -> list[float]:
        """Return the log-probability of each target given its source, in nats; both hold their end symbol.

        Raises:
            MachineError: not enough memory.
        """
        scores = [0.0] * len(sources)
        lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
        most_tokens = min(batch_tokens, NUMBERS_AT_ONCE // self._vocab_size)
        for places in batches_by_length(lengths, batch_tokens=most_tokens, max_sentences=len(sources)):
            with _memory(lengths[places[0]]):
                source = self._padded([sources[place] for place in places])
                target = self._padded([targets[place] for place in places])
                found = forced_log_probs(self._models, source, target).tolist()
            for place, score in zip(places, found, strict=True):
                scores[place] = score
        return scores

    @property
    def _vocab_size(self) -> int:
        return self._models[0].output.weight.size(0)

    def _padded(self, sequences: Sequence[Sequence[int]]) -> Int[Tensor, "B T"]:
        rows = [torch.tensor(list(sequence), dtype=torch.long) for sequence in sequences]
        padded = pad_sequence(rows, batch_first=True, padding_value=PAD)
        return padded.to(self._models[0].output.weight.device)


def chosen_device(name: str) -> torch.device:
    """Return the device called auto, cpu or cuda.

    Raises:
        UsageError: unknown, or not there.
    """
    if name not in {"auto", "cpu", "cuda"}:
        raise UsageError(f"device {name!r} is unknown; there are auto, cpu and cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("device cuda: torch finds no GPU here; use --device cpu, or auto")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def use_allowed_cores() -> None:
    """Let torch use the cores that this process may run on, unless OMP_NUM_THREADS says how many."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(cores_to_use())


def _smallest(limits: Sequence[int | None]) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell a lack of memory from other errors; only one of torch's allocators has an exception of its own."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(words in str(error) for words in NO_MEMORY)


@contextlib.contextmanager
def enough_memory(what: str, remedy: str) -> Iterator[None]:
    """Turn a lack of memory, whoever reports it, into one line.

    Raises:
        MachineError: naming what it was for, and what would help.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise MachineError(f"not enough memory for {what}; {remedy}") from None
        raise


def _memory(length: int) -> contextlib.AbstractContextManager[None]:
    return enough_memory(f"sequences of {length:,} tokens", "give a smaller --batch-tokens or --beam-size")
