"""Standard input, as bytes and as lines."""

from __future__ import annotations

from typing import BinaryIO


def lines_of_stdin() -> list[str]:
    """Return the lines of standard input, strictly.

    Raises:
        DataError: unreadable, or a byte that is not UTF-8 (with line and column).
    """
    from nmt_cli.errors import DataError
    from nmt_cli.files import read_records

    lines = []
    try:
        for number, record in enumerate(read_records(stdin()), start=1):
            if record.bad_column is not None:
                raise DataError(f"standard input:{number}:{record.bad_column}: not UTF-8; convert the text first")
            lines.append(record.text)
    except OSError as error:
        raise DataError(f"standard input: cannot be read ({error.strerror or error})") from None
    return lines


def stdin() -> BinaryIO:
    """Return the bytes of standard input.

    Raises:
        DataError: it is closed.
    """
    import sys

    from nmt_cli.errors import DataError

    # A closed standard input is None, whatever its type says.
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise DataError("standard input: closed; name a file of translations")
    return stream
