"""Where the answers of `nmt translate` go, and what a line of them is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.cli.output import flush_results, write_result

if TYPE_CHECKING:
    from nmt_cli.decoding.streaming import Blocks, Tally
    from nmt_cli.decoding.translation import Translation


def checked_output(output: Path, source: Path | None, *, going_on: bool) -> Path:
    """Return the file to write, links followed.

    Raises:
        UsageError: it is no plain file, or the input itself, or was left unfinished and is not to go on.
    """
    from nmt_cli.decoding.journal import begin
    from nmt_cli.errors import UsageError
    from nmt_cli.files import real_path, writing_to

    with writing_to(output):
        is_there = output.exists()
    if is_there and not output.is_file():
        raise UsageError(f"{output}: {'a folder' if output.is_dir() else 'no plain file'}; name a file, or use stdout")
    if source is not None and is_there and source.exists() and output.samefile(source):
        raise UsageError(f"{output}: is the input too; name another file")
    target = real_path(output)
    begin(target, going_on=going_on)
    return target


@contextlib.contextmanager
def answers_to(
    target: Path | None, terms: Mapping[str, object], blocks: Blocks, tally: Tally
) -> Iterator[tuple[Blocks, Callable[[bytes], None]]]:
    """Give the input that is to be answered and what writes answers: to stdout at once, or to a file by a journal."""
    from nmt_cli.decoding.journal import journaled

    if target is None:

        def to_stdout(data: bytes) -> None:
            write_result(data)
            flush_results()

        yield blocks, to_stdout
        return
    with journaled(target, terms, blocks, tally) as (journal, rest):
        yield rest, lambda data: journal.write(data, tally)


def output_lines(translations: Sequence[Translation], *, first: int, as_json: bool) -> bytes:
    """Return the lines for inputs that are numbered from `first`."""
    return b"".join(_line(found, number, as_json=as_json) for number, found in enumerate(translations, start=first))


def _line(translation: Translation, number: int, *, as_json: bool) -> bytes:
    """Return the line for an input: its text, or a record of all candidates."""
    import dataclasses
    import json

    if not as_json:
        return translation.text.encode("utf-8") + b"\n"
    candidates = [
        {name: value for name, value in dataclasses.asdict(candidate).items() if value is not None}
        for candidate in translation.candidates
    ]
    record: dict[str, object] = {
        "line": number,
        "source_tokens": translation.source_length,
        "parts": translation.n_parts,
    }
    if translation.source_pieces is not None:
        record |= {"source_pieces": translation.source_pieces}
    record |= {"translations": candidates}
    return json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n"
