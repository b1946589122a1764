"""The two streams: results on stdout, everything else on stderr; both UTF-8 whatever the locale."""

from __future__ import annotations

import os
import sys

from nmt_cli.errors import StoppedError
from nmt_cli.files import as_line, visible


def print_result(line: str) -> None:
    """Write one line of the result to stdout, at once.

    Raises:
        StoppedError: (141) when the reader has gone.
    """
    write_result(as_line(line).encode("utf-8", errors="replace") + b"\n")
    flush_results()


def write_result(data: bytes) -> None:
    """Write bytes of the result to stdout, buffered."""
    try:
        sys.stdout.buffer.write(data)
    except BrokenPipeError:
        _reader_gone()


def flush_results() -> None:
    """Hand to the reader what has been written so far."""
    try:
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _reader_gone()


def _reader_gone() -> None:
    # The interpreter flushes stdout once more at exit; let that go nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise StoppedError("", exit_code=141)


def announce(line: str) -> None:
    """Write one line for people to stderr, control characters escaped."""
    sys.stderr.buffer.write(visible(line).encode("utf-8", errors="replace") + b"\n")
    sys.stderr.buffer.flush()
