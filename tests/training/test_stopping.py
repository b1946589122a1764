"""What signals ask of training."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from nmt_cli.training.stopping import listening_for_stop


@pytest.fixture(autouse=True)
def _a_hang_up_is_heard() -> Iterator[None]:
    """Tests that are themselves run under nohup would inherit that it is ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_is_noted_with_its_exit_code_and_listened_to_no_longer_than_asked(number: int, code: int) -> None:
    before = signal.getsignal(number)
    with listening_for_stop() as stop:
        assert stop.exit_code is None
        os.kill(os.getpid(), number)
        assert stop.exit_code == code
    assert signal.getsignal(number) == before


def test_a_hang_up_that_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with listening_for_stop() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop.exit_code is None
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.exit_code == 143
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("first", "second", "code"), [("SIGTERM", "SIGTERM", 143), ("SIGHUP", "SIGINT", 130)])
def test_a_second_signal_ends_the_process_at_once(first: str, second: str, code: int) -> None:
    program = (
        "import os, signal; from nmt_cli.training.stopping import listening_for_stop\n"
        "with listening_for_stop():\n"
        f"    os.kill(os.getpid(), signal.{first}); os.kill(os.getpid(), signal.{second})\n"
        "    raise SystemExit(1)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == code
