"""Settings are frozen and strict, and fill in what the widths and the reading imply."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from nmt_cli import config
from nmt_cli.config import CleaningConfig, ModelConfig, SearchConfig, Section, Settings, SubwordConfig, TrainingConfig

SIZES = {"n_encoder_layers": 2, "n_decoder_layers": 2, "d_model": 64, "d_ff": 128, "n_heads": 4, "dropout": 0.1}
UPDATES = {
    "max_steps": 10,
    "tokens_per_update": 100,
    "warmup_steps": 4,
    "save_every_steps": 5,
    "validate_every_steps": 5,
}
SECTIONS = [
    kind for kind in vars(config).values() if isinstance(kind, type) and issubclass(kind, Section) and kind != Section
]


def model(**others: object) -> ModelConfig:
    return ModelConfig.model_validate(SIZES | others)


def test_the_width_of_a_head_follows_from_the_model_unless_it_is_given() -> None:
    assert (model().d_k, model().d_v) == (16, 16)
    assert (model(d_k=8).d_k, model(d_k=8).d_v) == (8, 16)


def test_a_width_that_the_heads_do_not_divide_needs_its_own_d_k_and_d_v() -> None:
    with pytest.raises(ValidationError, match="d_k"):
        model(n_heads=3)
    assert model(n_heads=3, d_k=21, d_v=20).d_v == 20


def test_the_reading_of_2017_sets_what_its_code_did_and_gives_way_to_what_is_given() -> None:
    then = model(reading="t2t-2017")
    assert (then.positions, then.attention_bias, then.target_space) == ("concatenated", True, True)
    assert model(reading="t2t-2017", attention_bias=False).attention_bias is False
    assert (model().positions, model().attention_bias, model().target_space) == ("interleaved", False, False)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_is_frozen_strict_and_refuses_unknown_names(section: type[BaseModel]) -> None:
    assert section.model_config.get("frozen") is True
    assert section.model_config.get("strict") is True
    assert section.model_config.get("extra") == "forbid"


def test_a_value_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        model().dropout = 0.2  # type: ignore[misc]


@pytest.mark.parametrize("section", [section for section in SECTIONS if section is not Settings])
def test_every_field_says_what_it_is(section: type[BaseModel]) -> None:
    assert [name for name, field in section.model_fields.items() if not field.description] == []


@pytest.mark.parametrize(
    ("section", "base", "wrong"),
    [
        (ModelConfig, SIZES, {"dropout": 1.0}),
        (ModelConfig, SIZES, {"dropout": -0.1}),
        (ModelConfig, SIZES, {"d_ff": 0}),
        (ModelConfig, SIZES, {"d_ff": 128.0}),
        (ModelConfig, SIZES, {"d_ff": "128"}),
        (ModelConfig, SIZES, {"n_heads": True}),
        (ModelConfig, SIZES, {"norm": "middle"}),
        (ModelConfig, SIZES, {"attention_bias": 1}),
        (TrainingConfig, UPDATES, {"max_steps": 0}),
        (TrainingConfig, UPDATES, {"adam_epsilon": 0.0}),
        (TrainingConfig, UPDATES, {"learning_rate_factor": float("nan")}),
        (TrainingConfig, UPDATES, {"clip_norm": float("inf")}),
        (SearchConfig, {}, {"alpha": -1.0}),
        (SearchConfig, {}, {"beam_size": 0}),
        (SearchConfig, {}, {"n_best": 5}),
        (CleaningConfig, {}, {"max_ratio": 0.5}),
        (SubwordConfig, {}, {"vocab_size": 259}),
    ],
)
def test_a_value_of_another_type_or_out_of_range_is_refused(
    section: type[Section], base: dict[str, object], wrong: dict[str, object]
) -> None:
    section.model_validate(base | {"vocab_size": 260} if section is SubwordConfig else base)
    with pytest.raises(ValidationError):
        section.model_validate(base | wrong)


def test_whole_numbers_may_stand_where_fractions_are_expected() -> None:
    assert TrainingConfig.model_validate(UPDATES | {"clip_norm": 1}).clip_norm == 1.0


def test_defaults_of_training_are_the_papers() -> None:
    training = TrainingConfig.model_validate(UPDATES)
    adam = (training.adam_beta1, training.adam_beta2, training.adam_epsilon)
    assert adam == (0.9, 0.98, 1e-9)  # 5.3
    assert training.label_smoothing == 0.1  # 5.4
    assert training.schedule == "paper"
    assert training.clip_norm is None
    search = SearchConfig()
    assert (search.beam_size, search.alpha, search.length_penalty, search.max_extra) == (4, 0.6, "wu", 50)  # 6.1


@pytest.mark.parametrize(
    ("section", "values"),
    [
        (SearchConfig, {"alpha": 11.0}),
        (SearchConfig, {"beam_size": 10**20}),
        (SearchConfig, {"max_extra": 10**20}),
        (SubwordConfig, {"vocab_size": 99_999_999_999}),
        (SubwordConfig, {"vocab_size": 300, "character_coverage": 0.5}),
        (SubwordConfig, {"vocab_size": 300, "seed": 1 << 63}),
        (CleaningConfig, {"seed": 1 << 63}),
    ],
)
def test_numbers_that_the_libraries_below_cannot_hold_are_refused(
    section: type[Section], values: dict[str, object]
) -> None:
    with pytest.raises(ValidationError, match=r"less than|greater than"):
        section.model_validate(values)


@pytest.mark.parametrize("field", ["d_model", "d_ff", "n_heads", "d_k", "n_encoder_layers", "max_positions"])
def test_sizes_that_no_machine_holds_are_refused(field: str) -> None:
    with pytest.raises(ValidationError, match="less than or equal to"):
        model(**{field: 1_000_000_000})
