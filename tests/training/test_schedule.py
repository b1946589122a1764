"""Learning rates against the paper's numbers and a table worked by hand."""

from __future__ import annotations

import pytest

from nmt_cli.config import TrainingConfig
from nmt_cli.settings_files import resolve
from nmt_cli.training.schedule import learning_rate, paper_learning_rate


def config(**changes: object) -> TrainingConfig:
    values = {"max_steps": 10, "tokens_per_update": 1, "save_every_steps": 1, "validate_every_steps": 1}
    return TrainingConfig.model_validate(values | {"warmup_steps": 4} | changes)


@pytest.mark.parametrize(
    ("preset", "assignments", "peak"),
    [
        ("base", [], 6.98771e-4),
        ("big", [], 4.94106e-4),
        ("base", ["training.warmup_steps=8000", "training.learning_rate_factor=2.0"], 9.88212e-4),
        (
            "base",
            ["model.d_model=1024", "training.warmup_steps=16000", "training.learning_rate_factor=0.5"],
            1.23526e-4,
        ),
    ],
)
def test_the_peak_is_the_published_one_and_stands_at_the_end_of_warm_up(
    preset: str, assignments: list[str], peak: float
) -> None:
    settings = resolve(preset=preset, config=None, assignments=assignments)
    training, d_model = settings.training, settings.model.d_model
    steps = range(1, 3 * training.warmup_steps, 7)
    rates = {step: learning_rate(step, training, d_model=d_model) for step in [*steps, training.warmup_steps]}
    assert max(rates, key=lambda step: rates[step]) == training.warmup_steps
    assert rates[training.warmup_steps] == pytest.approx(peak, rel=1e-5)


def test_the_paper_schedule_rises_straight_and_falls_with_the_root() -> None:
    # d_model 4, warm-up 4: 1/2 * min(1/sqrt(n), n/8)
    rates = [paper_learning_rate(step, d_model=4, warmup_steps=4) for step in (1, 2, 3, 4, 16, 64)]
    assert rates == pytest.approx([1 / 16, 2 / 16, 3 / 16, 1 / 4, 1 / 8, 1 / 16])


def test_constant_rises_then_stays() -> None:
    rates = [
        learning_rate(step, config(schedule="constant", peak_learning_rate=8.0), d_model=4) for step in range(1, 9)
    ]
    assert rates == pytest.approx([2, 4, 6, 8, 8, 8, 8, 8])


def test_linear_rises_then_falls_to_zero_just_after_the_last_step() -> None:
    linear = config(schedule="linear", peak_learning_rate=7.0)
    rates = [learning_rate(step, linear, d_model=4) for step in range(1, 13)]
    assert rates == pytest.approx([1.75, 3.5, 5.25, 7, 6, 5, 4, 3, 2, 1, 0, 0])


@pytest.mark.parametrize("warmup_steps", [10, 11, 50])
def test_linear_survives_a_warm_up_as_long_as_the_training(warmup_steps: int) -> None:
    linear = config(schedule="linear", peak_learning_rate=1.0, warmup_steps=warmup_steps)
    rates = [learning_rate(step, linear, d_model=4) for step in range(1, 11)]
    assert rates == pytest.approx([step / warmup_steps for step in range(1, 11)])
