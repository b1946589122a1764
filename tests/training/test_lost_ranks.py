"""A rank that raises, exits, is killed or sleeps ends the job and is named; the job goes on (report 12)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.batches.corpus import open_pieces
from nmt_cli.batches.plan import Cursor
from nmt_cli.model.load import load_transformer
from nmt_cli.model_folder import open_model_folder
from nmt_cli.training.loop import planned_updates
from nmt_cli.training.place import place_in_job

BIN = Path(sys.executable).parent
FAULTY = Path(__file__).with_name("faulty_program.py")
TORCHRUN = [BIN / "torchrun", "--standalone", "--nproc-per-node", "2"]
STEP = 7
IN_TIME = 240
"""Seconds; what hangs takes longer, and so fails the test."""
WAITED = r"the others waited 0\.3 minutes, machine\.rank_timeout_minutes"
WHY = {
    "raise": r"KeyError: 'no such thing' at faulty_program\.py:\d+",
    "exit": r"ended with exit code 1",
    "kill": r"killed by SIGKILL",
    "stop": rf"no sign of life \({WAITED}\)",
    "sleep": rf"at work on it for \d+ s \({WAITED}\)",
}
WHY_UNDER_TORCHRUN = WHY | {
    "exit": r"no sign of life \(.*[Cc]onnection .*\)",
    "kill": r"no sign of life \(.*[Cc]onnection .*\)",
}
slow = pytest.mark.slow


@pytest.fixture
def finish() -> Callable[[list[str | Path]], subprocess.CompletedProcess[str]]:
    """Return what runs a command to its end and checks that none of its processes is left."""

    def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
        tag = f"NMT_TEST={uuid.uuid4()}"
        environment = os.environ | dict([tag.split("=")]) | {"OMP_NUM_THREADS": "1"}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", env=environment
        ) as process:
            try:
                out, err = process.communicate(timeout=IN_TIME)
                assert processes_with(tag) == []
            finally:
                for left in processes_with(tag):
                    os.kill(left, signal.SIGKILL)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    return run


def processes_with(tag: str) -> list[int]:
    """Return the processes that live and were started with a variable in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_dead = folder.joinpath("stat").read_text().rpartition(")")[2].split()[0] in "ZX"
            if not is_dead and tag.encode() in folder.joinpath("environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def arguments(toy: Any, run: Path, *more: str) -> list[str | Path]:  # noqa: ANN401
    return ["train", toy.corpus, "--config", toy.config, "--run", run, *more]


def update_by_hand(toy: Any) -> str:  # noqa: ANN401
    corpus, config = open_pieces(toy.corpus).split("train"), toy.settings().training
    pairs = next(pairs for pairs, after in planned_updates(corpus, config, Cursor()) if after.step == STEP)
    lengths = [[len(side.sentence(pair)) for pair in pairs] for side in (corpus.source, corpus.target)]
    shape = f"{len(pairs)} pairs, longest {max(lengths[0])} x {max(lengths[1])} tokens"
    return re.escape(f"{shape}, {sum(lengths[0])} source and {sum(lengths[1])} target tokens")


@pytest.fixture(scope="session")
def two_ranks(toy: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ANN401
    """A run of two ranks that nothing interrupted."""
    run = tmp_path_factory.mktemp("runs") / "two"
    subprocess.run([BIN / "nmt", *arguments(toy, run, "--ranks", "2", "--quiet")], check=True)
    return run


@pytest.mark.parametrize(
    ("fault", "starter"),
    [
        ("exit", "nmt"),
        *(pytest.param(fault, "nmt", marks=slow) for fault in ("raise", "kill", "stop", "sleep")),
        *(pytest.param(fault, "torchrun", marks=slow) for fault in WHY),
    ],
)
def test_a_rank_that_fails_ends_the_job_and_one_line_says_which_and_at_what(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    finish: Any,  # noqa: ANN401
    fault: str,
    starter: str,
) -> None:
    run = tmp_path / "run"
    ours = starter == "nmt"
    command = [sys.executable] if ours else [*TORCHRUN, "--"]
    more = ["--ranks", "2"] if ours else []
    if fault in {"stop", "sleep"}:
        more += ["--set", "machine.rank_timeout_minutes=0.3"]
    done = finish([*command, FAULTY, "1", fault, str(STEP), *arguments(toy, run, *more)])
    assert (done.returncode, done.stdout) == (6 if ours else 1, "")
    [line] = [line for line in done.stderr.splitlines() if "was lost" in line]
    why = (WHY if ours else WHY_UNDER_TORCHRUN)[fault]
    goes_on = "the same command goes on from the last checkpoint"
    said = rf"rank 1 \(process \d+\) was lost in update {STEP} \({update_by_hand(toy)}\): {why}; {goes_on}"
    assert re.fullmatch(f"nmt: {said}", line), line
    assert re.fullmatch(said, toy.log(run)[-1])
    assert ("Traceback" in done.stderr) <= (not ours)
    assert open_model_folder(run / "last").description.step == 5
    load_transformer(open_model_folder(run / "last"))


@slow
@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("stop", r"did not come to where the ranks meet \(not all came within 60 s\)"),
        ("kill", r"killed by SIGKILL"),
    ],
)
def test_a_rank_that_fails_before_the_ranks_have_met_is_named_and_not_the_one_that_waits_for_it(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    finish: Any,  # noqa: ANN401
    fault: str,
    why: str,
) -> None:
    run = tmp_path / "run"
    more = ["--ranks", "3", "--set", "machine.rank_timeout_minutes=0.3"]
    done = finish([sys.executable, FAULTY, "1", fault, "start", *arguments(toy, run, *more)])
    assert (done.returncode, done.stdout) == (6, "")
    [line] = [line for line in done.stderr.splitlines() if line.startswith("nmt: ")]
    goes_on = "the same command goes on from the last checkpoint"
    assert re.fullmatch(rf"nmt: rank 1 \(process \d+\) was lost before its first update: {why}; {goes_on}", line), line


