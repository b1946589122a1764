"""SIGTERM, Ctrl-C and a hang-up: the first asks training to save and stop, a second one stops at once."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


class StopRequest:
    """Whether, and by which signal, training was asked to stop."""

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self.exit_code: int | None = None

    def note(self, number: int, _frame: FrameType | None) -> None:
        """Remember a signal; leave at once at the second."""
        code = EXIT_CODES[signal.Signals(number)]
        if self.exit_code is not None:
            os._exit(code)
        self.exit_code = code


@contextlib.contextmanager
def listening_for_stop() -> Iterator[StopRequest]:
    """Give the request that signals fill while the block runs; a hang-up that `nohup` ignores stays ignored."""
    request = StopRequest()
    ignored = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else set()
    before = {number: signal.signal(number, request.note) for number in EXIT_CODES.keys() - ignored}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
