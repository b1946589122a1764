"""The torch engine in other numbers than float32, against products of rounded numbers and against float32."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.decoding.int8 import Int8Linear, to_int8
from nmt_cli.decoding.number_formats import number_format
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.model.projection import Linear
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_folder import open_model_folder
from nmt_cli.subwords.segmenter import END

Maker = Callable[..., Transformer]
V = 60
DRAW = random.Random(5)  # noqa: S311 - test data
SOURCES = [[DRAW.randrange(3, V) for _ in range(DRAW.randint(1, 30))] + [END] for _ in range(17)]
CPU, GPU = torch.device("cpu"), torch.device("cuda")


def random_rows(n: int, size: int, seed: int) -> torch.Tensor:
    return torch.randn(n, size, generator=torch.Generator().manual_seed(seed))


def in_type(random_transformer: Maker, compute_type: str, **changes: object) -> TorchEngine:
    return TorchEngine([number_format(compute_type, CPU)(random_transformer(vocab_size=V, **changes))])


def test_a_product_in_int8_is_worked_out_by_hand() -> None:
    # Scales: 2.54 / 127 = 0.02 and 1.27 / 127 = 0.01; of the vector 127 / 127 = 1.
    linear = Int8Linear(torch.tensor([[2.54, -1.271], [0.0, 1.27]]), torch.tensor([0.5, -1.0]))
    # -1.271 / 0.02 = -63.55, rounded -64; 10.4 becomes 10: (127 * 127 - 64 * 10) * 0.02 + 0.5 and 127 * 10 * 0.01 - 1.
    found = linear(torch.tensor([[127.0, 10.4]]))
    torch.testing.assert_close(found, torch.tensor([[310.28, 11.7]]))


@pytest.mark.parametrize("n_rows", [1, 3, 16, 65])
def test_a_product_in_int8_is_that_of_the_rounded_numbers(n_rows: int) -> None:
    weight, rows = random_rows(37, 24, seed=1), random_rows(n_rows, 24, seed=2)

    def rounded(values: np.ndarray) -> np.ndarray:
        scale = np.abs(values).max(axis=1, keepdims=True) / 127
        return np.round(values / scale) * scale

    expected = rounded(rows.double().numpy()) @ rounded(weight.double().numpy()).T
    np.testing.assert_allclose(Int8Linear(weight)(rows).numpy(), expected, rtol=1e-4, atol=1e-4)


def test_a_vector_in_int8_does_not_depend_on_its_neighbours() -> None:
    linear = Int8Linear(random_rows(50, 32, seed=1), random_rows(1, 50, seed=3)[0])
    rows = random_rows(70, 32, seed=2)
    rows[5] *= 1e4
    alone = torch.cat([linear(row[None]) for row in rows])
    assert torch.equal(linear(rows), alone)
    assert torch.equal(linear(rows.view(7, 10, 32)).flatten(0, 1), alone)


def test_zeros_stay_zeros_and_what_is_no_number_stays_none() -> None:
    linear = Int8Linear(random_rows(5, 8, seed=1))
    found = linear(torch.stack([torch.zeros(8), torch.full((8,), float("nan"))]))
    assert torch.equal(found[0], torch.zeros(5))
    assert bool(found[1].isnan().all())


@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}, {"reading": "t2t-2017", "tying": "three-way"}])
def test_no_linear_map_is_left_in_float32(random_transformer: Maker, changes: dict[str, object]) -> None:
    n_before = sum(isinstance(module, Linear) for module in random_transformer(vocab_size=V, **changes).modules())
    modules = list(to_int8(random_transformer(vocab_size=V, **changes)).modules())
    assert not any(isinstance(module, Linear) for module in modules)
    assert sum(isinstance(module, Int8Linear) for module in modules) == n_before + 1


@pytest.mark.parametrize(("compute_type", "tolerance"), [("bfloat16", 0.08), ("int8", 0.08)])
def test_given_outputs_score_nearly_as_in_float32(
    random_transformer: Maker, compute_type: str, tolerance: float
) -> None:
    targets = [[*source[:-1][::-1], END] for source in SOURCES]
    exact = in_type(random_transformer, "float32").score(SOURCES, targets)
    found = in_type(random_transformer, compute_type).score(SOURCES, targets)
    assert found == pytest.approx(exact, rel=tolerance)
    assert found != exact


def test_in_int8_the_forced_score_of_an_output_is_its_search_score(random_transformer: Maker) -> None:
    engine = in_type(random_transformer, "int8")
    found = [best for [best] in engine.search(SOURCES, SearchConfig(beam_size=3, max_extra=20))]
    ended = [place for place, hypothesis in enumerate(found) if not hypothesis.is_cut]
    assert len(ended) > 5
    forced = engine.score([SOURCES[place] for place in ended], [[*found[place].ids, END] for place in ended])
    assert forced == pytest.approx([found[place].log_prob for place in ended], abs=0.05)


def test_int8_results_do_not_depend_on_the_batch(random_transformer: Maker) -> None:
    engine, config = in_type(random_transformer, "int8"), SearchConfig(beam_size=3, max_extra=20)
    together = engine.search(SOURCES, config)
    alone = [engine.search([source], config)[0] for source in SOURCES]
    assert [found[0].ids for found in together] == [found[0].ids for found in alone]


@pytest.mark.parametrize("compute_type", ["bfloat16", "int8"])
def test_damaged_weights_are_told_of_in_any_numbers(random_transformer: Maker, compute_type: str) -> None:
    model = random_transformer(vocab_size=V)
    with torch.no_grad():
        model.source_embedding.weight[7, 0] = float("nan")
    engine = TorchEngine([number_format(compute_type, CPU)(model)])
    with pytest.raises(ModelError, match="not finite"):
        engine.search([[7, END]], SearchConfig())


@pytest.mark.parametrize("compute_type", ["auto", "float32", "bfloat16", "int8"])
def test_a_model_folder_is_loaded_in_any_numbers(model_folder: Path, compute_type: str) -> None:
    engine = TorchEngine.load(open_model_folder(model_folder), compute_type=compute_type)
    [[best]] = engine.search([[5, 9, END]], SearchConfig())
    assert best.log_prob < 0


@pytest.mark.parametrize(
    ("compute_type", "device", "message"),
    [
        ("float16", CPU, "compute type float16: not by the engine torch on a CPU, which has float32, bfloat16, int8"),
        ("int8", GPU, "compute type int8: not by the engine torch on a GPU, which has float32, bfloat16, float16"),
        ("int8_float16", CPU, "compute type int8_float16: not by"),
    ],
)
def test_numbers_that_a_device_does_not_pay_for_are_refused(
    compute_type: str, device: torch.device, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        number_format(compute_type, device)