@slow
@pytest.mark.parametrize("fault", ["kill", "stop"])
def test_a_rank_that_fails_inside_a_validation_ends_the_job_which_then_goes_on_to_the_same_bits(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    finish: Any,  # noqa: ANN401
    two_ranks: Path,
    fault: str,
) -> None:
    run = tmp_path / "run"
    more = ["--ranks", "2", "--set", "machine.rank_timeout_minutes=0.3"]
    done = finish([sys.executable, FAULTY, "1", fault, "validation", *arguments(toy, run, *more)])
    assert (done.returncode, done.stdout) == (6, "")
    [line] = [line for line in done.stderr.splitlines() if line.startswith("nmt: ")]
    assert re.match(r"nmt: rank 1 \(process \d+\) was lost in update 12 \(", line), line
    assert re.search(WHY[fault], line), line
    assert open_model_folder(run / "last").description.step == 10
    assert finish([BIN / "nmt", *arguments(toy, run, *more)]).returncode == 0
    weights = "last/weights.safetensors"
    assert (run / weights).read_bytes() == (two_ranks / weights).read_bytes()


@slow
@pytest.mark.parametrize("when", ["start", str(STEP), "validation"])
def test_a_sigterm_that_reaches_a_rank_which_is_not_the_lead_changes_nothing(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    finish: Any,  # noqa: ANN401
    two_ranks: Path,
    when: str,
) -> None:
    """Only the lead, the process that the user knows, decides what comes of a signal."""
    run = tmp_path / "run"
    done = finish([sys.executable, FAULTY, "1", "terminate", when, *arguments(toy, run, "--ranks", "2")])
    assert (done.returncode, done.stdout) == (0, "")
    assert "was lost" not in done.stderr
    weights = "last/weights.safetensors"
    assert (run / weights).read_bytes() == (two_ranks / weights).read_bytes()


