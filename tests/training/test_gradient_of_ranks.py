"""An update has one gradient, however many processes share it over gloo (report 13, report 14)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).with_name("gradients_of_ranks.py")


@pytest.fixture(scope="module")
def gradients(toy: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ANN401
    out = tmp_path_factory.mktemp("gradients")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, SCRIPT, toy.corpus, toy.config, out], check=True, env=environment)
    return out


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_gradient_and_losses_are_those_of_one_process_and_the_same_bits_on_every_rank(
    gradients: Path, n_ranks: int
) -> None:
    alone = np.load(gradients / "0-of-1.npz")
    ranks = [np.load(gradients / f"{rank}-of-{n_ranks}.npz") for rank in range(n_ranks)]
    for name, whole in (("one", "one"), ("cut", "one"), ("three", "three")):
        expected = alone[whole]
        assert np.linalg.norm(expected[:-2]) > 0.01
        difference = np.linalg.norm(ranks[0][name][:-2] - expected[:-2]) / np.linalg.norm(expected[:-2])
        assert difference < 1e-6, name
        assert ranks[0][name][-2:] == pytest.approx(expected[-2:], rel=1e-6)
        assert all(np.array_equal(rank[name], ranks[0][name]) for rank in ranks)
