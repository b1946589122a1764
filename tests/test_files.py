"""The line contract and safe writing."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli import files
from nmt_cli.errors import DataError, MachineError, ModelError, UsageError
from nmt_cli.files import (
    as_line,
    atomic_file,
    new_directory,
    read_json,
    read_lines,
    read_records,
    real_path,
    require_folder,
    sha256_of_file,
    sha256_of_json,
    visible,
    write_json,
    write_lines,
)

# User report 1: ten records, whatever else in them looks like the end of a line.
TEN_RECORDS = (
    b"a b\nc\xe2\x80\xa8d\ne\xc2\x85f\ng\x0bh\x0ci\nj\rk\nl\x1cm\x1dn\x1eo\n\np\xe2\x80\xa9q\r\n\xef\xbb\xbfr\ns"
)
TEN_TEXTS = ["a b", "c\u2028d", "e\x85f", "g\x0bh\x0ci", "j\rk", "l\x1cm\x1dn\x1eo", "", "p\u2029q", "r", "s"]


def texts_of(data: bytes) -> list[str]:
    return [record.text for record in read_records(io.BytesIO(data))]


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def fail_after(_written: int) -> None:
    raise ZeroDivisionError


class TestRecords:
    def test_unicode_line_separators_make_no_extra_lines(self) -> None:
        assert texts_of(TEN_RECORDS) == TEN_TEXTS
        assert len(TEN_RECORDS.decode().splitlines()) == 19

    @pytest.mark.parametrize(
        ("data", "texts"),
        [
            (b"", []),
            (b"\n", [""]),
            (b"a", ["a"]),
            (b"a\n", ["a"]),
            (b"a\r\nb\r\n", ["a", "b"]),
            (b"a\r", ["a\r"]),
            (b"a\r\r\n", ["a\r"]),
            (b"\r\n\n", ["", ""]),
            (b"\xef\xbb\xbfa\n", ["a"]),
            (b"a\xef\xbb\xbfb\n", ["a\ufeffb"]),
            (b"nul\x00in\n", ["nul\x00in"]),
        ],
    )
    def test_a_record_ends_at_lf_only_and_crlf_is_read_as_lf(self, data: bytes, texts: list[str]) -> None:
        assert texts_of(data) == texts

    @pytest.mark.parametrize(
        ("line", "column", "text"),
        [
            (b"caf\xe9\n", 4, "caf\ufffd"),
            (b"\xff\n", 1, "\ufffd"),
            ("äö".encode() + b"\x80", 5, "äö\ufffd"),
            (b"cut \xe2\x80\n", 5, "cut \ufffd"),
            (b"\xed\xa0\x80\n", 1, "\ufffd\ufffd\ufffd"),
        ],
    )
    def test_a_bad_byte_reads_as_u_fffd_and_its_column_is_counted_in_bytes(
        self, line: bytes, column: int, text: str
    ) -> None:
        (record,) = read_records(io.BytesIO(line))
        assert record == (text, column)

    def test_a_good_line_after_a_bad_one_has_no_column(self) -> None:
        assert [record.bad_column for record in read_records(io.BytesIO(b"\xff\nfine\n"))] == [1, None]

    def test_a_record_is_given_before_the_next_one_arrives(self) -> None:
        read_end, write_end = os.pipe()
        with os.fdopen(read_end, "rb") as reading, os.fdopen(write_end, "wb", buffering=0) as writing:
            records = read_records(reading)
            for word in ["one", "two"]:
                writing.write(f"{word}\n".encode())
                with ThreadPoolExecutor(1) as pool:
                    assert pool.submit(next, records).result(timeout=20) == (word, None)


class TestLines:
    def test_strict_reading_names_file_line_and_column_of_a_bad_byte(self, tmp_path: Path) -> None:
        (tmp_path / "t").write_bytes(b"fine\nna\xefve\n")
        with pytest.raises(DataError) as caught:
            read_lines(tmp_path / "t")
        assert str(caught.value).startswith(f"{tmp_path / 't'}:2:3: not UTF-8")

    @given(st.lists(st.text(st.characters(exclude_characters="\n\r\t", exclude_categories=["Cs"]))))
    def test_lines_written_are_the_lines_read(self, lines: list[str]) -> None:
        # A byte order mark at the start of a line is no text.
        with tempfile.TemporaryDirectory() as folder:
            write_lines(Path(folder) / "t", lines)
            assert read_lines(Path(folder) / "t") == [line.removeprefix("\ufeff") for line in lines]

    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
    def test_any_texts_written_are_as_many_lines(self, texts: list[str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_lines(Path(folder) / "t", texts)
            assert (Path(folder) / "t").read_bytes().count(b"\n") == len(texts) == len(read_lines(Path(folder) / "t"))

    def test_lines_end_in_lf_and_hold_no_tab(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "t", ["a\tb", "ü\r\nx", ""])
        assert (tmp_path / "t").read_bytes() == b"a b\n\xc3\xbc  x\n\n"

    def test_a_text_on_one_line_keeps_its_length(self) -> None:
        assert as_line("a\r\n\tb") == "a   b"


class TestVisible:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("plain äß漢🙂", "plain äß漢🙂"),
            ("\x1b[31mred", "\\x1b[31mred"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("x\u202ey\u2066z", "x\\u202ey\\u2066z"),
            ("l\u2028p\u2029n\x85", "l\\u2028p\\u2029n\\x85"),
            ("\ud800", "\\ud800"),
            ("zero\u200dwidth joiner", "zero\u200dwidth joiner"),
        ],
    )
    def test_control_and_bidirectional_characters_are_escaped(self, text: str, shown: str) -> None:
        assert visible(text) == shown

    @given(st.text())
    def test_what_is_shown_is_always_one_printable_line(self, text: str) -> None:
        assert len(visible(text).splitlines()) <= 1
        visible(text).encode("utf-8")


class TestDigests:
    def test_the_digest_of_a_file_is_that_of_its_bytes(self, tmp_path: Path) -> None:
        (tmp_path / "abc").write_bytes(b"abc")
        # FIPS 180-2, appendix B.1.
        assert sha256_of_file(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    def test_the_digest_of_a_value_ignores_the_order_of_keys_and_nothing_else(self) -> None:
        assert sha256_of_json({"b": [1, 2], "a": "ü"}) == hashlib.sha256('{"a":"ü","b":[1,2]}'.encode()).hexdigest()
        assert sha256_of_json({"a": "ü", "b": [1, 2]}) == sha256_of_json({"b": [1, 2], "a": "ü"})
        assert sha256_of_json({"b": [2, 1], "a": "ü"}) != sha256_of_json({"b": [1, 2], "a": "ü"})


class TestJson:
    def test_a_value_written_is_the_value_read(self, tmp_path: Path) -> None:
        value = {"name": "ü\u2028", "numbers": [1, 2.5, None, True], "inner": {}}
        write_json(tmp_path / "v.json", value)
        assert read_json(tmp_path / "v.json") == value
        assert (tmp_path / "v.json").read_bytes().endswith(b"}\n")

    @pytest.mark.parametrize(
        ("data", "said"), [(b"{", "not valid JSON"), (b"\xff", "not valid JSON"), (b"[]", "found list"), (b"", "JSON")]
    )
    def test_anything_but_an_object_is_refused_by_name(self, tmp_path: Path, data: bytes, said: str) -> None:
        (tmp_path / "v.json").write_bytes(data)
        with pytest.raises(ModelError, match=said) as caught:
            read_json(tmp_path / "v.json", error=ModelError)
        assert str(tmp_path / "v.json") in str(caught.value)

    def test_a_missing_file_is_refused_by_name(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"v\.json: cannot be read"):
            read_json(tmp_path / "v.json")


class TestAtomicFile:
    def test_the_file_appears_only_when_the_block_is_done(self, tmp_path: Path) -> None:
        with atomic_file(tmp_path / "f") as stream:
            stream.write(b"new")
            assert not (tmp_path / "f").exists()
        assert (tmp_path / "f").read_bytes() == b"new"
        assert names_in(tmp_path) == ["f"]

    def test_a_failing_block_leaves_the_old_file_and_nothing_else(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"old")
        with pytest.raises(ZeroDivisionError), atomic_file(tmp_path / "f") as stream:
            fail_after(stream.write(b"half"))
        assert (tmp_path / "f").read_bytes() == b"old"
        assert names_in(tmp_path) == ["f"]

    @pytest.mark.skipif(sys.platform != "linux", reason="other systems tell the umask only to who changes it")
    def test_a_thread_that_writes_does_not_change_the_umask_of_others(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("changed"))
        write_lines(tmp_path / "one", ["text"])
        assert (tmp_path / "one").read_text() == "text\n"

    def test_the_mode_is_the_one_that_the_umask_gives(self, tmp_path: Path) -> None:
        before = os.umask(0o027)
        try:
            write_lines(tmp_path / "f", [])
        finally:
            os.umask(before)
        assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640

    @pytest.mark.parametrize("place", ["missing/f", "file/f", "folder"])
    def test_a_place_that_cannot_be_written_is_the_users_to_mend(self, tmp_path: Path, place: str) -> None:
        (tmp_path / "file").touch()
        (tmp_path / "folder").mkdir()
        with pytest.raises(UsageError, match="cannot be written") as caught:
            write_lines(tmp_path / place, ["x"])
        assert str(caught.value).startswith(str(tmp_path / place))
        assert names_in(tmp_path) == ["file", "folder"]

    def test_a_file_missing_inside_the_block_is_not_blamed_on_the_target(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="elsewhere"), atomic_file(tmp_path / "f"):
            (tmp_path / "elsewhere").read_bytes()
        assert names_in(tmp_path) == []


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from nmt_cli import files, model_folder
from nmt_cli.errors import MachineError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
target = Path(sys.argv[2])
try:
    match sys.argv[1]:
        case "lines":
            files.write_lines(target, ["x" * 50_000])
        case "array":
            with files.new_directory(target, manifest="m.json", kind="k") as scratch:
                np.save(scratch / "a.npy", np.zeros(10_000))
        case "text":
            with files.new_directory(target, manifest="m.json", kind="k") as scratch:
                (scratch / "t").write_bytes(b"x" * 50_000)
        case "tensors":
            with files.new_directory(target, manifest="m.json", kind="k") as scratch:
                model_folder.write_tensors(scratch / "w.safetensors", {"w": np.zeros(10_000)})
except MachineError as error:
    print(error)
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize("what", ["lines", "array", "text", "tensors"])
def test_a_full_disk_is_one_line_with_code_6_and_leaves_nothing(tmp_path: Path, what: str) -> None:
    """A limit on the size of files stands for the full disk; the operating system refuses the write."""
    arguments = [sys.executable, "-c", FULL_DISK, what, str(tmp_path / "target")]
    run = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert run.returncode == 6, run.stderr
    assert "target" in run.stdout
    assert "cannot be written" in run.stdout
    assert run.stdout.count("\n") == 1
    assert names_in(tmp_path) == []


class TestNewDirectory:
    MANIFEST = "m.json"

    def write(self, target: Path, content: str, *, kind: str = "corpus", force: bool = False) -> None:
        with new_directory(target, manifest=self.MANIFEST, kind=kind, force=force) as scratch:
            (scratch / "content").write_text(content, encoding="utf-8")
            write_json(scratch / self.MANIFEST, {"kind": kind})

    def content(self, target: Path) -> str:
        return (target / "content").read_text(encoding="utf-8")

    def test_the_folder_appears_only_when_the_block_is_done(self, tmp_path: Path) -> None:
        target = tmp_path / "a" / "b"
        with new_directory(target, manifest=self.MANIFEST, kind="corpus") as scratch:
            assert scratch.parent == target.parent
            assert scratch.name.startswith(".")
            assert not target.exists()
        assert target.is_dir()
        assert names_in(target.parent) == ["b"]

    def test_a_failing_block_leaves_nothing(self, tmp_path: Path) -> None:
        with (
            pytest.raises(ZeroDivisionError),
            new_directory(tmp_path / "t", manifest=self.MANIFEST, kind="corpus") as scratch,
        ):
            fail_after((scratch / "half").write_bytes(b"x"))
        assert names_in(tmp_path) == []

    def test_an_empty_folder_may_be_taken(self, tmp_path: Path) -> None:
        (tmp_path / "t").mkdir()
        self.write(tmp_path / "t", "new")
        assert self.content(tmp_path / "t") == "new"
        assert names_in(tmp_path) == ["t"]

    def test_a_complete_folder_of_the_same_kind_is_replaced_only_with_force(self, tmp_path: Path) -> None:
        self.write(tmp_path / "t", "old")
        with pytest.raises(UsageError, match="give --force"):
            self.write(tmp_path / "t", "new")
        assert self.content(tmp_path / "t") == "old"
        self.write(tmp_path / "t", "new", force=True)
        assert self.content(tmp_path / "t") == "new"
        assert names_in(tmp_path) == ["t"]

    @pytest.mark.parametrize("existing", ["other kind", "no manifest", "damaged manifest", "file", "dangling link"])
    def test_anything_else_is_never_replaced_not_even_with_force(self, tmp_path: Path, existing: str) -> None:
        target = tmp_path / "t"
        match existing:
            case "other kind":
                self.write(target, "mine", kind="model")
            case "no manifest":
                target.mkdir()
                (target / "thesis.txt").touch()
            case "damaged manifest":
                target.mkdir()
                (target / self.MANIFEST).write_text("{", encoding="utf-8")
            case "file":
                target.touch()
            case _:
                target.symlink_to(tmp_path / "gone")
        with pytest.raises(UsageError, match=str(target)):
            self.write(target, "new", force=True)
        assert names_in(tmp_path) == ["t"]
        assert not (target / "content").exists() or self.content(target) == "mine"

    def test_a_failing_block_leaves_the_old_folder(self, tmp_path: Path) -> None:
        self.write(tmp_path / "t", "old")
        with (
            pytest.raises(ZeroDivisionError),
            new_directory(tmp_path / "t", manifest=self.MANIFEST, kind="corpus", force=True),
        ):
            fail_after(0)
        assert self.content(tmp_path / "t") == "old"
        assert names_in(tmp_path) == ["t"]

    def test_a_swap_that_fails_half_way_brings_the_old_folder_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.write(tmp_path / "t", "old")
        rename = Path.rename

        def refusing(self: Path, target: Path) -> Path:
            if target == tmp_path / "t" and self.parent == tmp_path:
                raise OSError(5, "Input/output error")
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", refusing)
        with pytest.raises(MachineError, match="Input/output error"):
            self.write(tmp_path / "t", "new", force=True)
        assert self.content(tmp_path / "t") == "old"
        assert names_in(tmp_path) == ["t"]

    def test_a_folder_below_a_file_is_the_users_to_mend(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(UsageError, match="cannot be written"):
            self.write(tmp_path / "file" / "t", "new")

    def test_a_file_missing_inside_the_block_is_not_blamed_on_the_target(self, tmp_path: Path) -> None:
        with (
            pytest.raises(FileNotFoundError, match="elsewhere"),
            new_directory(tmp_path / "t", manifest=self.MANIFEST, kind="corpus"),
        ):
            (tmp_path / "elsewhere").read_bytes()
        assert names_in(tmp_path) == []

    def test_everything_is_on_the_disk_before_the_folder_has_its_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        synced = list[tuple[str, bool]]()
        fsync = os.fsync

        def recording(descriptor: int) -> None:
            synced.append((Path(f"/proc/self/fd/{descriptor}").readlink().name, (tmp_path / "t").exists()))
            fsync(descriptor)

        if not Path("/proc/self/fd").exists():
            pytest.skip("needs /proc")
        monkeypatch.setattr(files.os, "fsync", recording)
        self.write(tmp_path / "t", "new")
        assert ("content", False) in synced
        assert (self.MANIFEST, False) in synced
        assert synced[-1] == (tmp_path.name, True)


@pytest.mark.parametrize("name", ["x" * 255, "ä" * 127, "x" + "漢" * 84])
def test_a_name_of_full_length_can_be_written(tmp_path: Path, name: str) -> None:
    with atomic_file(tmp_path / name) as stream:
        stream.write(b"1")
    with new_directory(tmp_path / "f" / name, manifest="m.json", kind="k") as scratch:
        (scratch / "m.json").write_text('{"kind": "k"}')
    with new_directory(tmp_path / "f" / name, manifest="m.json", kind="k", force=True) as scratch:
        (scratch / "new").touch()
    assert [path.name for path in (tmp_path / "f").iterdir()] == [name]
    assert (tmp_path / "f" / name / "new").exists()
    assert (tmp_path / name).read_bytes() == b"1"


def test_a_folder_is_required_and_what_is_there_instead_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    require_folder(tmp_path, wanted="a model", error=ModelError)
    for name, said in {
        "none": "no such folder; a model is expected",
        "file": "a file; a model is expected",
        "loop": "cannot be read (Too many levels of symbolic links)",
        "x" * 300: "cannot be read (File name too long)",
    }.items():
        with pytest.raises(ModelError) as refusal:
            require_folder(tmp_path / name, wanted="a model", error=ModelError)
        assert str(refusal.value) == f"{tmp_path / name}: {said}"
    assert real_path(tmp_path / "loop" / "x").name == "x"


def test_json_nested_too_deep_to_read_is_not_valid(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[" * 200_000)
    with pytest.raises(DataError, match="not valid JSON"):
        read_json(tmp_path / "a.json")