@slow
def test_a_job_of_torchrun_continued_after_a_lost_rank_has_the_bits_of_two_ranks_started_by_nmt(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    finish: Any,  # noqa: ANN401
    two_ranks: Path,
) -> None:
    run = tmp_path / "run"
    lost = finish([*TORCHRUN, "--", FAULTY, "1", "exit", "13", *arguments(toy, run)])
    assert "was lost in update 13" in lost.stderr
    done = finish([*TORCHRUN, "-m", "--", "nmt_cli", *arguments(toy, run)])
    assert (done.returncode, done.stdout) == (0, "")
    weights = "last/weights.safetensors"
    assert (run / weights).read_bytes() == (two_ranks / weights).read_bytes()
    lines = [line for line in done.stderr.splitlines() if "torch/distributed/run.py" not in line]
    assert lines == toy.log(run)[-len(lines) :]  # the other rank says nothing
    assert lines[0].startswith("10,176 parameters")


@slow
def test_sigterm_to_a_job_saves_and_no_rank_is_lost(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    run = tmp_path / "run"
    more = ["--max-steps", "100000", "--set", "training.save_every_steps=100000", "--set", "training.patience=100000"]
    command = [*TORCHRUN, "-m", "--", "nmt_cli", *arguments(toy, run, *more)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr or []:
            if line.startswith("step 3/"):
                process.terminate()
                break
        _, err = process.communicate(timeout=IN_TIME)
    assert process.returncode != 0
    [line] = [line for line in err.splitlines() if line.startswith("nmt: ")]
    assert re.fullmatch(r"nmt: stopped at step \d+; the same command goes on", line)
    assert open_model_folder(run / "last").description.step >= 3


@slow
def test_other_data_on_another_machine_is_told_by_the_lead(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    finish: Any,  # noqa: ANN401
    make_corpus: Callable[..., Path],
) -> None:
    """The second rank stands in another folder, where the same path leads to another corpus."""
    for place, seed in (("0", 1), ("1", 2)):
        (tmp_path / place).mkdir()
        make_corpus(f"{place}/data", train=toy.sentences(60, seed=seed))
    program = (
        f"import os, sys; os.chdir(f'{tmp_path}/' + os.environ['RANK']); sys.argv[:1] = ['nmt'];"
        "from nmt_cli.cli.main import main; main()"
    )
    script = tmp_path / "elsewhere.py"
    script.write_text(program)
    command = [*TORCHRUN, "--", script, "train", "data", "--config", toy.config, "--run", "run"]
    done = finish(command)
    assert done.returncode == 1
    [line] = [line for line in done.stderr.splitlines() if line.startswith("nmt: ")]
    assert re.search(r"rank 1 .*: data/pieces is [0-9a-f]{12}…, but the lead's data [0-9a-f]{12}…; copy it; ", line)


@slow
def test_a_mistake_is_told_once_before_the_ranks_meet(toy: Any, tmp_path: Path, finish: Any) -> None:  # noqa: ANN401
    command = [*TORCHRUN, "-m", "--", "nmt_cli", *arguments(toy, tmp_path / "run", "--ranks", "2")]
    done = finish(command)
    assert done.returncode == 1
    [line] = [line for line in done.stderr.splitlines() if line.startswith("nmt: ")]
    assert line == "nmt: --ranks 2: torchrun says how many processes there are; leave --ranks out"
    assert not (tmp_path / "run").exists()


JOB = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "node1", "MASTER_PORT": "29500"}


def test_a_process_knows_its_place_in_a_job() -> None:
    place = place_in_job(JOB | {"LOCAL_WORLD_SIZE": "2"})
    assert place is not None
    assert (place.rank, place.world_size, place.local_rank, place.local_world_size) == (1, 4, 1, 2)
    assert place_in_job({}) is None
    assert place_in_job(JOB | {"WORLD_SIZE": "1"}) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [({"MASTER_ADDR": None, "LOCAL_RANK": None}, "LOCAL_RANK and MASTER_ADDR not"), ({"RANK": "x"}, "RANK=x")],
)
def test_half_a_job_is_refused_by_name(change: dict[str, str | None], said: str) -> None:
    from nmt_cli.errors import UsageError

    environment = {name: value for name, value in (JOB | change).items() if value is not None}
    with pytest.raises(UsageError, match=said):
        place_in_job(environment)
