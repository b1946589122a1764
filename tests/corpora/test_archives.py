"""Archives that are not what they should be: nothing is read from them, nothing is written anywhere."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from nmt_cli.corpora.archives import open_member
from nmt_cli.corpora.sgm import segments
from nmt_cli.errors import DataError
from nmt_cli.files import read_records

TEXT = "".join(f"sentence number {n}, and what it says\n" for n in range(2000)).encode()


def tar_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w" if path.suffix == ".tar" else "w:gz") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def plain(name: str, data: bytes = TEXT) -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), data


def special(name: str, kind: bytes, leads_to: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, leads_to
    return info, b""


def read(archive: Path, member: str | None) -> bytes:
    with open_member(archive, member) as stream:
        return stream.read()


@pytest.mark.parametrize("name", ["a.tgz", "a.tar", "a.tar.gz"])
def test_a_member_is_found_by_its_name_among_others(tmp_path: Path, name: str) -> None:
    archive = tar_of(tmp_path / name, plain("x/other", b"no"), plain("./x/text.en"), plain("x/text.en.bak", b"no"))
    assert read(archive, "x/text.en") == TEXT
    with pytest.raises(DataError, match=r"holds no text\.en"):
        read(archive, "text.en")


def test_a_packed_text_in_a_tar_and_a_text_in_a_zip_and_a_file_alone_are_unpacked(tmp_path: Path) -> None:
    assert read(tar_of(tmp_path / "a.tar", plain("t.gz", gzip.compress(TEXT))), "t.gz") == TEXT
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("deu.txt", TEXT)
    assert read(tmp_path / "a.zip", "deu.txt") == TEXT
    (tmp_path / "t.en.gz").write_bytes(gzip.compress(TEXT))
    assert read(tmp_path / "t.en.gz", None) == TEXT


def test_names_that_lead_out_of_the_archive_leave_nothing_outside(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    evil = [plain("../outside"), plain(str(tmp_path / "absolute")), special("link", tarfile.SYMTYPE, "..")]
    archive = tar_of(inside / "a.tgz", *evil, plain("link/through"), plain("t"))
    assert read(archive, "t") == TEXT
    assert sorted(tmp_path.rglob("*")) == [inside, archive]


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_a_member_that_is_no_plain_file_is_refused(tmp_path: Path, kind: bytes) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"of this machine")
    archive = tar_of(tmp_path / "a.tgz", plain("real"), special("t", kind, str(secret)))
    with pytest.raises(DataError, match="is no plain file there"):
        read(archive, "t")


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("t")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr(info, "/etc/passwd")
    with pytest.raises(DataError, match="is no plain file there"):
        read(tmp_path / "a.zip", "t")


@pytest.mark.parametrize("name", ["a.tgz", "a.zip", "inner.tar", "t.gz"])
def test_what_grows_out_of_proportion_is_stopped(tmp_path: Path, name: str) -> None:
    zeros, archive = bytes(64 * 2**20), tmp_path / name
    if name == "a.tgz":
        tar_of(archive, plain("before", zeros), plain("t"))
    elif name == "inner.tar":
        tar_of(archive, plain("t.gz", gzip.compress(zeros)))
    elif name == "t.gz":
        archive.write_bytes(gzip.compress(zeros))
    else:
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("t", zeros)
    with pytest.raises(DataError, match="no text does"):
        read(archive, {"t.gz": None, "inner.tar": "t.gz"}.get(name, "t"))


@pytest.mark.parametrize("kept", [0.0, 0.02, 0.5, 0.9])
@pytest.mark.parametrize("name", ["a.tgz", "a.tar", "a.zip", "t.gz"])
def test_a_cut_off_archive_is_refused_every_time(tmp_path: Path, name: str, kept: float) -> None:
    archive = damaged_archive(tmp_path, name)
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(kept * len(whole))])
    for _ in range(2):
        with pytest.raises(DataError, match=r"damaged, or not of the kind|holds no"):
            read(archive, None if name == "t.gz" else "t")


@pytest.mark.parametrize("name", ["a.tgz", "a.zip", "t.gz"])
def test_one_flipped_bit_in_the_packed_text_is_noticed(tmp_path: Path, name: str) -> None:
    archive = damaged_archive(tmp_path, name)
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 4
    archive.write_bytes(data)
    with pytest.raises(DataError, match="damaged"):
        read(archive, None if name == "t.gz" else "t")


def damaged_archive(folder: Path, name: str) -> Path:
    """Return a whole archive that the test is to damage; its only text fills nearly all of it."""
    archive = folder / name
    if name == "t.gz":
        archive.write_bytes(gzip.compress(TEXT))
    elif name == "a.zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("t", TEXT)
    else:
        tar_of(archive, plain("t", TEXT))
    return archive


def test_segments_are_read_as_the_shared_tasks_write_them() -> None:
    sgm = (
        b'<srcset setid="newstest" srclang="any">\n<doc sysid="ref" docid="a">\n<p>\n'
        b'<seg id="1"> S&amp;P &lt;b&gt; A & B &quot;x&quot; </seg>\n<SEG ID="2">&amp;lt;</SEG>\n<seg id="3"></seg>\n'
        b"</p>\n</doc>\n</srcset>\n"
    )
    texts = [record.text for record in segments(read_records(io.BytesIO(sgm)), name="t.sgm")]
    assert texts == ['S&P <b> A & B "x"', "&lt;", ""]


@pytest.mark.parametrize("line", ['<seg id="1">cut', '<seg id="1">a</seg> <seg id="2">b</seg>'])
def test_segments_that_do_not_keep_to_their_lines_are_refused_with_the_line(line: str) -> None:
    with pytest.raises(DataError, match=r"t\.sgm:2: "):
        list(segments(read_records(io.BytesIO(f"<doc>\n{line}\n".encode())), name="t.sgm"))
