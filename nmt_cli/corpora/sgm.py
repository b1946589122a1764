"""The SGM files of the WMT test sets: one segment a line between <seg id="..."> and </seg>.

They are no SGML that a parser would take (a bare & in the text is common), so the lines are read as the
tools of the shared tasks read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nmt_cli.errors import DataError
from nmt_cli.files import Record

_SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)(</seg>|$)", flags=re.IGNORECASE)
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
_ENTITY = re.compile("|".join(_ENTITIES))


def segments(records: Iterable[Record], *, name: str) -> Iterator[Record]:
    """Yield the text of each segment, in the order of the file.

    Raises:
        DataError: a segment that goes on over its line, or that is cut off.
    """
    for number, record in enumerate(records, start=1):
        if record.text.lower().count("<seg") > 1:
            raise DataError(f"{name}:{number}: two segments on a line; each has a line of its own in SGM files of WMT")
        found = _SEGMENT.search(record.text)
        if found is None:
            continue
        if not found[2]:
            raise DataError(f"{name}:{number}: a segment without its </seg>; the file is cut off or no SGM file of WMT")
        yield Record(_ENTITY.sub(lambda entity: _ENTITIES[entity[0]], found[1]).strip(), record.bad_column)
