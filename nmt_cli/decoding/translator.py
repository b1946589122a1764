"""The translator: text in, text out, by whatever engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from nmt_cli.builtin import builtin_model
from nmt_cli.config import SearchConfig, TextConfig
from nmt_cli.corpora.text_steps import apply, undo
from nmt_cli.decoding.engine_choice import EngineChoice, choose_engine, open_engine
from nmt_cli.decoding.hypothesis import Hypothesis
from nmt_cli.decoding.long_input import MAX_SOURCE_LENGTH, join_parts, split_text
from nmt_cli.decoding.loops import is_loop
from nmt_cli.decoding.translation import BLANK, AlignmentOfLine, Candidate, GivenScore, TooLongError, Translation
from nmt_cli.errors import ModelError
from nmt_cli.files import as_line
from nmt_cli.model_folder import ModelFolder, open_model_folder, subword_digests
from nmt_cli.subwords.segmenter import END, Segmenter


@runtime_checkable
class Engine(Protocol):
    """What the translator needs of an engine."""

    @property
    def max_source_length(self) -> int | None:
        """Most pieces of a source, end symbol included."""

    def search(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig,
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        keys: Sequence[str] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return up to n_best hypotheses for each source, best first.

        Outputs begin with their `prefixes`; what is drawn for a source depends on its key.
        """


@runtime_checkable
class ScoringEngine(Engine, Protocol):
    """An engine that says how probable given outputs are."""

    @property
    def max_target_length(self) -> int | None:
        """Most pieces of an output, end symbol included."""

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[float]:
        """Return the log-probability of each target given its source, in nats; both hold their end symbol."""


