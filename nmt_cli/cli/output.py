"""The two streams: results on stdout, everything else on stderr; both UTF-8 whatever the locale."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

from nmt_cli.errors import MachineError, StoppedError
from nmt_cli.files import as_line, visible


def print_result(line: str) -> None:
    """Write one line of the result to stdout, at once.

    Raises:
        StoppedError: (141) when the reader has gone.
        MachineError: stdout cannot be written.
    """
    write_result(as_line(line).encode("utf-8", errors="replace") + b"\n")
    flush_results()


def write_result(data: bytes) -> None:
    """Write bytes of the result to stdout, buffered."""
    with _writing_results():
        sys.stdout.buffer.write(data)


def flush_results() -> None:
    """Hand to the reader what has been written so far."""
    with _writing_results():
        sys.stdout.buffer.flush()


@contextlib.contextmanager
def _writing_results() -> Iterator[None]:
    # A closed standard output is None, whatever its type says.
    if getattr(sys, "stdout", None) is None:
        raise MachineError("standard output: closed; open it, or send it to a file")
    try:
        yield
    except OSError as error:
        results_are_lost(error)


def results_are_lost(error: OSError) -> NoReturn:
    """Raise what follows from an error of writing to stdout.

    Raises:
        StoppedError: (141) when the reader has gone.
        MachineError: anything else.
    """
    # The interpreter flushes stdout once more at exit; let that go nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        raise StoppedError("", exit_code=141) from None
    raise MachineError(f"standard output: cannot be written ({error.strerror or error})") from None


def announce(line: str) -> None:
    """Write one line for people to stderr, control characters escaped; where nobody can read it, it is lost."""
    with contextlib.suppress(OSError, AttributeError):  # a closed standard error is None
        sys.stderr.buffer.write(visible(line).encode("utf-8", errors="replace") + b"\n")
        sys.stderr.buffer.flush()
