"""The program, with a rank that fails: `faulty_program.py RANK FAULT STEP train …`, alone or under torchrun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

from nmt_cli.cli.main import main
from nmt_cli.training import launch, loop, worker

FAULTS = {
    "raise": lambda: {}["no such thing"],
    "exit": lambda: os._exit(1),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "sleep": lambda: time.sleep(600),
}
real_update, real_start = worker.take_update, subprocess.Popen
wanted, fault, step = sys.argv[1:4]


def faulty_update(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
    if named["step"] == int(step) and named["ranks"].rank == int(wanted):
        FAULTS[fault]()
    return real_update(*arguments, **named)


def start_faulty(command: list[str], **options: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
    own = [command[0], __file__, wanted, fault, step, "worker"]
    return real_start([*own, *command[3:]], **options)


if __name__ == "__main__":
    worker.take_update = loop.take_update = faulty_update
    launch.subprocess.Popen = start_faulty
    if sys.argv[4] == "worker":
        sys.argv[:5] = sys.argv[:1]
        worker.main()
    else:
        sys.argv[:4] = sys.argv[:1]
        main()
