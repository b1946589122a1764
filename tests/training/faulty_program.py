"""The program, with a rank that fails: `faulty_program.py RANK FAULT WHEN train …`, alone or under torchrun.

WHEN is a step; or `start`, for a rank that is not the lead and has not met the others yet; or `validation`, for the
search of the first one, when its losses have been shared.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

from nmt_cli.cli.main import main
from nmt_cli.training import launch, roll_call, update, worker
from nmt_cli.training.validation import Validator

FAULTS = {
    "raise": lambda: {}["no such thing"],
    "exit": lambda: os._exit(1),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "sleep": lambda: time.sleep(600),
    "terminate": lambda: os.kill(os.getpid(), signal.SIGTERM),
}
real_gradient, real_start, real_outputs = update.accumulate_gradient, subprocess.Popen, Validator._outputs
wanted, fault, when, command = sys.argv[1:5]
own_rank = int(sys.argv[5] if command == "worker" else os.environ.get("RANK", "0"))


def faulty_gradient(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
    if str(arguments[1].step) == when and own_rank == int(wanted):
        FAULTS[fault]()
    return real_gradient(*arguments, **named)


def faulty_outputs(*arguments: Any) -> Any:  # noqa: ANN401
    if when == "validation" and own_rank == int(wanted):
        FAULTS[fault]()
    return real_outputs(*arguments)


def start_faulty(started: list[str], **options: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
    own = [started[0], __file__, wanted, fault, when, "worker"]
    return real_start([*own, *started[3:]], **options)


if __name__ == "__main__":
    update.accumulate_gradient = faulty_gradient
    launch.subprocess.Popen = start_faulty
    Validator._outputs = faulty_outputs
    if when == "start":
        roll_call.SECONDS_TO_START = 60.0
        if own_rank == int(wanted):
            FAULTS[fault]()
    if command == "worker":
        sys.argv[:5] = sys.argv[:1]
        worker.main()
    else:
        sys.argv[:4] = sys.argv[:1]
        main()
