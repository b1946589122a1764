"""The program, with a rank that fails: `faulty_program.py RANK FAULT STEP train …`, alone or under torchrun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

from nmt_cli.cli.main import main
from nmt_cli.training import launch, update, worker

FAULTS = {
    "raise": lambda: {}["no such thing"],
    "exit": lambda: os._exit(1),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "sleep": lambda: time.sleep(600),
}
real_gradient, real_start = update.accumulate_gradient, subprocess.Popen
wanted, fault, step, command = sys.argv[1:5]
own_rank = int(sys.argv[5] if command == "worker" else os.environ.get("RANK", "0"))


def faulty_gradient(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
    if arguments[1].step == int(step) and own_rank == int(wanted):
        FAULTS[fault]()
    return real_gradient(*arguments, **named)


def start_faulty(started: list[str], **options: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
    own = [started[0], __file__, wanted, fault, step, "worker"]
    return real_start([*own, *started[3:]], **options)


if __name__ == "__main__":
    update.accumulate_gradient = faulty_gradient
    launch.subprocess.Popen = start_faulty
    if command == "worker":
        sys.argv[:5] = sys.argv[:1]
        worker.main()
    else:
        sys.argv[:4] = sys.argv[:1]
        main()
