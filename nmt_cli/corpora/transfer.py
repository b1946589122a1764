"""One file over HTTP: resumed where it stopped, ended where a server hangs, never longer than it may be."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

from nmt_cli.corpora.entries import Copy
from nmt_cli.errors import DataError
from nmt_cli.files import writing_to

CHUNK_BYTES = 2**18
FEWEST_BYTES = 1024
LARGEST_BYTES = 2**36
GONE_FOR_GOOD = frozenset({400, 401, 403, 404, 405, 410, 451})
_RANGE = re.compile(r"bytes (\d+)-\d*/(\d+|\*)")


@dataclass(frozen=True)
class Patience:
    """How long is waited for a server, and how often it is asked again."""

    timeout_s: float = 30.0
    """Silence that ends an attempt; so does less than 1 KiB in as long."""
    pauses_s: tuple[float, ...] = (1.0, 4.0, 15.0)
    """Before the second attempt, the third and so on."""


class CutOffError(Exception):
    """The transfer ended too early; what has come may be continued."""


class NotThereError(Exception):
    """The server says that it does not have the file."""


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follow only to HTTP and HTTPS, and never from HTTPS back to HTTP."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        scheme = urllib.parse.urlsplit(newurl).scheme
        if scheme not in {"http", "https"} or (req.full_url.startswith("https:") and scheme != "https"):
            raise NotThereError(f"it leads on to {newurl}, which is not safe")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def transfer(url: str, part: Path, copy: Copy, *, timeout_s: float) -> bool:
    """Bring the whole file at an address into `part`, going on where an earlier attempt ended.

    Returns:
        Whether any of it came in an earlier attempt.

    Raises:
        CutOffError: to be tried again.
        NotThereError: not to be tried again.
        DataError: it is longer or shorter than it was published to be.
    """
    beside = part.with_name(f"{part.name}.json")
    known = _earlier(url, part, beside, copy)
    if known["bytes"] and known["bytes"] == copy.bytes:
        return True
    headers = {"User-Agent": "nmt-cli", "Accept-Encoding": "identity"}
    if known["bytes"]:
        headers["Range"] = f"bytes={known['bytes']}-"
        if known["validator"]:
            headers["If-Range"] = str(known["validator"])
    with _told_apart(part):
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the opener knows http and https alone
        with _opener().open(request, timeout=timeout_s) as response:
            start, total = _placed(response, int(known["bytes"]), part)
            if copy.bytes is not None and total not in {None, copy.bytes}:
                raise DataError(
                    f"{url}: is {total:,} bytes long, but {copy.bytes:,} were published; it is another file"
                )
            with writing_to(part):
                beside.write_text(json.dumps({"url": url, "validator": _validator(response)}), encoding="utf-8")
                stream = part.open("ab" if start else "wb")
            with stream:
                _copy(response, stream, start, copy.bytes or total or LARGEST_BYTES, url, timeout_s)
    have, wanted = part.stat().st_size, copy.bytes or total
    if wanted is not None and have < wanted:
        raise CutOffError(f"the connection ended after {have:,} of {wanted:,} bytes")
    return bool(start)


@contextlib.contextmanager
def _told_apart(part: Path) -> Iterator[None]:
    """Turn what goes wrong on the way into what can be tried again and what cannot."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink(missing_ok=True)
        said = f"the server says {error.code} {error.reason}"
        leads_on = error.code < http.HTTPStatus.BAD_REQUEST  # to where it must not be followed
        raise (NotThereError(said) if error.code in GONE_FOR_GOOD or leads_on else CutOffError(said)) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise NotThereError(f"its certificate is not trusted ({error.reason.verify_message})") from None
        raise CutOffError(f"{getattr(error.reason, 'strerror', None) or error.reason}") from None
    except (TimeoutError, http.client.HTTPException, ConnectionError, ssl.SSLError) as error:
        raise CutOffError(f"{error or type(error).__name__}") from None


def _opener() -> urllib.request.OpenerDirector:
    """Know HTTP and HTTPS alone, with certificates checked, and the user's proxies."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _SafeRedirects(),
    ):
        opener.add_handler(handler)
    return opener


def _earlier(url: str, part: Path, beside: Path, copy: Copy) -> dict[str, Any]:
    """Return what an earlier attempt left: only of this address, and only where a mixture would be noticed."""
    with contextlib.suppress(OSError, ValueError):
        noted = json.loads(beside.read_bytes())
        validator = noted.get("validator")
        have = part.stat().st_size
        if noted.get("url") == url and (validator or copy.sha256 or copy.md5):
            return {"bytes": have, "validator": validator}
    return {"bytes": 0, "validator": None}


def _placed(response: Any, asked: int, part: Path) -> tuple[int, int | None]:  # noqa: ANN401 - urllib's type has no name
    """Return where the answer begins in the file, and how long the file is, where the server says so."""
    length = response.headers.get("Content-Length", "")
    n_bytes = int(length) if length.isdecimal() else None
    if response.status != http.HTTPStatus.PARTIAL_CONTENT:
        return 0, n_bytes
    found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if found is None or int(found[1]) != asked:
        part.unlink(missing_ok=True)
        raise CutOffError("the server answered with another range than it was asked for")
    return asked, int(found[2]) if found[2] != "*" else None


def _validator(response: Any) -> str | None:  # noqa: ANN401 - as above
    """Return what tells one version of the file from another: a strong entity tag, else the date."""
    tag, date = response.headers.get("ETag"), response.headers.get("Last-Modified")
    chosen = tag if tag and not tag.startswith("W/") else date
    return str(chosen) if chosen else None


def _copy(response: Any, stream: BinaryIO, start: int, limit: int, url: str, timeout_s: float) -> None:  # noqa: ANN401 - as above
    have, window, in_window = start, time.monotonic(), 0
    while data := response.read1(CHUNK_BYTES):
        have += len(data)
        if have > limit:
            raise DataError(f"{url}: sends more than the {limit:,} bytes that it should have; it is another file")
        stream.write(data)
        in_window += len(data)
        if time.monotonic() - window > timeout_s:
            if in_window < FEWEST_BYTES:
                raise CutOffError(f"only {in_window} bytes came in {timeout_s:g} s")
            window, in_window = time.monotonic(), 0