class Translator:
    """A model with its subwords, its steps of text and its search defaults."""

    def __init__(
        self,
        engine: Engine,
        *,
        source: Segmenter,
        target: Segmenter,
        languages: tuple[str, str],
        text: TextConfig,
        choice: EngineChoice | None = None,
    ) -> None:
        """Put the parts together; `load` does it from a model folder."""
        self._engine = engine
        self.engine = choice
        """Which engine it is, and why; None for one that was given."""
        self._source, self._target = source, target
        self._source_language, self._target_language = languages
        self._text = text
        self.search = SearchConfig()
        """What `translate` follows when it is given nothing else."""

    @classmethod
    def load(
        cls,
        path: str | Path | None = None,
        *others: str | Path,
        device: str = "cpu",
        engine: str = "auto",
        compute_type: str = "auto",
        threads: int | None = None,
    ) -> Translator:
        """Read a model folder, or several as an ensemble; without a path, the built-in model: English to German.

        `device` is auto, cpu or cuda. `engine` is torch or ctranslate2; auto takes the one that follows the search
        defaults of the model exactly and is faster. `compute_type` is float32, bfloat16, float16 or int8, by default
        what the weights are stored in. `threads` are those of CTranslate2, one a core by default.

        Raises:
            ModelError: no model, or a damaged one, or one that cannot go with the first.
            UsageError: the engine cannot do what is asked for.
        """
        folders = [open_model_folder(Path(each)) for each in (builtin_model() if path is None else path, *others)]
        search = folders[0].description.search
        choice = choose_engine(folders, search, engine=engine, device=device, compute_type=compute_type)
        return cls.of_folder(*folders, choice=choice, threads=threads)

    @classmethod
    def of_folder(
        cls, folder: ModelFolder, *others: ModelFolder, choice: EngineChoice | None = None, threads: int | None = None
    ) -> Translator:
        """Load the model of a verified folder, or several as an ensemble with the search defaults of the first.

        Without a choice the engine is one for these defaults, on the CPU.

        Raises:
            ModelError: weights, subwords and description do not fit each other, or those of the first model.
            UsageError: the device is not there, or does not compute in the type.
        """
        description = folder.description
        source, target = Segmenter.load(folder.source_subwords), Segmenter.load(folder.target_subwords)
        for path, segmenter, size in [
            (folder.source_subwords, source, description.source_vocab_size),
            (folder.target_subwords, target, description.target_vocab_size),
        ]:
            if segmenter.vocab_size != size:
                raise ModelError(f"{path}: {segmenter.vocab_size:,} pieces, but the model has {size:,}; not its own")
        for other in others:
            _refuse_unlike(folder, other)
        choice = choice or choose_engine([folder, *others], description.search, device="cpu")
        engine, choice = open_engine([folder, *others], choice, source=source, target=target, threads=threads)
        translator = cls(
            engine,
            choice=choice,
            source=source,
            target=target,
            languages=(description.source_language, description.target_language),
            text=description.text,
        )
        translator.search = description.search
        return translator

    @property
    def max_source_length(self) -> int:
        """Pieces of a source, end symbol included; a longer one is translated in parts."""
        return min(MAX_SOURCE_LENGTH, self._engine.max_source_length or MAX_SOURCE_LENGTH)

    def translate(
        self,
        lines: Sequence[str],
        *,
        search: SearchConfig | None = None,
        prefixes: Sequence[str] | None = None,
        first_line: int = 1,
    ) -> list[Translation]:
        """Return the translation of each line, in order; a blank line becomes an empty text.

        Lines are text without line ends. Without `search` the model's own defaults hold. A translation begins
        with its prefix. `first_line` is the number of the first line where these are some of many: what is drawn
        for a line (`search.sample`) depends on it.
        """
        search = search or self.search
        encoded = self.encode(lines)
        parts = [
            [] if not ids else [ids] if self._fits(ids) else self._parts(line)
            for line, ids in zip(lines, encoded, strict=True)
        ]
        places = [(line, part) for line, of_line in enumerate(parts) for part in range(len(of_line))]
        begun = None if prefixes is None else self.encode_targets(prefixes)
        found = iter(
            self._engine.search(
                [[*parts[line][part], END] for line, part in places],
                search,
                # What is translated in parts begins once.
                prefixes=None if begun is None else [begun[line] if part == 0 else [] for line, part in places],
                keys=[f"{first_line + line}/{part}" for line, part in places],
            )
        )
        return [
            self._join([next(found) for _ in line], line, source_length=len(ids) + 1) if line else BLANK
            for ids, line in zip(encoded, parts, strict=True)
        ]

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[GivenScore]:
        """Return how probable each target is as the translation of its source.

        A blank source has the empty translation for certain, and no other.

        Raises:
            TooLongError: a side has more pieces than the model takes; it says which and where.
        """
        engine = self._engine
        if not isinstance(engine, ScoringEngine):
            raise TypeError(f"{type(engine).__name__} does not score")
        encoded, wanted = self.encode(sources), self.encode_targets(targets)
        longest_target = min(MAX_SOURCE_LENGTH, engine.max_target_length or MAX_SOURCE_LENGTH)
        for side, limit, lines in (("source", self.max_source_length, encoded), ("target", longest_target, wanted)):
            for place, ids in enumerate(lines):
                if len(ids) >= limit:
                    raise TooLongError(side, place, f"{len(ids) + 1:,} tokens, over the limit of {limit:,}")
        filled = [place for place, ids in enumerate(encoded) if ids]
        found = engine.score([[*encoded[place], END] for place in filled], [[*wanted[place], END] for place in filled])
        log_probs = [float("-inf") if ids else 0.0 for ids in wanted]
        for place, log_prob in zip(filled, found, strict=True):
            log_probs[place] = log_prob
        return [GivenScore(log_prob, len(ids) + 1) for log_prob, ids in zip(log_probs, wanted, strict=True)]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the source ids of each line without end symbols; none for a blank one."""
        return _encode(lines, self._source, self._text, self._source_language)

    def encode_targets(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the target ids of each line without end symbols; none for a blank one."""
        return _encode(lines, self._target, self._text, self._target_language)

    def _fits(self, ids: Sequence[int]) -> bool:
        return len(ids) < self.max_source_length

    def _parts(self, line: str) -> list[list[int]]:
        """Return the ids of the parts of a line that is too long as it is."""
        parts = split_text(line, lambda texts: [self._fits(ids) for ids in self.encode(texts)])
        return [ids for ids in self.encode(parts) if ids]

    def _join(
        self, parts: list[list[Hypothesis]], sources: Sequence[Sequence[int]], *, source_length: int
    ) -> Translation:
        """Put the n-th best of all parts together, as far as each has one.

        Pieces that differ may spell one text; the better one stands for it.
        """
        candidates: dict[str, Candidate] = {}
        for hypotheses in zip(*parts, strict=False):
            candidate = self._candidate(hypotheses, sources)
            candidates.setdefault(candidate.text, candidate)
        source_pieces = None
        if any(candidate.alignment is not None for candidate in candidates.values()):
            source_pieces = tuple(self._source.pieces([piece for part in sources for piece in part]))
        return Translation(
            tuple(candidates.values()), source_length=source_length, n_parts=len(parts), source_pieces=source_pieces
        )

    def _candidate(self, hypotheses: tuple[Hypothesis, ...], sources: Sequence[Sequence[int]]) -> Candidate:
        texts = [self._to_text(hypothesis.ids) for hypothesis in hypotheses]
        return Candidate(
            as_line(join_parts(texts, self._target_language)),
            score=sum(hypothesis.score for hypothesis in hypotheses),
            log_prob=sum(hypothesis.log_prob for hypothesis in hypotheses),
            is_cut=any(hypothesis.is_cut for hypothesis in hypotheses),
            is_loop=any(is_loop(found.ids, source) for found, source in zip(hypotheses, sources, strict=True)),
            **self._alignment(hypotheses, sources),
        )

    def _alignment(self, hypotheses: tuple[Hypothesis, ...], sources: Sequence[Sequence[int]]) -> AlignmentOfLine:
        """Return the pieces and the alignment of a line from those of its parts, where there are any."""
        if any(hypothesis.alignment is None for hypothesis in hypotheses):
            return {}
        pairs: list[tuple[int, int]] = []
        ids: list[int] = []
        before = 0
        for hypothesis, source in zip(hypotheses, sources, strict=True):
            pairs += [(before + i, len(ids) + j) for i, j in hypothesis.alignment or ()]
            ids += hypothesis.ids
            before += len(source)
        return {"pieces": tuple(self._target.pieces(ids)), "alignment": tuple(pairs)}

    def _to_text(self, ids: list[int]) -> str:
        return undo(as_line(self._target.decode(ids)), self._text, self._target_language)


def _refuse_unlike(first: ModelFolder, other: ModelFolder) -> None:
    """See that two models read and write the same pieces.

    Raises:
        ModelError: they do not.
    """
    for name, wanted, found in [
        ("languages", _languages(first), _languages(other)),
        ("subwords", _subwords(first), _subwords(other)),
        ("steps of text", first.description.text, other.description.text),
    ]:
        if found != wanted:
            raise ModelError(
                f"{other.path}: other {name} than {first.path} ({found}, not {wanted}); "
                "the models of an ensemble share them"
            )


def _languages(folder: ModelFolder) -> str:
    return f"{folder.description.source_language}-{folder.description.target_language}"


def _subwords(folder: ModelFolder) -> str:
    return " and ".join(digest[:12] for digest in subword_digests(folder))


def _encode(lines: Sequence[str], segmenter: Segmenter, steps: TextConfig, language: str) -> list[list[int]]:
    texts = [apply(line, steps, language) for line in lines]
    filled = iter(segmenter.encode([text for text in texts if text.strip()]))
    return [next(filled) if text.strip() else [] for text in texts]
