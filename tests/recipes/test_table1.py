"""Table 1: the measures against what the shapes and the masks say, and layers against torch's own."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional

RECIPE = Path(__file__).parents[2] / "recipes" / "table1"
NAMES = ("layers", "measures", "crossover", "table")


@pytest.fixture(scope="module")
def recipe() -> Iterator[SimpleNamespace]:
    """Import the programs as the Makefile does: as neighbours of each other."""
    sys.path.insert(0, str(RECIPE))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in NAMES})
    finally:
        sys.path.remove(str(RECIPE))
        for name in NAMES:
            sys.modules.pop(name, None)


def states(n: int, d: int) -> torch.Tensor:
    return torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(n * d))


def test_the_recurrent_layer_is_torch_s_lstm(recipe: SimpleNamespace) -> None:
    lstm = nn.LSTM(3, 3, bias=False, dtype=torch.float64)
    found = recipe.layers.recurrent(states(5, 3), lstm.weight_ih_l0.T, lstm.weight_hh_l0.T)
    assert torch.allclose(found, lstm(states(5, 3))[0], atol=1e-12)


def test_attention_restricted_to_everything_is_self_attention_and_to_a_window_a_mask(recipe: SimpleNamespace) -> None:
    x = states(6, 4)
    assert torch.allclose(recipe.layers.restricted_attention(x, 12), recipe.layers.self_attention(x), atol=1e-12)
    places = torch.arange(6)
    near = (places[:, None] - places).abs() <= 1
    expected = functional.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=near)[0]
    assert torch.allclose(recipe.layers.restricted_attention(x, 2), expected, atol=1e-12)


def test_a_convolution_mixes_the_neighbours_that_it_should(recipe: SimpleNamespace) -> None:
    x, weight = states(7, 1), torch.tensor([[[1.0, 10, 100]]], dtype=torch.float64)
    column = x[:, 0].tolist()
    at = lambda place: column[place] if 0 <= place < 7 else 0.0  # noqa: E731
    centred = [at(i - 1) + 10 * at(i) + 100 * at(i + 1) for i in range(7)]
    earlier = [at(i - 4) + 10 * at(i - 2) + 100 * at(i) for i in range(7)]
    assert recipe.layers.convolution(x, weight)[:, 0].tolist() == pytest.approx(centred)
    assert recipe.layers.convolution(x, weight, dilation=2, centred=False)[:, 0].tolist() == pytest.approx(earlier)


@pytest.mark.parametrize(
    ("kind", "sizes", "expected"),
    [
        ("self-attention", {}, 2 * 10 * 10 * 4),
        ("recurrent", {}, 10 * 2 * 4 * 16),
        ("convolution", {"k": 5}, 5 * 10 * 4 * 4),
        ("restricted", {"r": 4}, 2 * 10 * 5 * 4),
    ],
)
def test_the_counter_sees_the_products_of_the_shapes(
    kind: str, sizes: dict[str, int], expected: int, recipe: SimpleNamespace
) -> None:
    assert recipe.measures.counted(kind, n=10, d=4, **sizes) == expected
    assert recipe.measures.multiply_adds(kind, n=10, d=4, **sizes) == expected


def test_work_grows_with_the_powers_of_the_paper(recipe: SimpleNamespace) -> None:
    powers = {kind: recipe.table.work(kind) for kind in ("self-attention", "convolution", "restricted")}
    assert powers["self-attention"] == pytest.approx({"n": 2, "d": 1, "as the shapes say": True})
    assert powers["convolution"] == pytest.approx({"n": 1, "d": 2, "k": 1, "as the shapes say": True})
    # A window of r on both sides holds the position itself too: r + 1.
    assert powers["restricted"] == pytest.approx({"n": 1, "d": 1, "r": 1, "as the shapes say": True}, abs=0.03)


def test_a_slope_is_the_power(recipe: SimpleNamespace) -> None:
    assert recipe.measures.slope([2, 4, 8], [3 * 2**1.5, 3 * 4**1.5, 3 * 8**1.5]) == pytest.approx(1.5)


def test_only_the_recurrent_layer_has_a_chain_that_grows_with_the_sentence(recipe: SimpleNamespace) -> None:
    chain = recipe.measures.sequential_operations
    for kind in ("self-attention", "convolution", "restricted"):
        assert chain(kind, n=8) == chain(kind, n=32)
    assert chain("recurrent", n=32) - chain("recurrent", n=16) == 2 * (
        chain("recurrent", n=16) - chain("recurrent", n=8)
    )


def test_the_longest_chain_of_a_small_graph(recipe: SimpleNamespace) -> None:
    leaf = torch.ones(1, requires_grad=True)
    once = leaf * 2  # the gradient of a leaf is added up at its end: one more
    assert recipe.measures.longest_chain(once + once.exp().sin()) == 5


@pytest.mark.parametrize(
    ("kind", "n", "sizes", "layers"),
    [
        ("self-attention", 100, {}, 1),
        ("recurrent", 100, {}, 99),
        ("contiguous, one-sided", 100, {"k": 5}, 25),
        ("contiguous, centred", 100, {"k": 5}, 50),
        ("dilated", 81, {"k": 3}, 4),
        ("dilated", 82, {"k": 3}, 5),
        ("restricted", 100, {"r": 16}, 13),
    ],
)
def test_paths_are_as_long_as_worked_out_by_hand(
    kind: str, n: int, sizes: dict[str, int], layers: int, recipe: SimpleNamespace
) -> None:
    assert recipe.measures.path_length(kind, n=n, **sizes) == layers
    assert recipe.measures.expected_path(kind, n=n, **sizes) == layers


@pytest.mark.parametrize("kind", ["contiguous, one-sided", "contiguous, centred", "dilated", "restricted"])
def test_a_gradient_reaches_the_end_after_so_many_layers_and_not_one_less(kind: str, recipe: SimpleNamespace) -> None:
    sizes = {"r": 4} if kind == "restricted" else {"k": 3}
    layers = recipe.measures.path_length(kind, n=20, **sizes)
    assert recipe.measures.gradient_reaches(kind, layers, n=20, **sizes)
    assert not recipe.measures.gradient_reaches(kind, layers - 1, n=20, **sizes)


def test_a_crossing_lies_where_the_ratio_is_one(recipe: SimpleNamespace) -> None:
    lengths = [64, 128, 256, 512]
    seconds = {"self-attention": [n * n / 200 for n in lengths], "recurrent": list(map(float, lengths))}
    assert recipe.crossover.crossing(lengths, seconds, "recurrent") == pytest.approx(200)
    assert recipe.crossover.crossing(lengths, seconds | {"recurrent": [0.1] * 4}, "recurrent") == 0
    assert recipe.crossover.crossing(lengths, seconds | {"recurrent": [1e9] * 4}, "recurrent") is None


def test_by_work_both_layers_cost_alike_at_the_crossing(recipe: SimpleNamespace) -> None:
    # 2 n n d + 4 n d d = 8 n d d at n = 2 d; without the projections at n = 4 d. Three neighbours: n = 1.5 d.
    by_work = recipe.crossover.by_work
    assert by_work("recurrent", d=100, k=3, with_projections=True) == 200
    assert by_work("recurrent", d=100, k=3, with_projections=False) == 400
    assert by_work("convolution", d=100, k=3, with_projections=False) == 150
    assert by_work("convolution", d=100, k=3, with_projections=True) == 0


def test_the_table_names_every_layer_and_no_difference(
    recipe: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    shortened: ModuleType = recipe.table
    monkeypatch.setattr(shortened, "TIMED_LENGTHS", [8, 16])
    monkeypatch.setattr(shortened, "PATH_LENGTHS", [9, 17])
    monkeypatch.setattr(shortened, "LENGTHS", [16, 32, 64])
    torch.manual_seed(1)
    text = "\n".join(shortened.lines(shortened.measured(d=16, k=3)))
    assert not any(word in text for word in ("DIFFER", "EXPECTED"))
    assert text.count("gradients agree") == 8
    assert all(f"paper O({order}" in text for kind in shortened.KINDS for order in shortened.PAPER[kind][:2])
    assert all(math.isfinite(float(ms)) for ms in text.splitlines()[-1].split()[1:])


def test_without_matplotlib_the_picture_is_left_out_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "found.json").write_text("{}")
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError('matplotlib')")
    run = subprocess.run(
        [sys.executable, RECIPE / "plot.py", tmp_path / "found.json", "picture.svg"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
    )
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr.startswith("picture.svg: not drawn, matplotlib is not installed; ")
    assert run.stderr.count("\n") == 1
