"""The learning rate of each step."""

from __future__ import annotations

from nmt_cli.config import TrainingConfig


def paper_learning_rate(step: int, *, d_model: int, warmup_steps: int) -> float:
    """Rate at a step counted from 1 (section 5.3, equation 3)."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


def learning_rate(step: int, config: TrainingConfig, *, d_model: int) -> float:
    """Rate at a step counted from 1, by the schedule of the settings."""
    if config.schedule == "paper":
        rate = paper_learning_rate(step, d_model=d_model, warmup_steps=config.warmup_steps)
        return config.learning_rate_factor * rate
    if step < config.warmup_steps:
        return config.peak_learning_rate * step / config.warmup_steps
    if config.schedule == "constant":
        return config.peak_learning_rate
    left = (config.max_steps + 1 - step) / max(config.max_steps + 1 - config.warmup_steps, 1)
    return config.peak_learning_rate * max(left, 0.0)
