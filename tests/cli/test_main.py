"""The program as it is started: exit codes, one line for the user's mistakes, a traceback for ours."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nmt_cli

PROGRAM = Path(sys.executable).parent / "nmt"

# The program with one more command, which fails as it is told.
FAILING = """
import os, signal, sys
from pathlib import Path
from nmt_cli import errors
from nmt_cli.cli.main import app, main
from nmt_cli.files import atomic_file, read_lines

@app.command()
def fail(how: str) -> None:
    match how:
        case "defect":
            {}["key"]
        case "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        case "write":
            with atomic_file(Path("new")):
                read_lines(Path("pipe"))
        case "quiet":
            raise errors.StoppedError("", exit_code=141)
        case _:
            raise getattr(errors, how)("t.en:\\x1b[1m 3 lines, but t.de: 4")

main()
"""


def nmt(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
        env=os.environ | environment,
    )


def failing(how: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-c", FAILING, "fail", how]
    return subprocess.run(arguments, capture_output=True, text=True, check=False, encoding="utf-8")


def test_help_goes_to_stdout_and_lists_every_command() -> None:
    run = nmt("--help")
    assert run.returncode == 0
    assert run.stderr == ""
    assert all(f" {name} " in run.stdout for name in ["prepare", "bpe", "train", "average", "translate", "score"])


@pytest.mark.parametrize("command", ["prepare", "bpe", "train", "average", "translate", "score"])
def test_the_short_help_option_works_for_every_command(command: str) -> None:
    run = nmt(command, "-h", NO_COLOR="1", TERM="dumb")
    assert run.returncode == 0
    assert f"nmt {command}" in run.stdout


def test_the_version_is_the_packages() -> None:
    run = nmt("--version")
    assert (run.returncode, run.stdout) == (0, f"nmt {nmt_cli.__version__}\n")


def test_python_m_nmt_cli_is_nmt() -> None:
    arguments = [sys.executable, "-m", "nmt_cli", "--version"]
    run = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, f"nmt {nmt_cli.__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [["translat"], ["--no-such-option"], ["bpe", "--vocab-size"], ["bpe", "x", "--vocab-size", "many"], ["bpe"]],
    ids=" ".join,
)
def test_a_command_line_that_cannot_be_read_is_code_2_without_traceback(arguments: list[str]) -> None:
    run = nmt(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("kind", "code"),
    [("UsageError", 2), ("DataError", 3), ("ModelError", 4), ("DivergedError", 5), ("MachineError", 6)],
)
def test_the_users_mistake_is_one_line_with_its_code(kind: str, code: int) -> None:
    run = failing(kind)
    assert run.returncode == code
    assert run.stdout == ""
    assert run.stderr == "nmt: t.en:\\x1b[1m 3 lines, but t.de: 4\n"


def test_a_defect_of_ours_is_code_1_and_keeps_its_traceback() -> None:
    run = failing("defect")
    assert run.returncode == 1
    assert "Traceback (most recent call last)" in run.stderr
    assert "KeyError: 'key'" in run.stderr


def test_ctrl_c_is_one_line_and_code_130() -> None:
    run = failing("interrupt")
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "nmt: interrupted\n")


def test_a_stop_without_a_message_is_quiet() -> None:
    run = failing("quiet")
    assert (run.returncode, run.stdout, run.stderr) == (141, "", "")


@pytest.mark.parametrize(
    ("number", "code", "line"),
    [(signal.SIGINT, 130, b"nmt: interrupted\n"), (signal.SIGTERM, 143, b"nmt: terminated\n")],
)
def test_a_signal_to_a_running_command_ends_it_in_order(
    number: signal.Signals, code: int, line: bytes, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arguments = [sys.executable, "-c", FAILING, "fail", "write"]
    program = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with program:
        writing = -1
        # The other end can be opened once the program reads, so that the signal meets it at work.
        while program.poll() is None:
            with contextlib.suppress(OSError):
                writing = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
                program.send_signal(number)
                break
            time.sleep(0.02)
        _, said = program.communicate(timeout=60)
    assert (program.returncode, said) == (code, line)
    os.close(writing)
    assert list(tmp_path.iterdir()) == [pipe]


LONG = "x" * 300
PREPARE = ["prepare", "--source-lang", "en", "--target-lang", "de"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([*PREPARE, "--source", "NAME", "--target", "b"], 3),
        ([*PREPARE, "--source", "a", "--target", "b", "--out", "NAME/x"], 2),
        (["bpe", "NAME", "--vocab-size", "300"], 3),
        (["train", "NAME", "--preset", "tiny", "--run", "r"], 3),
        (["translate", "a", "--model", "NAME"], 4),
        (["score", "--reference", "NAME", "a"], 3),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
@pytest.mark.parametrize("name", [LONG, "loop"])
def test_a_name_that_leads_nowhere_is_one_line_with_its_code(
    arguments: list[str], code: int, name: str, tmp_path: Path
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for file in ("a", "b"):
        (tmp_path / file).write_text(f"{file}\n")
    before = sorted(tmp_path.iterdir())
    typed = [argument.replace("NAME", name) for argument in arguments]
    run = subprocess.run(
        [PROGRAM, *typed], cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ | {"LC_ALL": "C"}
    )
    assert (run.returncode, run.stdout) == (code, "")
    assert run.stderr.startswith("nmt: ")
    assert run.stderr.count("\n") == 1
    assert name in run.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_name_too_long_for_any_use_is_the_users_mistake(tmp_path: Path) -> None:
    run = subprocess.run(
        [PROGRAM, "average", LONG], cwd=tmp_path, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert run.returncode == 2
    assert run.stderr == f"nmt: {LONG}/model.json: cannot be used (File name too long)\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["translate", "--help"], ["--version"], ["prepare", "--list"]])
def test_a_full_disk_under_stdout_is_one_line_and_code_6(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
    assert run.stderr == b"nmt: standard output: cannot be written (No space left on device)\n"
    assert run.returncode == 6
