"""Downloads from servers that behave and servers that do not, all of them on this machine."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nmt_cli.corpora.download import check, fetch
from nmt_cli.corpora.entries import Archive
from nmt_cli.corpora.transfer import Patience
from nmt_cli.errors import DataError, MachineError

BODY = bytes(range(256)) * 400
QUICK = Patience(timeout_s=0.3, pauses_s=(0.01, 0.01))


class Server(ThreadingHTTPServer):
    """Serves `body` under every name, as `manner` says; notes the range that each request asked for."""

    daemon_threads = True

    def __init__(self) -> None:  # noqa: D107 - as above
        super().__init__(("127.0.0.1", 0), Handler)
        self.body = BODY
        self.manner = "good"
        self.tag = '"1"'
        self.asked: list[str | None] = []
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/a.tgz"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        server, body = self.server, self.server.body
        wanted = self.headers.get("Range")
        server.asked.append(wanted)
        if server.manner == "missing":
            self.send_error(404)
            return
        if server.manner == "busy":
            self.send_error(503)
            return
        if server.manner == "leads away":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
            return
        if server.manner == "silent":
            server.ended.wait(5)
            return
        fits = self.headers.get("If-Range") in {None, server.tag}
        start = 0
        if wanted and fits and server.manner != "ignores ranges":
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            shown = start + 1 if server.manner == "another range" else start
            self.send_header("Content-Range", f"bytes {shown}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        if server.tag:
            self.send_header("ETag", server.tag)
        self.end_headers()
        self.send_body(body[start:])

    def send_body(self, data: bytes) -> None:
        server = self.server
        if server.manner in {"cuts off", "hangs"}:
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            if server.manner == "hangs":
                server.ended.wait(5)
        elif server.manner == "trickles":
            while not server.ended.wait(0.05):
                self.wfile.write(b"x")
        else:
            self.wfile.write(data)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.ended.set()
        server.shutdown()
        thread.join()


def archive_at(server: Server, **published: object) -> Archive:
    values = {"file": "a.tgz", "urls": [server.url], "known_from": "this test"} | published
    return Archive.model_validate(values)


def published(body: bytes = BODY) -> dict[str, object]:
    return {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}


def fetched(archive: Archive, cache: Path, said: list[str] | None = None) -> Path:
    path, digest = fetch(archive, cache, tell=(said if said is not None else []).append, patience=QUICK)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    return path


def kept_files(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("a.tgz*") if path.is_file())


def test_a_file_is_fetched_once_and_kept_under_its_digest(server: Server, tmp_path: Path) -> None:
    archive = archive_at(server, **published())
    paths = [fetched(archive, tmp_path) for _ in range(3)]
    assert paths == [tmp_path / "archives" / str(archive.sha256) / "a.tgz"] * 3
    assert paths[0].read_bytes() == BODY
    assert server.asked == [None]


@pytest.mark.parametrize("manner", ["cuts off", "hangs"])
def test_what_was_cut_off_is_continued_where_it_ended(server: Server, tmp_path: Path, manner: str) -> None:
    archive = archive_at(server, **published())
    server.manner = manner
    with pytest.raises(MachineError, match=r"a\.tgz: cannot be fetched: http.*--from"):
        fetched(archive, tmp_path)
    half, three_quarters = len(BODY) // 2, len(BODY) * 3 // 4
    assert server.asked == [None, f"bytes={half}-", f"bytes={three_quarters}-"]
    assert kept_files(tmp_path) == []
    server.manner, server.asked = "good", []
    assert fetched(archive, tmp_path).read_bytes() == BODY
    assert len(server.asked) == 1
    assert server.asked[0] is not None


def test_a_server_that_ignores_ranges_is_read_from_the_start(server: Server, tmp_path: Path) -> None:
    archive = archive_at(server, **published())
    server.manner = "cuts off"
    with pytest.raises(MachineError):
        fetched(archive, tmp_path)
    server.manner = "ignores ranges"
    assert fetched(archive, tmp_path).read_bytes() == BODY


def test_a_server_that_answers_with_another_range_is_asked_for_the_whole(server: Server, tmp_path: Path) -> None:
    archive = archive_at(server, **published())
    server.manner = "cuts off"
    with pytest.raises(MachineError):
        fetched(archive, tmp_path)
    server.manner = "another range"
    assert fetched(archive, tmp_path).read_bytes() == BODY


@pytest.mark.parametrize("tag", ['"2"', ""])
@pytest.mark.parametrize("has_digest", [True, False])
def test_content_that_changes_in_between_is_never_mixed(
    server: Server, tmp_path: Path, tag: str, *, has_digest: bool
) -> None:
    new = bytes(reversed(BODY))
    archive = archive_at(server, **(published(new) if has_digest else {}))
    server.manner, server.tag = "cuts off", tag and '"1"'
    with pytest.raises(MachineError):
        fetched(archive, tmp_path)
    server.manner, server.body, server.tag = "good", new, tag
    assert fetched(archive, tmp_path).read_bytes() == new


@pytest.mark.parametrize(
    "body", [BODY[:-1], BODY + b"x", BODY[:-1] + b"x", b""], ids=["shorter", "longer", "swapped", "empty"]
)
@pytest.mark.parametrize("known", ["bytes", "sha256", "md5"])
def test_what_was_not_published_is_refused_the_first_time_and_the_second(
    server: Server, tmp_path: Path, body: bytes, known: str
) -> None:
    values = published() | {"md5": hashlib.md5(BODY).hexdigest()}  # noqa: S324 - some makers publish nothing else
    archive = archive_at(server, **{known: values[known]})
    server.body = body
    if known == "bytes" and len(body) == len(BODY):
        pytest.skip("a size tells nothing here")
    for _ in range(2):
        with pytest.raises((DataError, MachineError)) as caught:
            fetched(archive, tmp_path)
        assert "\n" not in str(caught.value)
        assert kept_files(tmp_path) == []


@pytest.mark.parametrize("manner", ["silent", "trickles", "busy"])
def test_a_server_that_gives_nothing_is_given_up_after_some_attempts(
    server: Server, tmp_path: Path, manner: str
) -> None:
    server.manner = manner
    started = time.monotonic()
    with pytest.raises(MachineError) as caught:
        fetched(archive_at(server, **published()), tmp_path)
    assert caught.value.exit_code == 6
    assert len(server.asked) == 3
    assert time.monotonic() - started < 60  # the server itself would go on for ever


@pytest.mark.parametrize(("manner", "said"), [("missing", "404"), ("leads away", "not allowed")])
def test_what_is_not_there_is_asked_for_once_and_then_at_the_next_address(
    server: Server, tmp_path: Path, manner: str, said: str
) -> None:
    server.manner = manner
    archive = archive_at(server, **published(), urls=[server.url, f"{server.url}?mirror"])
    with pytest.raises(MachineError, match=said):
        fetched(archive, tmp_path)
    assert server.asked == [None, None]


def test_a_file_damaged_in_the_cache_is_removed_and_fetched_again(server: Server, tmp_path: Path) -> None:
    archive, said = archive_at(server, **published()), list[str]()
    fetched(archive, tmp_path).write_bytes(BODY[:-1] + b"x")
    assert fetched(archive, tmp_path, said).read_bytes() == BODY
    assert "damaged" in said[0]
    assert len(server.asked) == 2


def test_a_file_without_a_published_digest_must_be_the_same_for_ever(server: Server, tmp_path: Path) -> None:
    archive = archive_at(server)
    path = fetched(archive, tmp_path)
    assert fetched(archive, tmp_path) == path
    path.unlink()
    server.body = BODY[::-1]
    for _ in range(2):
        with pytest.raises(DataError, match=r"when it was first fetched; remove .*pins"):
            fetched(archive, tmp_path)
    next((tmp_path / "archives" / "pins").iterdir()).unlink()
    assert fetched(archive, tmp_path).read_bytes() == BODY[::-1]


def test_of_many_who_want_the_same_file_one_fetches_it(server: Server, tmp_path: Path) -> None:
    archive = archive_at(server, **published())
    with ThreadPoolExecutor(5) as pool:  # the lock is one of open files, so threads stand for processes
        paths = set(pool.map(lambda _: fetched(archive, tmp_path), range(5)))
    assert len(paths) == 1
    assert server.asked == [None]


def test_an_address_without_a_server_or_a_certificate_is_told_in_one_line(server: Server, tmp_path: Path) -> None:
    secure = server.url.replace("http:", "https:")
    with pytest.raises(MachineError, match="cannot be fetched"):
        fetched(archive_at(server, urls=[secure]), tmp_path)
    assert server.asked == []


def test_a_file_that_is_another_copy_of_those_published_will_do(server: Server, tmp_path: Path) -> None:
    other = {"urls": [server.url], "known_from": "this test", **published(b"other")}
    archive = archive_at(server, **published(), other_copies=[other])
    (tmp_path / "a.tgz").write_bytes(b"other")
    assert check(tmp_path / "a.tgz", archive.copies) == other["sha256"]
    (tmp_path / "a.tgz").write_bytes(b"others")
    with pytest.raises(DataError, match=f"6 bytes long, but {len(BODY):,} were published"):
        check(tmp_path / "a.tgz", archive.copies)
