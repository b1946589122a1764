"""The other ranks begin and end with the lead, and one that dies is named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.errors import DivergedError, MachineError, StoppedError
from nmt_cli.training import launch
from nmt_cli.training.launch import ranks_on_this_machine
from nmt_cli.training.ranks import LostRankError, Ranks


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[subprocess.Popen[bytes]]]]:
    """Return a function that has each rank but the lead run a line of Python, and gives those started."""
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def run(*lines: str) -> list[subprocess.Popen[bytes]]:
        def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
            started.append(real([sys.executable, "-c", lines[int(command[3]) - 1]], **options))
            return started[-1]

        monkeypatch.setattr(launch.subprocess, "Popen", start)
        monkeypatch.setattr(launch, "join_ranks", lambda _store, *, rank, world_size: Ranks(rank, world_size))
        monkeypatch.setattr(launch, "leave_ranks", lambda _ranks: None)
        return started

    yield run
    for process in started:
        process.kill()
        process.wait()


FOREVER = "import time; time.sleep(600)"
KILLED = "import os; os.kill(os.getpid(), 9)"
LOST = "import sys, time; time.sleep(0.2); print('lost: the other one'); sys.exit(6)"


def in_ranks(n_ranks: int) -> Any:  # noqa: ANN401
    return ranks_on_this_machine(n_ranks, pieces=[Path("pieces")], config=Path("config"))


@pytest.mark.parametrize("error", [DivergedError("diverged"), StoppedError("stopped", exit_code=143), KeyError("ours")])
def test_whatever_ends_the_lead_ends_the_others_and_stays_what_it_is(stand_ins: Any, error: Exception) -> None:  # noqa: ANN401
    started = stand_ins(FOREVER, FOREVER)
    with pytest.raises(type(error)) as caught, in_ranks(3):
        raise error
    assert caught.value is error
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2


def test_a_full_disk_of_the_lead_is_no_lost_rank(stand_ins: Any) -> None:  # noqa: ANN401
    stand_ins(KILLED)
    with pytest.raises(MachineError, match=r"^run: cannot be written"), in_ranks(2):
        raise MachineError("run: cannot be written (No space left on device)")


def test_the_rank_that_died_is_named_and_not_those_that_lost_it(stand_ins: Any) -> None:  # noqa: ANN401
    stand_ins(LOST, f"import time; time.sleep(0.5); {KILLED}")
    with pytest.raises(MachineError) as caught, in_ranks(3):
        raise LostRankError("connection closed")
    assert str(caught.value) == "training process 2 ended with exit code -9; the same command goes on"


def test_the_last_line_of_a_rank_says_why_it_died(stand_ins: Any) -> None:  # noqa: ANN401
    stand_ins("print('first'); raise SystemExit('no memory')")
    with pytest.raises(MachineError, match="process 1 ended with exit code 1: no memory; the same"), in_ranks(2):
        raise LostRankError("connection closed")


def test_ranks_that_were_told_to_end_do_not_end_the_lead_while_it_saves(
    stand_ins: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "SECONDS_TO_FALL", 0.0)
    exits: list[int] = []
    monkeypatch.setattr(os, "_exit", exits.append)
    started = stand_ins("pass")
    with in_ranks(2):
        started[0].wait()
        time.sleep(0.6)  # three looks of the watcher
    assert exits == []


def test_a_dead_rank_ends_a_lead_that_does_not_notice(
    stand_ins: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(launch, "SECONDS_TO_FALL", 0.0)
    ended = threading.Event()
    exits: list[int] = []
    monkeypatch.setattr(os, "_exit", lambda code: (exits.append(code), ended.set(), time.sleep(1.0)))
    started = stand_ins(KILLED, FOREVER)
    with in_ranks(3):
        assert ended.wait(60)
    assert exits == [MachineError.exit_code]
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2
    assert capfd.readouterr().err == "nmt: training process 1 ended with exit code -9; the same command goes on\n"


def test_ctrl_c_and_sigterm_never_reach_the_others_and_still_reach_the_lead(stand_ins: Any) -> None:  # noqa: ANN401
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    started = stand_ins(FOREVER)
    with in_ranks(2):
        for number in (signal.SIGINT, signal.SIGTERM):  # before the other could have said anything about them
            started[0].send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            started[0].wait(timeout=0.5)
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_a_process_that_cannot_be_started_is_one_line_and_ends_those_before_it(
    stand_ins: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = stand_ins(FOREVER, FOREVER)
    start = launch.subprocess.Popen

    def refuse_second(command: list[str], **options: Any) -> Any:  # noqa: ANN401
        if command[3] == "2":
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return start(command, **options)

    monkeypatch.setattr(launch.subprocess, "Popen", refuse_second)
    with pytest.raises(MachineError, match=r"process 2 cannot be started \(Resource temporarily"), in_ranks(3):
        pass
    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_a_rank_whose_lead_was_killed_dies(tmp_path: Path) -> None:
    """The lead starts a rank that waits for a third one, and is killed before or after they could meet."""
    lead = (
        "import os, pathlib, sys; from nmt_cli.training import launch;"
        "p = launch._start(1, 3, pathlib.Path(sys.argv[1]), [pathlib.Path('none')], pathlib.Path('none'));"
        "print(p.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", lead, tmp_path], stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL
    rank = Path("/proc", done.stdout.decode().strip())
    deadline = time.monotonic() + 60
    while rank.exists() and rank.joinpath("stat").read_text().split()[2] != "Z" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not rank.exists() or rank.joinpath("stat").read_text().split()[2] == "Z"
    assert (tmp_path / "rank-1.log").read_text() == ""
