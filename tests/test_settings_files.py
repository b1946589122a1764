"""Settings from presets, files and --set: precedence, one message for all problems, back to TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from nmt_cli.config import Settings, SubwordConfig
from nmt_cli.errors import UsageError
from nmt_cli.settings_files import (
    changes_not_allowed,
    merge,
    parse_assignment,
    preset_names,
    read_toml,
    resolve,
    section_from,
    suggestion,
    write_toml,
)


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(**given: object) -> str:
    with pytest.raises(UsageError) as caught:
        resolve(**({"preset": "tiny", "config": None} | given))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_goes_over_a_preset_and_an_assignment_over_both(tmp_path: Path) -> None:
    preset = resolve(preset="base", config=None)
    path = written(tmp_path, "[training]\nmax_steps = 7\nwarmup_steps = 8\n")
    settings = resolve(preset="base", config=path, assignments=["training.warmup_steps=9"])
    assert (preset.training.max_steps, preset.training.warmup_steps) == (100_000, 4_000)
    assert (settings.training.max_steps, settings.training.warmup_steps) == (7, 9)
    assert settings.model == preset.model
    assert settings.training.tokens_per_update == preset.training.tokens_per_update


def test_the_last_of_two_assignments_counts() -> None:
    assignments = ["training.seed=3", "training.seed=4"]
    assert resolve(preset="tiny", config=None, assignments=assignments).training.seed == 4


def test_heads_given_over_a_preset_change_the_width_of_a_head() -> None:
    assert resolve(preset="base", config=None, assignments=["model.n_heads=16"]).model.d_k == 32


@pytest.mark.parametrize(
    ("assignment", "tables"),
    [
        ("training.max_steps=200", {"training": {"max_steps": 200}}),
        (" training.max_steps = 2_000 ", {"training": {"max_steps": 2000}}),
        ("model.norm=pre", {"model": {"norm": "pre"}}),
        ("model.norm='pre'", {"model": {"norm": "pre"}}),
        ("model.attention_bias=true", {"model": {"attention_bias": True}}),
        ("search.alpha=1e0", {"search": {"alpha": 1.0}}),
        ("a.b=x=y", {"a": {"b": "x=y"}}),
    ],
)
def test_an_assignment_is_read_as_toml_or_else_as_text(assignment: str, tables: dict[str, object]) -> None:
    assert parse_assignment(assignment) == tables


@pytest.mark.parametrize("assignment", ["max_steps=3", "training.max_steps", "training.=3", "=3", ""])
def test_an_assignment_without_section_field_and_value_is_refused(assignment: str) -> None:
    with pytest.raises(UsageError, match=r"write section\.field=value"):
        parse_assignment(assignment)


def test_merging_goes_table_by_table_and_changes_neither() -> None:
    lower, upper = {"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"y": 5}, "c": 6}
    assert merge(lower, upper) == {"a": {"x": 1, "y": 5}, "b": 3, "c": 6}
    assert (lower, upper) == ({"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"y": 5}, "c": 6})


def test_an_unknown_field_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    path = written(tmp_path, "[training]\nmax_step = 3\n")
    said = refusal(config=path)
    assert str(path) in said
    assert "unknown field 'training.max_step', did you mean 'max_steps'?" in said


def test_an_unknown_section_is_refused_with_the_nearest_name() -> None:
    assert "unknown field 'serach', did you mean 'search'?" in refusal(assignments=["serach.beam_size=3"])


def test_an_unknown_preset_is_refused_with_the_nearest_name_and_the_list() -> None:
    said = refusal(preset="bigg")
    assert "did you mean 'big'?" in said
    assert all(name in said for name in preset_names())


def test_all_problems_of_a_file_are_in_one_line_with_the_values_given(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "[model]\ndropout = 1.5\nnorm = 'mid'\nlayers = 3\n[training]\nmax_steps = '9'\n[search]\nn_best = 7\n",
    )
    said = refusal(config=path)
    for part in ["model.dropout", "1.5", "model.norm", "'mid'", "'post' or 'pre'", "model.layers", "max_steps", "'9'"]:
        assert part in said
    assert "n_best is 7, but beam_size is 4; raise beam_size" in said


def test_nothing_given_says_what_to_give() -> None:
    assert "name a --preset" in refusal(preset=None)


def test_heads_that_do_not_divide_the_width_are_explained() -> None:
    assert "'model.d_k' is not given and d_model is no multiple of n_heads" in refusal(assignments=["model.n_heads=3"])


def test_a_section_that_is_no_table_is_refused(tmp_path: Path) -> None:
    assert "model" in refusal(config=written(tmp_path, "model = 3\n"))


@pytest.mark.parametrize(
    ("data", "said"), [(b"a = ", "not valid TOML"), (b"a = '\xff'", "not valid TOML"), (b"a = 1\nb = ?\n", "line 2")]
)
def test_a_file_that_is_no_toml_is_refused_by_name(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "mine.toml").write_bytes(data)
    with pytest.raises(UsageError, match=said) as caught:
        read_toml(tmp_path / "mine.toml")
    assert str(tmp_path / "mine.toml") in str(caught.value)


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_toml(tmp_path / name)


@pytest.mark.parametrize("preset", sorted({*preset_names()} - {"fine-tune"}))
def test_settings_written_are_the_settings_read(tmp_path: Path, preset: str) -> None:
    settings = resolve(
        preset=preset, config=None, assignments=["training.clip_norm=0.1", "training.seed=9", "model.reading=t2t-2017"]
    )
    write_toml(tmp_path / "config.toml", settings)
    assert resolve(preset=None, config=tmp_path / "config.toml") == settings
    # Another preset below changes nothing: the file says everything that is set.
    assert resolve(preset="big", config=tmp_path / "config.toml") == settings


def test_sections_of_a_model_stand_over_the_preset_and_under_what_is_asked_for() -> None:
    of_model = {"model": resolve(preset="big", config=None).model.model_dump()}
    settings = resolve(preset="tiny", config=None, of_model=of_model, assignments=["model.dropout=0.4"])
    assert (settings.model.d_model, settings.model.d_k, settings.model.dropout) == (1024, 64, 0.4)
    assert settings.training == resolve(preset="tiny", config=None).training


def test_written_settings_are_whole_toml(tmp_path: Path) -> None:
    write_toml(tmp_path / "config.toml", resolve(preset="base", config=None))
    tables = tomllib.loads((tmp_path / "config.toml").read_text(encoding="utf-8"))
    assert tables["model"]["d_k"] == 64
    assert tables["search"]["alpha"] == 0.6
    assert "clip_norm" not in tables["training"]


def test_a_continued_run_may_change_its_length_and_not_its_seed() -> None:
    old = resolve(preset="tiny", config=None)
    changed = ["training.max_steps=9", "machine.device=cpu", "training.patience=3", "training.save_every_steps=7"]
    assert changes_not_allowed(old, resolve(preset="tiny", config=None, assignments=changed)) == []
    refused = [*changed, "training.seed=2", "model.dropout=0.2"]
    assert changes_not_allowed(old, resolve(preset="tiny", config=None, assignments=refused)) == [
        "model.dropout was 0.1, now 0.2",
        "training.seed was 1, now 2",
    ]


def test_every_field_that_shapes_the_model_or_its_data_must_stay_on_resume() -> None:
    may_change = {
        (section, name)
        for section, outer in Settings.model_fields.items()
        for name, field in outer.annotation.model_fields.items()  # type: ignore[union-attr]
        if field.json_schema_extra
    }
    assert {section for section, _ in may_change} == {"training", "machine"}
    must_stay = {"seed", "tokens_per_update", "max_length", "label_smoothing", "warmup_steps", "schedule", "adam_beta2"}
    assert not must_stay & {name for _, name in may_change}


def test_one_section_is_made_of_values_and_assignments_over_them() -> None:
    config = section_from(SubwordConfig, "subwords", {"vocab_size": 300, "seed": 2}, ["subwords.seed=3"])
    assert (config.vocab_size, config.seed, config.algorithm) == (300, 3, "bpe")


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("subword.seed=3", "section 'subword' is unknown here; this command has 'subwords'"),
        ("subwords.sed=3", "did you mean 'seed'?"),
        ("subwords.vocab_size=5", "should be greater than or equal to 260, but is 5"),
    ],
)
def test_one_section_refuses_other_sections_and_wrong_values(assignment: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        section_from(SubwordConfig, "subwords", {"vocab_size": 300}, [assignment])
    assert said in str(caught.value)


def test_a_name_like_no_other_gets_no_suggestion() -> None:
    assert suggestion("zzz", ["max_steps", "seed"]) == ""
    assert suggestion("sead", ["max_steps", "seed"]) == ", did you mean 'seed'?"


def test_a_byte_order_mark_before_toml_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbf[training]\nseed = 3\n")
    assert read_toml(tmp_path / "a.toml") == {"training": {"seed": 3}}


def test_toml_nested_too_deep_to_read_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("a = " + "[" * 5000 + "]" * 5000)
    with pytest.raises(UsageError, match="not valid TOML"):
        read_toml(tmp_path / "a.toml")


def test_an_assignment_is_one_value_and_cannot_go_on_on_another_line() -> None:
    assert parse_assignment("training.seed=1\nx = 2") == {"training": {"seed": "1\nx = 2"}}
    assert parse_assignment("training.seed=" + "[" * 5000)["training"] == {"seed": "[" * 5000}
