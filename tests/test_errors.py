"""The tree of errors and the exit codes that the README promises."""

from __future__ import annotations

import pytest

from nmt_cli import errors
from nmt_cli.errors import NmtError, StoppedError

CODES = {
    "NmtError": 1,
    "UsageError": 2,
    "DataError": 3,
    "ModelError": 4,
    "DivergedError": 5,
    "MachineError": 6,
}


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_a_kind_of_error_has_its_exit_code(name: str, code: int) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, NmtError)
    assert kind("a line").exit_code == code
    assert str(kind("a line")) == "a line"


@pytest.mark.parametrize("code", [130, 141, 143])
def test_a_stop_carries_the_code_of_its_signal(code: int) -> None:
    assert StoppedError("", exit_code=code).exit_code == code


def test_no_two_kinds_share_a_code_and_the_tree_has_no_others() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, NmtError)]
    assert {kind.__name__ for kind in kinds} == CODES.keys() | {"StoppedError"}
    assert len(set(CODES.values())) == len(CODES)


def test_the_tree_drawn_at_the_top_gives_the_codes_of_the_classes() -> None:
    drawn = [line.split() for line in (errors.__doc__ or "").splitlines() if "Error " in line and "─" in line]
    assert {words[1]: int(words[2]) for words in drawn} == {
        name: code for name, code in CODES.items() if name != "NmtError"
    } | {"StoppedError": 130}
