"""The presets: each one is valid, and those that carry the paper's name carry its numbers."""

from __future__ import annotations

import tomllib
from importlib import resources

import pytest

from nmt_cli.config import Settings
from nmt_cli.settings_files import preset_names, resolve

# Paper, sections 3, 5.1 to 5.4 and 6.1, and table 3; what is the same in both models.
PAPER = {
    "model": {
        "reading": "paper",
        "n_encoder_layers": 6,
        "n_decoder_layers": 6,
        "d_k": 64,
        "d_v": 64,
        "attention_dropout": 0.0,
        "ffn_dropout": 0.0,
        "norm": "post",
        "layer_norm_epsilon": 1e-6,
        "positions": "interleaved",
        "attention_bias": False,
        "target_space": False,
        "tying": "three-way",
    },
    "training": {
        "tokens_per_update": 25_000,
        "label_smoothing": 0.1,
        "schedule": "paper",
        "warmup_steps": 4_000,
        "learning_rate_factor": 1.0,
        "adam_beta1": 0.9,
        "adam_beta2": 0.98,
        "adam_epsilon": 1e-9,
        "clip_norm": None,
        "keep_checkpoints": 20,
    },
    "search": {"beam_size": 4, "length_penalty": "wu", "alpha": 0.6, "max_extra": 50},
}
BASE = {
    "model": {"d_model": 512, "d_ff": 2048, "n_heads": 8, "dropout": 0.1},
    "training": {"max_steps": 100_000, "save_every_steps": 1_500},
}
BIG = {
    "model": {"d_model": 1024, "d_ff": 4096, "n_heads": 16, "dropout": 0.3},
    "training": {"max_steps": 300_000, "save_every_steps": 600},
}


def settings_of(preset: str) -> Settings:
    """Return the settings of a preset; fine-tune has the sizes of the model that it is used with."""
    of_model = {"model": resolve(preset="tiny", config=None).model.model_dump()} if preset == "fine-tune" else None
    return resolve(preset=preset, config=None, of_model=of_model)


def test_the_presets_are_those_that_the_readme_can_name() -> None:
    assert {"tiny", "small", "base", "big", "multi30k", "fine-tune"} <= set(preset_names())


@pytest.mark.parametrize("preset", preset_names())
def test_a_preset_gives_settings_and_says_what_it_is_for(preset: str) -> None:
    settings_of(preset)
    text = (resources.files("nmt_cli") / "presets" / f"{preset}.toml").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert tomllib.loads(text).keys() <= Settings.model_fields.keys()


@pytest.mark.parametrize(("preset", "own"), [("base", BASE), ("big", BIG)])
@pytest.mark.parametrize("section", ["model", "training", "search"])
def test_a_preset_with_the_papers_name_holds_the_papers_numbers(
    preset: str, own: dict[str, dict[str, object]], section: str
) -> None:
    expected = PAPER[section] | own.get(section, {})
    found = settings_of(preset).model_dump()[section]
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(("preset", "peak"), [("base", 6.98771e-4), ("big", 4.94106e-4)])
def test_the_schedule_of_a_paper_preset_peaks_at_the_known_rate(preset: str, peak: float) -> None:
    settings = settings_of(preset)
    rate = settings.training.learning_rate_factor * (settings.model.d_model * settings.training.warmup_steps) ** -0.5
    assert rate == pytest.approx(peak, rel=1e-5)


def test_multi30k_is_the_size_published_as_transformer_tiny() -> None:
    model = settings_of("multi30k").model
    sizes = (model.n_encoder_layers, model.n_decoder_layers, model.d_model, model.d_ff, model.n_heads, model.dropout)
    assert sizes == (4, 4, 128, 256, 4, 0.3)
