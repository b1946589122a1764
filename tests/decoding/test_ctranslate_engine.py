"""The CTranslate2 engine finds what the torch engine finds, with the same scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.ctranslate_conversion import convert_to_ctranslate2
from nmt_cli.decoding.ctranslate_engine import CTranslateEngine
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.decoding.hypothesis import Hypothesis
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_folder import ModelFolder, open_model_folder, subword_files, write_model_folder
from nmt_cli.subwords.segmenter import END, Segmenter

WORDS = ["the red dog sees a", "cat", "under the old bridge", "with water", "a child opens the window slowly"]
LINES = [" ".join(WORDS[(first + step) % len(WORDS)] for step in range(1 + first % 4)) for first in range(30)]


@pytest.fixture(scope="module")
def folder(
    model_folder: Path, tmp_path_factory: pytest.TempPathFactory, random_transformer: Callable[..., Transformer]
) -> ModelFolder:
    """A model whose outputs end, some of them at their limit."""
    opened = open_model_folder(model_folder)
    target = tmp_path_factory.mktemp("converted") / "model"
    target.mkdir()
    model = random_transformer(vocab_size=opened.description.source_vocab_size, seed=5)
    write_model_folder(
        target,
        weights={name: parameter.detach().numpy() for name, parameter in model.named_parameters()},
        description=opened.description.model_copy(update={"model": model.config}),
        subwords=subword_files(opened),
    )
    return open_model_folder(target)


@pytest.fixture(scope="module")
def engines(folder: ModelFolder, tmp_path_factory: pytest.TempPathFactory) -> tuple[TorchEngine, CTranslateEngine]:
    """The same model in both engines."""
    converted = tmp_path_factory.mktemp("converted") / "float32"
    converted.mkdir()
    convert_to_ctranslate2(folder, converted)
    segmenter = Segmenter.load(folder.source_subwords)
    pieces = segmenter.pieces(range(segmenter.vocab_size))
    fast = CTranslateEngine.load(
        converted, source=pieces, target=pieces, config=folder.description.model, threads=2, compute_type="float32"
    )
    return TorchEngine.load(folder), fast


@pytest.fixture(scope="module")
def sources(folder: ModelFolder) -> list[list[int]]:
    """Sources of unequal lengths with their end symbols."""
    return [[*ids, END] for ids in Segmenter.load(folder.source_subwords).encode(LINES)]


def search_config(**changes: object) -> SearchConfig:
    """Return settings that CTranslate2 can follow."""
    return SearchConfig.model_validate({"length_penalty": "length", "alpha": 1.0, "max_extra": 6} | changes)


# Of a wider beam, which outputs count as ended differs: CTranslate2 looks at the best `beam_size` candidates, ours at
# twice as many. It matters to a model that has learned nothing; test_ctranslate_trained.py has one that has.
@pytest.mark.parametrize(
    "changes", [{}, {"length_penalty": "wu"}, {"length_penalty": "none"}, {"max_extra": 0}], ids=str
)
def test_greedy_outputs_and_scores_are_those_of_the_torch_engine(
    engines: tuple[TorchEngine, CTranslateEngine], sources: list[list[int]], changes: dict[str, object]
) -> None:
    config = search_config(beam_size=1, **changes)
    expected, found = (engine.search(sources, config) for engine in engines)
    assert [[h.ids for h in some] for some in found] == [[h.ids for h in some] for some in expected]
    assert [h.is_cut for some in found for h in some] == [h.is_cut for some in expected for h in some]
    for name in ("log_prob", "score"):
        assert [getattr(h, name) for some in found for h in some] == pytest.approx(
            [getattr(h, name) for some in expected for h in some], abs=1e-4
        )


def test_some_of_these_outputs_are_cut_and_some_end(
    engines: tuple[TorchEngine, CTranslateEngine], sources: list[list[int]]
) -> None:
    found = engines[1].search(sources, search_config(max_extra=0))
    assert {some[0].is_cut for some in found} == {True, False}


def test_a_source_has_its_own_limit_whatever_the_others_are(
    engines: tuple[TorchEngine, CTranslateEngine], sources: list[list[int]]
) -> None:
    config = search_config(max_extra=1)
    together = engines[1].search(sources, config)
    alone = [engines[1].search([source], config)[0] for source in sources]
    assert [some[0].ids for some in together] == [some[0].ids for some in alone]
    lengths = [len(some[0].ids) + (not some[0].is_cut) for some in together]
    assert all(length <= len(source) + 1 for length, source in zip(lengths, sources, strict=True))


def test_n_best_are_sorted_and_distinct_and_begin_with_the_best(
    engines: tuple[TorchEngine, CTranslateEngine], sources: list[list[int]]
) -> None:
    best = engines[1].search(sources, search_config())
    several = engines[1].search(sources, search_config(n_best=4))
    assert [some[0].ids for some in several] == [some[0].ids for some in best]
    for some in several:
        assert [h.score for h in some] == sorted((h.score for h in some), reverse=True)
        assert len({tuple(h.ids) for h in some}) == len(some)


def test_rescored_outputs_are_those_of_the_beam_in_the_order_of_wu(
    engines: tuple[TorchEngine, CTranslateEngine], sources: list[list[int]]
) -> None:
    def wu(hypothesis: Hypothesis) -> float:
        penalty = 1.0 if hypothesis.is_cut else (5 + len(hypothesis.ids) + 1) / 6
        return hypothesis.log_prob / penalty

    beams = engines[1].search(sources, search_config(n_best=4))
    expected = [sorted(some, key=wu, reverse=True) for some in beams]
    found = engines[1].search(sources, search_config(n_best=4, length_penalty="wu-rescored"))
    assert [[h.ids for h in some] for some in found] == [[h.ids for h in some] for some in expected]
    assert [some[0].score for some in found] == pytest.approx([wu(some[0]) for some in expected], rel=1e-6)


def test_forced_scores_are_those_of_the_search(
    engines: tuple[TorchEngine, CTranslateEngine], sources: list[list[int]]
) -> None:
    found = [(s, h[0]) for s, h in zip(sources, engines[1].search(sources, search_config()), strict=True)]
    ended = [(source, h) for source, h in found if not h.is_cut]
    scores = engines[1].score([source for source, _ in ended], [[*h.ids, END] for _, h in ended])
    assert scores == pytest.approx([h.log_prob for _, h in ended], abs=1e-4)


@pytest.mark.parametrize("beam_size", [50, 500])
def test_a_beam_wider_than_the_vocabulary_needs_is_no_error(
    engines: tuple[TorchEngine, CTranslateEngine], sources: list[list[int]], beam_size: int
) -> None:
    assert all(some[0].ids for some in engines[1].search(sources[:2], search_config(beam_size=beam_size)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"length_penalty": "wu"}, "length penalty is wu"),
        ({"sample": True}, "drawn"),
        ({"alignments": True}, "alignments"),
        ({"min_length": 2}, "least length"),
        ({"stop_rule": "t2t-2017"}, "stop rule is t2t-2017"),
    ],
)
def test_what_it_cannot_do_exactly_is_refused_by_name(
    engines: tuple[TorchEngine, CTranslateEngine], sources: list[list[int]], changes: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        engines[1].search(sources, search_config(**changes))


def test_a_prefix_is_refused(engines: tuple[TorchEngine, CTranslateEngine], sources: list[list[int]]) -> None:
    with pytest.raises(UsageError, match="prefix"):
        engines[1].search(sources[:1], search_config(), prefixes=[[7]])


def test_nothing_in_gives_nothing(engines: tuple[TorchEngine, CTranslateEngine]) -> None:
    assert engines[1].search([], search_config()) == []


def test_a_folder_that_ctranslate2_cannot_read_is_refused(folder: ModelFolder, tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="cannot load"):
        CTranslateEngine.load(tmp_path, source=[], target=[], config=folder.description.model)


def test_a_type_that_the_device_has_not_is_refused(folder: ModelFolder, tmp_path: Path) -> None:
    convert_to_ctranslate2(folder, tmp_path)
    with pytest.raises(UsageError, match="float16"):
        CTranslateEngine.load(tmp_path, source=[], target=[], config=folder.description.model, compute_type="float16")
