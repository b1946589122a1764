"""The torch engine: cached against uncached, batched against single, search scores against forced ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from nmt_cli.config import SearchConfig
from nmt_cli.decoding import engine
from nmt_cli.decoding.by_length import batches_by_length
from nmt_cli.decoding.engine import TorchEngine, chosen_device, is_out_of_memory
from nmt_cli.decoding.hypothesis import Hypothesis
from nmt_cli.decoding.incremental import CachedTransformer, Ensemble
from nmt_cli.decoding.search import beam_search
from nmt_cli.errors import MachineError, UsageError
from nmt_cli.model.transformer import Transformer
from nmt_cli.subwords.segmenter import END, PAD

Maker = Callable[..., Transformer]
V = 60
DRAW = random.Random(11)  # noqa: S311 - test data
SOURCES = [[DRAW.randrange(3, V) for _ in range(DRAW.randint(1, 59))] + [END] for _ in range(39)]
SOURCES.append([DRAW.randrange(3, V) for _ in range(59)] + [END])
READINGS: list[dict[str, object]] = [
    {},
    {"norm": "pre", "positions": "learned", "max_positions": 64, "d_k": 5, "d_v": 7},
    {"reading": "t2t-2017", "tying": "three-way"},
]


class UncachedTransformer:
    """A step model that decodes all prefixes anew at each step."""

    def __init__(self, model: Transformer, source: Tensor) -> None:
        """Keep sources and prefixes; no state of the network."""
        self.model, self.source = model, source
        self.prefixes = torch.zeros(len(source), 1, 0, dtype=torch.long)

    def next_log_probs(self, newest: Tensor) -> Tensor:
        self.prefixes = torch.cat([self.prefixes, newest[..., None]], dim=-1)
        _, width, length = self.prefixes.shape
        source = self.source.repeat_interleave(width, dim=0)
        states = self.model(source, self.prefixes.view(-1, length))[:, -1]
        return self.model.logits(states).log_softmax(dim=-1).view(len(self.source), width, -1)

    def keep(self, sentences: Tensor, parents: Tensor) -> None:
        self.source = self.source[sentences]
        self.prefixes = self.prefixes[sentences[:, None], parents]


def padded(sources: Sequence[Sequence[int]]) -> Tensor:
    longest = max(len(source) for source in sources)
    return torch.tensor([[*source, *[PAD] * (longest - len(source))] for source in sources])


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for some, others in zip(found, expected, strict=True):
        assert [hypothesis.ids for hypothesis in some] == [hypothesis.ids for hypothesis in others]
        assert [h.score for h in some] == pytest.approx([h.score for h in others], abs=1e-4)
        assert [h.log_prob for h in some] == pytest.approx([h.log_prob for h in others], abs=1e-4)


@pytest.mark.parametrize("reading", READINGS, ids=["paper", "pre-learned", "t2t"])
@pytest.mark.parametrize("beam_size", [1, 5])
def test_cached_decoding_equals_decoding_anew_at_each_step(
    random_transformer: Maker, reading: dict[str, object], beam_size: int
) -> None:
    model = random_transformer(vocab_size=V, **reading)
    sources = sorted(SOURCES, key=len)[:16]
    limits = torch.tensor([len(source) + 8 for source in sources])
    config = SearchConfig(beam_size=beam_size, n_best=beam_size, min_length=6)
    with torch.no_grad():
        cached = beam_search(CachedTransformer(model, padded(sources)), limits, config)
        anew = beam_search(UncachedTransformer(model, padded(sources)), limits, config)
    assert_same(cached, anew)
    assert len({tuple(found[0].ids) for found in cached}) > 3


@pytest.fixture(scope="module")
def small_engine(random_transformer: Maker) -> TorchEngine:
    return TorchEngine([random_transformer(vocab_size=V)])


@pytest.fixture(scope="module", params=[1, 5], ids=["beam 1", "beam 5"])
def alone(request: pytest.FixtureRequest, small_engine: TorchEngine) -> tuple[SearchConfig, list[list[Hypothesis]]]:
    config = SearchConfig(beam_size=request.param, n_best=request.param, max_extra=20)
    return config, [small_engine.search([source], config)[0] for source in SOURCES]


@pytest.mark.parametrize("size", [7, 40])
def test_results_do_not_depend_on_the_batch(
    small_engine: TorchEngine, alone: tuple[SearchConfig, list[list[Hypothesis]]], size: int
) -> None:
    config, expected = alone
    wide = config.model_copy(update={"batch_tokens": size * 60 * config.beam_size})
    assert_same(small_engine.search(SOURCES, wide), expected)
    assert_same(small_engine.search(SOURCES[::-1], wide), expected[::-1])
    assert len({tuple(found[0].ids) for found in expected}) > 20


def test_results_do_not_depend_on_a_long_neighbour(
    small_engine: TorchEngine, alone: tuple[SearchConfig, list[list[Hypothesis]]]
) -> None:
    config, expected = alone
    for source, found in zip(SOURCES[::4], expected[::4], strict=True):
        assert_same(small_engine.search([source, SOURCES[-1]], config), [found, expected[-1]])
        assert_same(small_engine.search([source, source], config), [found, found])


def test_more_padding_changes_nothing(small_engine: TorchEngine) -> None:
    [model] = small_engine._models
    source = padded(SOURCES[:5])
    wider = torch.cat([source, torch.full((5, 9), PAD)], dim=1)
    limits = torch.tensor([30] * 5)
    config = SearchConfig(beam_size=3)
    with torch.no_grad():
        found = beam_search(CachedTransformer(model, wider), limits, config)
        expected = beam_search(CachedTransformer(model, source), limits, config)
    assert_same(found, expected)


@pytest.mark.parametrize("n_models", [1, 2])
def test_the_forced_score_of_an_output_is_its_search_score(random_transformer: Maker, n_models: int) -> None:
    members = [random_transformer(vocab_size=V, seed=seed) for seed in (2, 5)[:n_models]]
    scorer = TorchEngine(members)
    found = scorer.search(SOURCES, SearchConfig(beam_size=4, n_best=4, max_extra=10))
    ended = [(place, h) for place, hypotheses in enumerate(found) for h in hypotheses if not h.is_cut]
    forced = scorer.score([SOURCES[place] for place, _ in ended], [[*h.ids, END] for _, h in ended], batch_tokens=300)
    assert len(ended) > 60
    assert forced == pytest.approx([h.log_prob for _, h in ended], abs=1e-4)


def test_an_ensemble_averages_probabilities(random_transformer: Maker) -> None:
    members = [random_transformer(vocab_size=V, seed=seed) for seed in (2, 5)]
    source = padded(SOURCES[:3])
    newest = torch.zeros(3, 1, dtype=torch.long)
    with torch.no_grad():
        together = Ensemble([CachedTransformer(model, source) for model in members]).next_log_probs(newest)
        each = [CachedTransformer(model, source).next_log_probs(newest) for model in members]
    assert torch.allclose(together.exp(), (each[0].exp() + each[1].exp()) / 2, atol=1e-6)


def test_an_output_is_at_most_the_source_and_max_extra_long(small_engine: TorchEngine) -> None:
    found = small_engine.search(SOURCES, SearchConfig(beam_size=2, max_extra=4))
    lengths = [len(h.ids) for [h] in found]
    assert all(n <= len(source) + 4 for n, source in zip(lengths, SOURCES, strict=True))
    cut = [(h, source) for [h], source in zip(found, SOURCES, strict=True) if h.is_cut]
    assert cut
    assert all(len(h.ids) == len(source) + 4 for h, source in cut)


def test_learned_positions_limit_source_and_output(random_transformer: Maker) -> None:
    short = TorchEngine([random_transformer(vocab_size=V, positions="learned", max_positions=30)])
    assert (short.max_source_length, short.max_target_length) == (30, 30)
    config = SearchConfig(beam_size=1, min_length=29)
    long, cut = short.search([SOURCES[-1], [*SOURCES[-1][:29], END]], config)
    assert len(long[0].ids) <= 30
    assert_same([long], [cut])


def test_no_source_gives_no_answer(small_engine: TorchEngine) -> None:
    assert small_engine.search([], SearchConfig()) == []
    assert small_engine.score([], []) == []


def test_batches_hold_every_place_once_within_the_budget() -> None:
    lengths = [len(source) for source in SOURCES]
    batches = list(batches_by_length(lengths, batch_tokens=100, max_sentences=6))
    assert sorted(place for batch in batches for place in batch) == list(range(40))
    assert all(len(batch) <= 6 for batch in batches)
    assert all(len(batch) == 1 or max(lengths[place] for place in batch) * len(batch) <= 100 for batch in batches)
    assert len(batches) < 30


def test_a_sequence_over_the_budget_makes_a_batch_of_its_own() -> None:
    assert list(batches_by_length([3, 500, 3], batch_tokens=10, max_sentences=9)) == [[1], [0, 2]]


def test_short_sources_do_not_make_batches_of_any_size(
    small_engine: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def watched(
        model: CachedTransformer, limits: Tensor, config: SearchConfig, **_more: object
    ) -> list[list[Hypothesis]]:
        sizes.append(len(limits))
        return beam_search(model, limits, config)

    monkeypatch.setattr(engine, "NUMBERS_AT_ONCE", V * 2 * 5)
    monkeypatch.setattr(engine, "beam_search", watched)
    small_engine.search([[4, END]] * 12, SearchConfig(beam_size=2, max_extra=2))
    assert sizes == [5, 5, 2]


def test_memory_that_does_not_suffice_is_one_line_with_the_way_out(
    small_engine: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **_more: object) -> list[list[Hypothesis]]:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(engine, "beam_search", full)
    with pytest.raises(MachineError, match=r"3 tokens.*--batch-tokens"):
        small_engine.search([[4, 5, END]], SearchConfig())


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert chosen_device("auto").type == "cpu"
    with pytest.raises(UsageError, match="no GPU"):
        chosen_device("cuda")
    with pytest.raises(UsageError, match="unknown"):
        chosen_device("tpu")


@pytest.mark.parametrize(
    ("error", "is_lack"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be"), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
    ],
)
def test_a_lack_of_memory_is_known_whoever_tells_of_it(error: Exception, is_lack: bool) -> None:
    assert is_out_of_memory(error) == is_lack
