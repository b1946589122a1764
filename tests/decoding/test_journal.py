"""An output that was stopped, and goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nmt_cli.decoding import journal as journal_module
from nmt_cli.decoding.journal import begin, journal_folder, journaled
from nmt_cli.decoding.streaming import Blocks, Tally, chunks_of_bytes
from nmt_cli.errors import DataError, UsageError

TEXT = b"".join(b"line %d\n" % n for n in range(40)) + b"last"
TERMS = {"model": "abc", "search.beam_size": 4}


class Stopped(BaseException):
    """What kills the work of a test."""


def blocks_of(data: bytes, *, size: int) -> Blocks:
    some = iter([data[i : i + size] for i in range(0, len(data), size)])
    return Blocks("text.en", lambda: next(some, b""), lambda: True)


def copy(
    target: Path, *, data: bytes = TEXT, size: int = 50, terms: dict[str, object] = TERMS, stop: int = 99
) -> Tally:
    """Write the input in capitals to `target`, by chunks of 7 lines, and stop after `stop` chunks."""
    tally = Tally()
    begin(target, going_on=True)
    with journaled(target, terms, blocks_of(data, size=size), tally) as (journal, rest):
        for n, chunk in enumerate(chunks_of_bytes(rest, chunk_lines=7)):
            if n == stop:
                raise Stopped
            tally.read(chunk)
            tally.lines += len(chunk.splitlines())
            tally.cut += 1
            journal.write(chunk.upper(), tally)
    return tally


@pytest.fixture(autouse=True)
def save_every_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "SECONDS_BETWEEN_SAVES", 0)


@pytest.mark.parametrize("size", [1, 50, 1000])
@pytest.mark.parametrize("stops", [[0], [1], [2, 1, 1], [5, 0, 0]])
def test_stopped_and_continued_gives_the_bytes_and_counts_of_one_run(
    tmp_path: Path, stops: list[int], size: int
) -> None:
    target = tmp_path / "text.de"
    for stop in stops:
        with pytest.raises(Stopped):
            copy(target, size=size, stop=stop)
        assert not target.exists()
    tally = copy(target, size=size)
    assert target.read_bytes() == TEXT.upper()
    assert (tally.lines, tally.cut, tally.input_bytes) == (41, 6, len(TEXT))
    assert [path.name for path in tmp_path.iterdir()] == ["text.de"]


def test_what_was_written_after_the_last_save_is_written_again(tmp_path: Path) -> None:
    target = tmp_path / "text.de"
    with pytest.raises(Stopped):
        copy(target, stop=3)
    with (journal_folder(target) / "output").open("ab") as stream:
        stream.write(b"half a li")
    copy(target)
    assert target.read_bytes() == TEXT.upper()


def test_a_file_that_was_there_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "text.de"
    target.write_bytes(b"old")
    with pytest.raises(Stopped):
        copy(target, stop=3)
    assert target.read_bytes() == b"old"
    copy(target)
    assert target.read_bytes() == TEXT.upper()


def test_work_that_was_left_is_not_begun_anew_unasked(tmp_path: Path) -> None:
    target = tmp_path / "text.de"
    begin(target, going_on=False)
    with pytest.raises(Stopped):
        copy(target, stop=3)
    with pytest.raises(UsageError, match=r"text\.de: was left unfinished; give --continue"):
        begin(target, going_on=False)
    begin(target, going_on=True)


def test_a_journal_whose_output_has_its_name_already_is_taken_away(tmp_path: Path) -> None:
    target = tmp_path / "text.de"
    with pytest.raises(Stopped):
        copy(target, stop=3)
    (journal_folder(target) / "output").rename(target)
    begin(target, going_on=False)
    assert not journal_folder(target).exists()


def test_other_terms_are_refused_with_both_values(tmp_path: Path) -> None:
    target = tmp_path / "text.de"
    with pytest.raises(Stopped):
        copy(target, stop=3)
    with pytest.raises(UsageError, match=r"search\.beam_size was 4, now 5; give the same") as refusal:
        copy(target, terms=TERMS | {"search.beam_size": 5})
    assert "model" not in str(refusal.value)
    copy(target)


@pytest.mark.parametrize("change", [lambda text: b"L" + text[1:], lambda text: text[:100]], ids=["another", "shorter"])
def test_another_input_is_refused_with_both_digests(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    target = tmp_path / "text.de"
    with pytest.raises(Stopped):
        copy(target, stop=3)
    with pytest.raises(DataError, match=r"text\.en: the first \d+ bytes have sha256 \w{12}…, but the \d+ that"):
        copy(target, data=change(TEXT))
    copy(target)
    assert target.read_bytes() == TEXT.upper()


def test_a_journal_that_was_edited_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "text.de"
    with pytest.raises(Stopped):
        copy(target, stop=3)
    path = journal_folder(target) / "journal.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"lines": 7}), encoding="utf-8")
    with pytest.raises(DataError, match=r"journal\.json: damaged or edited; remove"):
        copy(target)


def test_an_output_that_lost_bytes_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "text.de"
    with pytest.raises(Stopped):
        copy(target, stop=3)
    (journal_folder(target) / "output").write_bytes(b"LINE 0\n")
    with pytest.raises(DataError, match="shorter than its journal says"):
        copy(target)


def test_two_cannot_write_one_output(tmp_path: Path) -> None:
    target = tmp_path / "text.de"
    with pytest.raises(Stopped):
        copy(target, stop=3)
    first = journaled(target, TERMS, blocks_of(TEXT, size=50), Tally())
    with first, pytest.raises(UsageError, match="another process is writing there"):
        copy(target)
