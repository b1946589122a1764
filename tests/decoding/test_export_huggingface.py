"""A MarianMT folder of ours gives what our model gives; where `transformers` is there, it says so itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.decoding.export_huggingface import export_huggingface, refuse_other_answers, vocabulary, write_marian
from nmt_cli.decoding.exporting import MANIFEST, sources_to_check
from nmt_cli.decoding.marian import Marian
from nmt_cli.decoding.marian_weights import EPSILON, marian_weights
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.files import sha256_of_file
from nmt_cli.model.attention import Padded
from nmt_cli.model.embedding import interleaved_sinusoids
from nmt_cli.model.load import load_transformer
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_folder import ModelFolder, open_model_folder, subword_files, write_model_folder
from nmt_cli.subwords.segmenter import END, PAD, Segmenter

Maker = Callable[..., Transformer]
LINES = ["the red dog", "a cat sees the old river", "ł 漢 🙂", "water under the bridge in the morning", "x"]
GREEDY = SearchConfig(beam_size=1, max_extra=30)
VARIANTS = [{}, {"tying": "three-way"}, {"tying": "decoder", "attention_bias": True}, {"layer_norm_epsilon": 1e-8}]


@pytest.fixture
def folder_of(model_folder: Path, tmp_path: Path, random_transformer: Maker) -> Callable[..., ModelFolder]:
    """Give what writes a model of another architecture with the subwords of the usual one."""

    def write(**changes: object) -> ModelFolder:
        opened = open_model_folder(model_folder)
        model = random_transformer(vocab_size=opened.description.source_vocab_size, **changes)
        weights = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
        rng = np.random.default_rng(5)
        # Norms and biases begin as ones and zeros, which would hide a mistake.
        weights = {
            name: array + rng.normal(0, 0.1, array.shape).astype(np.float32) if array.ndim == 1 else array
            for name, array in weights.items()
        }
        target = tmp_path / "model"
        target.mkdir()
        write_model_folder(
            target,
            weights=weights,
            description=opened.description.model_copy(update={"model": model.config, "search": GREEDY}),
            subwords=subword_files(opened),
        )
        return open_model_folder(target)

    return write


def greedy_outputs(folder: ModelFolder) -> tuple[list[list[int]], list[list[int]]]:
    sources = sources_to_check(folder, LINES, longest=500)
    found = TorchEngine.load(folder).search(sources, SearchConfig(beam_size=1, max_extra=5))
    return sources, [[*each[0].ids, END] for each in found]


def test_the_positions_of_marian_are_ours_in_the_order_that_all_weights_take() -> None:
    ours = interleaved_sinusoids(7, 6).numpy()
    rates = [1.0, 10_000 ** (-2 / 6), 10_000 ** (-4 / 6)]
    theirs = [[*[np.sin(p * rate) for rate in rates], *[np.cos(p * rate) for rate in rates]] for p in range(7)]
    assert ours[:, [0, 2, 4, 1, 3, 5]] == pytest.approx(np.array(theirs), abs=1e-6)


def test_a_norm_of_larger_numbers_has_a_smaller_epsilon() -> None:
    numbers = torch.tensor([0.001, -0.002, 0.003, 0.0])
    scale = (EPSILON / 1e-8) ** 0.5
    expected = torch.nn.functional.layer_norm(numbers, (4,), eps=1e-8)
    assert torch.nn.functional.layer_norm(numbers * scale, (4,), eps=EPSILON).tolist() == pytest.approx(
        expected.tolist(), rel=1e-4
    )


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_an_export_gives_outputs_their_probabilities(
    folder_of: Callable[..., ModelFolder], tmp_path: Path, changes: dict[str, object]
) -> None:
    folder = folder_of(**changes)
    found = export_huggingface(folder, tmp_path / "out", lines=LINES)
    assert found.checked == len(LINES)
    assert found.apart < 1e-3
    sources, targets = greedy_outputs(folder)
    marian = Marian.load(tmp_path / "out")
    theirs = [marian.score(*pair) for pair in zip(sources, targets, strict=True)]
    assert theirs == pytest.approx(TorchEngine.load(folder).score(sources, targets), abs=1e-3)


def test_a_matrix_that_serves_three_times_is_written_once(folder_of: Callable[..., ModelFolder]) -> None:
    folder = folder_of(tying="three-way")
    size = folder.description.source_vocab_size
    tensors = marian_weights(folder.weights(), folder.description.model)
    assert [name for name, tensor in tensors.items() if len(tensor) == size + 1] == ["model.shared.weight"]
    assert not tensors["model.shared.weight"][-1].any()
    assert tensors["final_logits_bias"].shape == (1, size + 1)


def test_pieces_keep_their_ids_and_padding_is_a_new_symbol_at_the_end(model_folder: Path) -> None:
    folder = open_model_folder(model_folder)
    segmenter = Segmenter.load(folder.source_subwords)
    ids, size = vocabulary(folder), segmenter.vocab_size
    assert sorted(ids.values()) == list(range(size + 1))
    assert ids["<pad>"] == size
    assert all(ids[name] == number for number, name in enumerate(segmenter.pieces(range(size))) if number != PAD)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"norm": "pre"}, "model.norm is pre"),
        ({"positions": "learned", "max_positions": 90}, "model.positions is learned"),
        ({"positions": "concatenated"}, "model.positions is concatenated"),
        ({"target_space": True}, "model.target_space is true"),
        ({"d_k": 4}, "model.d_k and model.d_v are 4 and 8"),
    ],
    ids=str,
)
def test_a_setting_that_marian_does_not_have_is_named(
    folder_of: Callable[..., ModelFolder], tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        export_huggingface(folder_of(**changes), tmp_path / "out", lines=LINES)
    assert not (tmp_path / "out").exists()


def test_subwords_of_two_kinds_are_refused(model_folder: Path, tmp_path: Path) -> None:
    opened = open_model_folder(model_folder)
    (tmp_path / "model").mkdir()
    write_model_folder(
        tmp_path / "model",
        weights=opened.weights(),
        description=opened.description,
        subwords=dict.fromkeys(("source.model", "target.model"), opened.source_subwords),
    )
    with pytest.raises(UsageError, match="subwords of their own"):
        export_huggingface(open_model_folder(tmp_path / "model"), tmp_path / "out", lines=LINES)


def test_weights_damaged_on_the_way_are_refused_and_nothing_is_left(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*arguments: object) -> dict[str, np.ndarray]:
        tensors = marian_weights(*arguments)  # type: ignore[arg-type]
        name = "model.decoder.layers.1.fc2.weight"
        return tensors | {name: tensors[name] * np.float32(1.01)}

    monkeypatch.setattr("nmt_cli.decoding.export_huggingface.marian_weights", damaged)
    with pytest.raises(ModelError, match=r"nats apart, at most 0\.001 is allowed"):
        export_huggingface(open_model_folder(model_folder), tmp_path / "out", lines=LINES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["model.encoder.layers.0.self_attn.v_proj.weight", "final_logits_bias"])
def test_a_folder_that_was_tampered_with_does_not_pass(model_folder: Path, tmp_path: Path, name: str) -> None:
    folder = open_model_folder(model_folder)
    write_marian(folder, tmp_path)
    sources = sources_to_check(folder, LINES, longest=500)
    refuse_other_answers(folder, tmp_path, sources)
    tensors = load_file(tmp_path / "model.safetensors")
    noise = np.random.default_rng(1).normal(0, 0.02, tensors[name].shape).astype(np.float32)
    save_file(tensors | {name: tensors[name] + noise}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="answers otherwise"):
        refuse_other_answers(folder, tmp_path, sources)


def test_an_epsilon_that_is_not_marians_is_made_up_for_behind_the_first_norms(
    folder_of: Callable[..., ModelFolder], tmp_path: Path
) -> None:
    folder = folder_of(layer_norm_epsilon=1e-3)
    write_marian(folder, tmp_path)
    marian, [_, last] = Marian.load(tmp_path), load_transformer(folder).encoder_layers
    order, scale = [*range(0, 32, 2), *range(1, 32, 2)], 0.1  # the root of 1e-5 / 1e-3
    # So small that an epsilon counts for much.
    states = 0.03 * torch.randn(1, 5, 32, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        layout = Padded(torch.zeros(1, 1, 1, 5))
        attended = last.self_attention_residual.after(states, last.self_attention.over_itself(states, layout))
        fed = last.feed_forward_residual.after(states, last.feed_forward(states))
        given = states[0][:, order] * scale
        theirs = marian._attend("model.encoder.layers.1.self_attn", given, given)
        assert torch.allclose(theirs, attended[0][:, order] * scale, atol=1e-5)
        # The memory leaves the encoder as it is in ours.
        assert torch.allclose(marian._feed_forward("model.encoder.layers.1", given), fed[0][:, order], atol=1e-5)


def test_an_epsilon_too_far_from_marians_is_seen_in_the_check(
    folder_of: Callable[..., ModelFolder], tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=r"layer_norm_epsilon \(0\.01\) is too far from MarianMT's 1e-05"):
        export_huggingface(folder_of(layer_norm_epsilon=0.01), tmp_path / "out", lines=LINES)


def test_weights_that_are_not_finite_do_not_pass(model_folder: Path, tmp_path: Path) -> None:
    folder = open_model_folder(model_folder)
    write_marian(folder, tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["lm_head.weight"][7, 7] = np.nan
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="answers otherwise"):
        refuse_other_answers(folder, tmp_path, sources_to_check(folder, LINES, longest=500))


def test_the_manifest_names_the_files_and_the_card_what_differs(model_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_huggingface(open_model_folder(model_folder), out, lines=LINES)
    manifest = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
    assert manifest["files"] == {path.name: sha256_of_file(path) for path in out.iterdir() if path.name != MANIFEST}
    card = (out / "README.md").read_text(encoding="utf-8")
    for said in ("normal form C", "`<unused>`", "1e-5", "((5 + n) / 6)^0.6", "1,024", "never"):
        assert said in card
    with pytest.raises(UsageError, match="give --force"):
        export_huggingface(open_model_folder(model_folder), out, lines=LINES)
    export_huggingface(open_model_folder(model_folder), out, lines=LINES, force=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_transformers_gives_our_pieces_logits_and_outputs(
    folder_of: Callable[..., ModelFolder], tmp_path: Path, changes: dict[str, object]
) -> None:
    transformers = pytest.importorskip("transformers")
    folder, out = folder_of(**changes), tmp_path / "out"
    export_huggingface(folder, out, lines=LINES)
    tokenizer = transformers.MarianTokenizer.from_pretrained(out)
    marian, notes = transformers.MarianMTModel.from_pretrained(out, output_loading_info=True)
    assert not any(notes.values())
    odd = [*LINES, "</s> <pad> <unk> a", "the 漢 dog", "e\u0301"]
    segmenter = Segmenter.load(folder.source_subwords)
    assert tokenizer(odd).input_ids == [[*ids, END] for ids in segmenter.encode(odd)]

    size = folder.description.target_vocab_size
    sources, targets = greedy_outputs(folder)
    model = load_transformer(folder)
    for source, target in zip(sources, targets, strict=True):
        target_in = torch.tensor([[PAD, *target[:-1]]])
        theirs_in = torch.tensor([[size, *target[:-1]]])
        with torch.no_grad():
            ours = model.logits(model(torch.tensor([source]), target_in))
            theirs = marian(input_ids=torch.tensor([source]), decoder_input_ids=theirs_in).logits
        assert torch.allclose(ours, theirs[..., :size], atol=1e-4), (ours - theirs[..., :size]).abs().max()
        assert float(theirs[..., size].max()) < -1e3

    # Their beam search is another (it takes an end only from among the best), its scores are not.
    engine = TorchEngine.load(folder)
    for source, [found] in zip(sources, engine.search(sources, GREEDY), strict=True):
        longest = len(source) + 30 + 1
        output = marian.generate(torch.tensor([source]), max_length=longest)[0].tolist()
        assert output == [size, *found.ids, *([] if found.is_cut else [END])]
        assert tokenizer.decode(output, skip_special_tokens=True) == segmenter.decode(found.ids).strip()
        how = {"num_beams": 3, "length_penalty": 0.0, "output_scores": True, "return_dict_in_generate": True}
        best = marian.generate(torch.tensor([source]), max_length=longest, **how)
        target = best.sequences[0].tolist()[1:]
        if target[-1] == END:
            assert engine.score([source], [target]) == pytest.approx(best.sequences_scores.tolist(), abs=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_transformers_counts_the_least_length_as_we_do(model_folder: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    folder = open_model_folder(model_folder)
    source = [*Segmenter.load(folder.source_subwords).encode(["the red dog"])[0], END]
    engine = TorchEngine.load(folder)
    [[shortest]] = engine.search([source], GREEDY)
    assert not shortest.is_cut
    for more in (0, 1, 2):
        search = GREEDY.model_copy(update={"min_length": len(shortest.ids) + more})
        (out := tmp_path / str(more)).mkdir()
        write_marian(replace(folder, description=folder.description.model_copy(update={"search": search})), out)
        marian = transformers.MarianMTModel.from_pretrained(out)
        output = marian.generate(torch.tensor([source]), max_length=len(source) + 31)[0].tolist()
        [[expected]] = engine.search([source], search)
        assert output[1:] == [*expected.ids, *([] if expected.is_cut else [END])]
        assert (len(expected.ids) == len(shortest.ids)) is (more == 0)
