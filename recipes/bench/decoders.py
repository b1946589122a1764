"""The contenders of the decoding bench: how each is called, kept loaded, and measured."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import processes
from contenders import HERE, PEER_PYTHON
from nmt_cli.model_folder import ModelFolder

BATCH_TOKENS = ("2048", "4096", "8192", "16384")
"""Of `search.batch_tokens`, which counts source positions times beam size."""
PLAIN_BATCHES = ("32 examples", "64 examples", "1024 tokens")
MODES = ("batched", "one at a time", "one caller")


@dataclass(frozen=True)
class Decoder:
    """Something that translates."""

    name: str
    command: Sequence[str]
    settings: Sequence[str]
    """Sizes of a batch to choose from, each a word of the decoder's own."""
    processes: int = 1
    callers: int = 1
    """Of each process, where lines come one at a time."""
    environment: Mapping[str, str] | None = None
    modes: Sequence[str] = MODES[:2]
    is_slow: bool = False
    """Whether it is given fewer lines where they come one at a time."""


@dataclass(frozen=True)
class Decoding:
    """What was seen of a decoder once."""

    decoder: str
    mode: str
    setting: str
    lines: int
    tokens: int
    """Pieces of the outputs, an end symbol each."""
    seconds: float
    """From the first request to the last answer."""
    others_share: float
    """Of all cores, used by other processes meanwhile."""

    @property
    def lines_per_second(self) -> float:
        """Lines of raw text to raw text."""
        return self.lines / self.seconds

    @property
    def tokens_per_second(self) -> float:
        """Pieces of the outputs."""
        return self.tokens / self.seconds


def our_decoders(model: Path, *, cores: int) -> list[Decoder]:
    """Return the library's: CTranslate2 with a thread a core, torch with a one-thread process a core."""
    command = [sys.executable, str(HERE / "ours.py"), str(model)]
    converted = [
        Decoder(
            f"nmt ctranslate2 {kind}",
            [*command, "--engine", "ctranslate2", "--compute-type", kind, "--threads", str(cores)],
            BATCH_TOKENS,
            callers=cores,
            modes=MODES,
        )
        for kind in ("int8", "float32")
    ]
    return converted + [
        Decoder(
            f"nmt torch {kind}",
            [*command, "--engine", "torch", "--compute-type", kind, "--threads", "1"],
            BATCH_TOKENS,
            processes=cores,
            environment={"OMP_NUM_THREADS": "1"},
            is_slow=True,
        )
        for kind in ("int8", "bfloat16", "float32")
    ]


def plain_command(folder: ModelFolder, converted: Path, kind: str) -> list[str]:
    """Return plain CTranslate2 with the steps of text that a model wants; it has none of Moses."""
    text = folder.description.text
    if text.moses:
        sys.exit(f"{folder.path}: reads Moses tokens, which the plain script does not make; take another model")
    command = [sys.executable, str(HERE / "plain.py"), str(converted), "--compute-type", kind]
    command += ["--source", str(folder.source_subwords), "--target", str(folder.target_subwords)]
    steps = {"--nfc": text.nfc, "--fold-spaces": text.fold_spaces, "--lowercase": text.lowercase}
    return command + [name for name, wanted in steps.items() if wanted]


def plain_decoders(folder: ModelFolder, converted: Mapping[str, Path], *, cores: int) -> list[Decoder]:
    """Return plain CTranslate2 by the type that it computes in, as many batches at once as there are cores."""
    return [
        Decoder(
            f"CTranslate2 {kind}",
            [*plain_command(folder, path, kind), "--threads", str(cores)],
            PLAIN_BATCHES,
            callers=cores,
            modes=MODES,
        )
        for kind, path in converted.items()
    ]


def peer_decoders(folder: ModelFolder, exported: Path, *, cores: int) -> list[Decoder]:
    """Return Hugging Face's `generate`: as it comes, with a thread a core, and as ours, with a process a core."""
    description = folder.description
    command = [str(PEER_PYTHON), str(HERE / "hugging_face.py"), str(exported)]
    command += ["--text", description.text.model_dump_json(), "--source-language", description.source_language]
    return [
        Decoder(
            f"Hugging Face {n_processes} x {threads}",
            [*command, "--threads", str(threads)],
            ("64",),
            processes=n_processes,
            environment={"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"},
            is_slow=True,
        )
        for n_processes, threads in ([(1, cores), (cores, 1)] if cores > 1 else [(1, 1)])
    ]


def shares(lines: Sequence[str], n: int) -> list[list[int]]:
    """Return the places of each of n shares: of like numbers and lengths, each in the order of the lines."""
    longest_first = sorted(range(len(lines)), key=lambda place: -len(lines[place]))
    return [sorted(longest_first[first::n]) for first in range(n)]


class Running:
    """The processes of a decoder, loaded."""

    def __init__(self, decoder: Decoder, log: Path) -> None:
        """Start them; `end` them in any case. `log` gets what they write to stderr."""
        log.parent.mkdir(parents=True, exist_ok=True)
        self.decoder, self._log = decoder, log
        with log.open("wb") as output:
            self._processes = [
                subprocess.Popen(
                    decoder.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=output,
                    start_new_session=True,
                    env={**os.environ, **(decoder.environment or {})},
                    encoding="utf-8",
                )
                for _ in range(decoder.processes)
            ]

    def wait_until_loaded(self) -> None:
        """Return when each has said that it is."""
        for process in self._processes:
            self._answer(process)

    def translate(self, lines: Sequence[str], *, setting: str, callers: int = 0) -> list[str]:
        """Return the translations in order; each process gets a share of the lines."""
        dealt = shares(lines, len(self._processes))
        for process, places in zip(self._processes, dealt, strict=True):
            request = {"lines": [lines[place] for place in places], "setting": setting, "callers": callers}
            with contextlib.suppress(BrokenPipeError):  # it has ended, which the answer tells
                self._pipe(process.stdin).write(json.dumps(request) + "\n")
                self._pipe(process.stdin).flush()
        texts = [""] * len(lines)
        for process, places in zip(self._processes, dealt, strict=True):
            for place, text in zip(places, self._answer(process)["texts"], strict=True):
                texts[place] = text
        return texts

    def cpu_seconds(self) -> float:
        """Return the CPU time of all processes so far."""
        return sum(processes.cpu_seconds(process.pid) for process in self._processes)

    def end(self) -> None:
        """Kill them."""
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _answer(self, process: subprocess.Popen[str]) -> dict[str, list[str]]:
        line = self._pipe(process.stdout).readline()
        if not line:
            said = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-20:]
            sys.exit("\n".join([f"{self.decoder.name} ended with code {process.wait()}:", *said]))
        answer: dict[str, list[str]] = json.loads(line)
        return answer

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        if pipe is None:
            raise ValueError("a pipe that was not asked for")
        return pipe
