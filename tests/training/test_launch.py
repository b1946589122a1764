"""The other ranks begin and end with the lead, and what is known of one that died is told."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt_cli.errors import DivergedError, MachineError, StoppedError
from nmt_cli.training import joining, launch, roll_call
from nmt_cli.training.joining import Terms
from nmt_cli.training.launch import ranks_on_this_machine
from nmt_cli.training.ranks import LostRankError


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
        monkeypatch.setattr(joining, "join", lambda *_, **__: None)
        monkeypatch.setattr(roll_call.RollCall, "meet", lambda _: None)
        monkeypatch.setattr(roll_call, "SECONDS_TO_ANSWER", 2.0)
        return started

    yield run
    for process in started:
        process.kill()
        process.wait()


FOREVER = "import time; time.sleep(600)"
KILLED = "import os; os.kill(os.getpid(), 9)"
LOST = "import sys, time; time.sleep(0.2); print('lost: the other one'); sys.exit(6)"


@pytest.fixture
def in_ranks(toy: Any) -> Callable[[int], Any]:  # noqa: ANN401
    terms = Terms(toy.settings(), "digest")
    return lambda n_ranks: ranks_on_this_machine(n_ranks, terms, device=torch.device("cpu"))


@pytest.mark.parametrize("error", [DivergedError("diverged"), StoppedError("stopped", exit_code=143), KeyError("ours")])
def test_whatever_ends_the_lead_ends_the_others_and_stays_what_it_is(
    stand_ins: Any,  # noqa: ANN401
    in_ranks: Any,  # noqa: ANN401
    error: Exception,
) -> None:
    started = stand_ins(FOREVER, FOREVER)
    with pytest.raises(type(error)) as caught, in_ranks(3):
        raise error
    assert caught.value is error
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2


def test_one_that_is_asleep_ends_with_the_lead_too(stand_ins: Any, in_ranks: Any) -> None:  # noqa: ANN401
    started = stand_ins("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)")
    with in_ranks(2):
        os.waitid(os.P_PID, started[0].pid, os.WSTOPPED | os.WNOWAIT)
    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_a_full_disk_of_the_lead_is_no_lost_rank(stand_ins: Any, in_ranks: Any) -> None:  # noqa: ANN401
    stand_ins(KILLED)
    with pytest.raises(MachineError, match=r"^run: cannot be written"), in_ranks(2):
        raise MachineError("run: cannot be written (No space left on device)")


def test_the_rank_that_died_is_named_and_not_those_that_lost_it(stand_ins: Any, in_ranks: Any) -> None:  # noqa: ANN401
    stand_ins(LOST, f"import time; time.sleep(0.5); {KILLED}")
    with pytest.raises(MachineError) as caught, in_ranks(3):
        raise LostRankError("connection closed")
    assert re.sub(r"\d+\)", "N)", str(caught.value)) == (
        "rank 2 (process N) was lost before its first update: killed by SIGKILL; "
        "the same command goes on from the last checkpoint"
    )


def test_the_last_line_of_a_rank_says_why_it_died(stand_ins: Any, in_ranks: Any) -> None:  # noqa: ANN401
    stand_ins("print('first'); raise SystemExit('no memory')")
    with (
        pytest.raises(
            MachineError, match=r"rank 1 \(process \d+\) was lost .*: ended with exit code 1, no memory; the"
        ),
        in_ranks(2),
    ):
        raise LostRankError("connection closed")


def test_ranks_that_were_told_to_end_do_not_end_the_lead_while_it_saves(
    stand_ins: Any,  # noqa: ANN401
    in_ranks: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(roll_call, "SECONDS_TO_FALL", 0.0)
    exits: list[int] = []
    monkeypatch.setattr(os, "_exit", exits.append)
    started = stand_ins("pass")
    with in_ranks(2):
        started[0].wait()
        time.sleep(3 * roll_call.SECONDS_BETWEEN_LOOKS)
    assert exits == []


@pytest.mark.parametrize(("waits", "ends"), [(True, True), (False, False)])
def test_a_dead_rank_ends_a_lead_that_waits_for_it_in_vain_but_not_one_that_saves(
    stand_ins: Any,  # noqa: ANN401
    in_ranks: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    waits: bool,
    ends: bool,
) -> None:
    monkeypatch.setattr(roll_call, "SECONDS_TO_FALL", 0.0)
    exits: list[int] = []
    monkeypatch.setattr(os, "_exit", lambda code: (exits.append(code), time.sleep(3.0)))
    started = stand_ins(KILLED, FOREVER)
    with in_ranks(3) as ranks:
        ranks.standing.turns(waits=waits)
        started[0].wait()
        time.sleep(4 * roll_call.SECONDS_BETWEEN_LOOKS)
    said = r"nmt: rank 1 \(process \d+\) was lost before its first update: killed by SIGKILL; "
    assert exits == [MachineError.exit_code] * ends
    told = capfd.readouterr().err
    assert re.match(said, told) if ends else told == ""
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2


def test_no_signal_that_stops_the_lead_reaches_the_others(stand_ins: Any, in_ranks: Any) -> None:  # noqa: ANN401
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    started = stand_ins(FOREVER)
    with in_ranks(2):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # before it could have said anything about them
            started[0].send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            started[0].wait(timeout=0.5)
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_a_process_that_cannot_be_started_is_one_line_and_ends_those_before_it(
    stand_ins: Any,  # noqa: ANN401
    in_ranks: Any,  # noqa: ANN401
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


def test_a_rank_whose_lead_was_killed_dies_and_nothing_of_them_stays(tmp_path: Path) -> None:
    """The lead starts a rank that waits for its terms, and is killed before or after it could read them."""
    lead = (
        "import os, pathlib; from nmt_cli.training import launch\n"
        "with launch._meeting_place() as place:\n"
        "    other = launch._start(1, 3, place, [pathlib.Path('none')])\n"
        "    print(other.process.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", lead], stdout=subprocess.PIPE, check=False, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    assert done.returncode == -signal.SIGKILL
    rank = Path("/proc", done.stdout.decode().strip())
    deadline = time.monotonic() + 60
    while lives(rank) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not lives(rank)
    assert list(tmp_path.iterdir()) == []


def lives(process: Path) -> bool:
    try:
        return process.joinpath("stat").read_text().split()[2] != "Z"
    except OSError:
        return False
