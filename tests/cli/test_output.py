"""Results on stdout, the rest on stderr; UTF-8 whatever the locale; a reader who leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.cli.output import announce, print_result, write_result

ON_LINUX = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
LOCALES = [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "cp1252"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


def python(source: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", source], capture_output=True, check=False, env=os.environ | environment
    )


@pytest.mark.parametrize("environment", LOCALES)
def test_both_streams_are_utf_8_whatever_the_locale(environment: dict[str, str]) -> None:
    # Escaped, because the locale would keep the interpreter from reading its own command line.
    run = python(
        "from nmt_cli.cli.output import announce, print_result\n"
        f"print_result({'ł 漢 🙂 ё'!a})\nannounce({'über 漢'!a})",
        **environment,
    )
    assert run.stdout == "ł 漢 🙂 ё\n".encode()
    assert run.stderr == "über 漢\n".encode()


def test_a_result_is_one_line_without_tab(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    print_result("a\tb\r\nc\u2028d")
    assert capfdbinary.readouterr().out == "a b  c\u2028d\n".encode()


def test_half_a_surrogate_pair_does_not_stop_the_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    print_result("x\ud83dy")
    announce("x\ud83dy")
    out, err = capfdbinary.readouterr()
    assert out == b"x?y\n"
    assert err == b"x\\ud83dy\n"


def test_control_characters_do_not_reach_the_terminal_through_messages(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    announce("file \x1b]0;title\x07 \u202eevil\nsecond")
    out, err = capfdbinary.readouterr()
    assert out == b""
    assert err == b"file \\x1b]0;title\\x07 \\u202eevil\\nsecond\n"


def test_bytes_of_a_result_are_written_as_they_are(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_result(b"\xff\x00\n")
    print_result("next")
    assert capfdbinary.readouterr().out == b"\xff\x00\nnext\n"


def test_a_result_is_handed_over_at_once() -> None:
    source = (
        "import sys\nfrom nmt_cli.cli.output import print_result\n"
        "for line in sys.stdin.buffer:\n    print_result('answer to ' + line.decode().strip())"
    )
    with subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for word in [b"one", b"two", b"three"]:
            program.stdin.write(word + b"\n")
            program.stdin.flush()
            assert program.stdout.readline() == b"answer to " + word + b"\n"


@pytest.mark.parametrize("writing", ["print_result('x' * 70000)", "write_result(b'x' * 70000); flush_results()"])
def test_a_reader_who_left_ends_the_program_quietly_with_141(writing: str) -> None:
    source = (
        "import sys\nfrom nmt_cli.cli.output import flush_results, print_result, write_result\n"
        "from nmt_cli.errors import StoppedError\n"
        f"try:\n    {writing}\nexcept StoppedError as stop:\n    assert not str(stop); sys.exit(stop.exit_code)"
    )
    read_end, write_end = os.pipe()
    os.close(read_end)
    run = subprocess.run([sys.executable, "-c", source], stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert run.returncode == 141
    assert run.stderr == b""


@ON_LINUX
@pytest.mark.parametrize("writing", ["print_result('x')", "print_result('x' * 70000)", "write_result(b'x' * 70000)"])
def test_a_full_disk_under_stdout_is_the_machines_error_and_nothing_more(writing: str) -> None:
    source = (
        "import sys\nfrom nmt_cli.cli.output import print_result, write_result\n"
        "from nmt_cli.errors import MachineError\n"
        f"try:\n    {writing}\nexcept MachineError as error:\n    sys.exit(str(error))"
    )
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run([sys.executable, "-c", source], stdout=full, stderr=subprocess.PIPE, check=False)
    assert run.stderr == b"standard output: cannot be written (No space left on device)\n"
    assert run.returncode == 1


def test_a_closed_stdout_is_told() -> None:
    source = (
        "import sys\nfrom nmt_cli.cli.output import print_result\nfrom nmt_cli.errors import MachineError\n"
        "try:\n    print_result('x')\nexcept MachineError as error:\n    sys.exit(str(error))"
    )
    run = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", source], stderr=subprocess.PIPE, check=False
    )
    assert run.stderr == b"standard output: closed; open it, or send it to a file\n"


@pytest.mark.parametrize("to", [">&-", pytest.param(">/dev/full", marks=ON_LINUX)])
def test_messages_that_nobody_can_read_stop_nothing(to: str) -> None:
    source = "from nmt_cli.cli.output import announce, print_result\nannounce('lost')\nprint_result('kept')"
    run = subprocess.run(
        ["sh", "-c", f'exec "$@" 2{to}', "sh", sys.executable, "-c", source], stdout=subprocess.PIPE, check=False
    )
    assert (run.stdout, run.returncode) == (b"kept\n", 0)
