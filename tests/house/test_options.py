"""The options of every command, frozen: a new one is a decision, made here too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from nmt_cli.cli.main import app

README = Path(__file__).parents[2] / "README.md"
HELD_OUT = {"--valid-source", "--valid-target", "--test-source", "--test-target"}
OPTIONS = {
    "prepare": {"--source", "--target", "--source-lang", "--target-lang", "--out", "--list", "--set"}
    | {"--from"}
    | {"--lowercase", "--moses", "--force", "--quiet"}
    | HELD_OUT,
    "bpe": {"--vocab-size", "--separate", "--target-vocab-size", "--algorithm", "--model", "--out", "--set"}
    | {"--force", "--quiet"},
    "train": {
        "--preset",
        "--config",
        "--set",
        "--max-steps",
        "--weights",
        "--fine-tune",
        "--run",
        "--ranks",
        "--device",
        "--quiet",
    }
    | {"--gpus", "--tensorboard"},
    "average": {"--last", "--best", "--out", "--store", "--force", "--quiet"},
    "translate": {"--model", "--output", "--continue", "--prefix", "--format", "--strict", "--device", "--quiet"}
    | {"--engine", "--compute-type"}
    | {"--set"}
    | {"--beam-size", "--length-penalty", "--alpha", "--max-extra", "--min-length", "--n-best", "--batch-tokens"},
    "score": {
        *("--reference", "--target-lang", "--lowercase", "--tokenize", "--json", "--quiet"),
        *("--significance", "--samples", "--seed"),
        *("--trees", "--evalb-parameters", "--words"),
        *("--model", "--source"),
    },
    "export": {"--to", "--compute-type", "--check", "--force", "--quiet"},
    "report": {"--model", "--scores", "--data", "--against", "--sustained-tflops", "--html", "--json"},
}
GROUP = typer.main.get_command(app)
assert isinstance(GROUP, typer.core.TyperGroup)
COMMANDS = GROUP.commands
EVERY_PARAMETER = [(name, parameter) for name, command in COMMANDS.items() for parameter in command.params]


def options_of(command: str) -> set[str]:
    """Return the long and short names of a command's options; --help belongs to all."""
    parameters = [parameter for parameter in COMMANDS[command].params if parameter.param_type_name == "option"]
    return {name for parameter in parameters for name in [*parameter.opts, *parameter.secondary_opts]}


def test_the_commands_are_these_and_the_table_knows_them_all() -> None:
    assert COMMANDS.keys() == OPTIONS.keys()


@pytest.mark.parametrize("command", OPTIONS)
def test_the_options_of_a_command_are_those_of_the_table(command: str) -> None:
    assert options_of(command) == OPTIONS[command]


@pytest.mark.parametrize("command", OPTIONS)
def test_a_command_says_in_one_sentence_what_it_does(command: str) -> None:
    text = (COMMANDS[command].help or "").strip()
    assert re.match(r"[A-Z].{20,}\.", text, flags=re.DOTALL), text


@pytest.mark.parametrize(
    ("command", "parameter"), EVERY_PARAMETER, ids=[f"{name} {parameter.name}" for name, parameter in EVERY_PARAMETER]
)
def test_every_option_and_argument_has_a_help_text(command: str, parameter: object) -> None:
    text = getattr(parameter, "help", None)
    assert isinstance(text, str), command
    assert len(text) > 5


def test_the_readme_shows_only_options_that_exist() -> None:
    shown = re.findall(r"^ *nmt ([a-z]+) (.*)$", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {command for command, _ in shown} == OPTIONS.keys()
    for command, rest in shown:
        assert set(re.findall(r"--[a-z-]+", rest)) <= OPTIONS[command], f"nmt {command} {rest}"
