"""The translator: text to text, whatever the engine."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from nmt_cli import Translator
from nmt_cli.config import SearchConfig, TextConfig
from nmt_cli.decoding.hypothesis import Hypothesis
from nmt_cli.errors import ModelError
from nmt_cli.files import read_json, sha256_of_file, sha256_of_json, write_json
from nmt_cli.subwords.segmenter import Segmenter


class Copying:
    """An engine that gives the source back."""

    max_source_length = None

    def search(self, sources: Sequence[Sequence[int]], _: SearchConfig, **_more: object) -> list[list[Hypothesis]]:
        return [[Hypothesis(list(source[:-1]), -1.0, -0.5)] for source in sources]


def copying(folder: Path, **steps: bool) -> Translator:
    segmenter = Segmenter.load(folder / "subwords.model")
    languages = ("en", "de")
    return Translator(
        Copying(), source=segmenter, target=segmenter, languages=languages, text=TextConfig.model_validate(steps)
    )


AWKWARD = [
    "L'été n'est qu'un mot.",
    "“Go!” he said. “Now.”",
    "a 7'6\" x 9'6\" rug",
    "won't can't it's",
    "&lt;b&gt; AT&amp;T",
    "{0} %s <br/> https://x.de/a?b=1&c=2",
    "3.5% | 1,000 [x]",
    "EU:ssa",
    "中文和English混排。",
]
CONTROLS = ["<pad> </s> <s> <unk> <mask> ▁ @@ x@@ ||| ##AT##-##AT##", "</w>", "<0x0A> <0x00>", "a ▁b", "<pad>"]


@pytest.mark.parametrize("line", AWKWARD + CONTROLS)
def test_what_is_copied_comes_back_as_it_was_typed(model_folder: Path, line: str) -> None:
    [translation] = copying(model_folder).translate([line])
    assert translation.text == line


@pytest.mark.parametrize("line", CONTROLS)
def test_typed_text_never_becomes_a_control_symbol(model_folder: Path, line: str) -> None:
    [ids] = copying(model_folder).encode([line])
    assert min(ids) > 2


@pytest.mark.parametrize(
    "line", ["won't can't it's", "&lt;b&gt; AT&amp;T", "“Go!” he said. “Now.”", "3.5% | 1,000 [x]"]
)
def test_moses_tokens_are_undone_without_escapes(model_folder: Path, line: str) -> None:
    [translation] = copying(model_folder, moses=True).translate([line])
    assert translation.text.replace(" ", "") == line.replace(" ", "")
    assert "apos" not in translation.text


def test_an_output_never_holds_line_ends_or_tabs(model_folder: Path) -> None:
    translator = copying(model_folder)
    names = translator._source.pieces(range(300))
    odd = [names.index(f"<0x{byte:02X}>") for byte in (9, 10, 13, 0xE4)]
    hypothesis = Hypothesis([*odd, 5], -1.0, -1.0)
    assert translator._candidate((hypothesis,), [[4, 5]]).text.startswith("   \ufffd")


def test_loading_takes_the_models_own_search_and_translates(model_folder: Path) -> None:
    translator = Translator.load(str(model_folder))
    assert translator.search == SearchConfig(beam_size=2, max_extra=3)
    first, blank, last = translator.translate(["the dog sees a cat", " ", "old bread"])
    assert str(first) == first.text
    assert first.score <= 0
    assert first.log_prob <= 0
    assert (blank.text, blank.source_length, blank.n_parts) == ("", 0, 0)
    assert last.source_length == len(translator.encode(["old bread"])[0]) + 1
    assert translator.translate([]) == []
    assert translator.translate(["old bread"])[0].text == last.text


def test_candidates_are_sorted_distinct_and_begin_with_the_best(model_folder: Path) -> None:
    translator = Translator.load(model_folder)
    lines = ["the dog sees a cat", "", "old bread", "with the teacher between the river and the bridge"]
    wide = translator.search.model_copy(update={"beam_size": 8, "n_best": 8})
    several = translator.translate(lines, search=wide)
    best = translator.translate(lines, search=wide.model_copy(update={"n_best": 1}))
    assert [translation.candidates[:1] for translation in several] == [translation.candidates for translation in best]
    for translation in several:
        scores = [candidate.score for candidate in translation.candidates]
        assert scores == sorted(scores, reverse=True)
        texts = [candidate.text for candidate in translation.candidates]
        assert len(set(texts)) == len(texts)
    assert max(len(translation.candidates) for translation in several) > 4


def test_subwords_that_are_not_the_models_are_refused_even_if_the_digests_fit(
    model_folder: Path, tmp_path: Path
) -> None:
    from nmt_cli.subwords.learning import learn_subwords

    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    learn_subwords(["another text altogether"] * 9, folder / "subwords.model", vocab_size=270)
    (folder / "subwords.vocab").unlink()
    values = read_json(folder / "model.json")
    values["files"] = {name: sha256_of_file(folder / name) for name in ("weights.safetensors", "subwords.model")}
    del values["digest"]
    write_json(folder / "model.json", values | {"digest": sha256_of_json(values)})
    with pytest.raises(ModelError, match=r"subwords\.model: 2\d\d pieces, but the model has"):
        Translator.load(folder)


def test_another_vocabulary_is_refused_by_its_digest(model_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    data = (folder / "subwords.model").read_bytes()
    (folder / "subwords.model").write_bytes(data.replace(b"dog", b"cow", 1))
    with pytest.raises(ModelError, match=r"subwords\.model: damaged or edited: sha256"):
        Translator.load(folder)
