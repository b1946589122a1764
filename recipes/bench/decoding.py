"""Decoding: this program, plain CTranslate2 and Hugging Face's generate, in turns, on the same raw lines.

Tables to stdout, and all that was measured to out/decoding.json.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import processes
from decoders import MODES, Decoder, Decoding, our_decoders, peer_decoders, plain_command, plain_decoders
from decoding_rounds import fastest, loaded, one_round, time_settings
from decoding_text import read_text
from figures import Spread, ratios, spread, table, write_result
from nmt_cli.builtin import builtin_model
from nmt_cli.decoding.converted import converted_model
from nmt_cli.model_folder import ModelFolder, open_model_folder
from serving import ALPHA, BEAM_SIZE
from start_up import Start, start_ups
from window import DISTURBED, end_with_children, tell_round

RUNS = Path("runs/decoding")
HELLO = "How are you"
FIELDS = ("seconds", "cpu_seconds")
"""Of a start, those shown."""


def main() -> None:
    """Measure one model."""
    options = parsed_options()
    end_with_children()
    folder, builtin = open_model_folder(options.model), open_model_folder(builtin_model())
    text = read_text(options.data, folder, n_lines=options.lines)
    result: dict[str, object] = {
        "began": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": processes.machine(),
        "settings": {name: str(value) for name, value in vars(options).items()},
        "weights": dict(folder.digests),
    }
    seen: list[Decoding] = []
    scores: dict[str, float] = {}
    with contextlib.ExitStack() as stack:
        converted = {
            kind: stack.enter_context(converted_model(folder, quantization=quantization, verified=True))
            for kind, quantization in (("int8", "int8"), ("float32", None))
        }
        shipped = stack.enter_context(converted_model(builtin, quantization="int8", verified=False))
        started = start_commands(options, folder, converted["float32"], builtin, shipped)
        starts = start_ups(started, {name: first_line(name, text.sources) for name in started}, times=options.starts)
        running = stack.enter_context(loaded(contenders(options, folder, converted), RUNS))
        times = {one.decoder.name: time_settings(one, text.sources) for one in running}
        settings = {name: fastest(seconds) for name, seconds in times.items()}
        for number in range(1, options.rounds + 1):
            tell_round(number, options.rounds)
            for decoding, texts in one_round(running, text, settings, slow_lines=options.slow_lines):
                seen.append(decoding)
                if decoding.mode == MODES[0]:
                    scores.setdefault(decoding.decoder, text.bleu(texts))
            found = {"seconds_by_batch": times, "measured": [*map(asdict, seen)], "summary": summary(seen)}
            write_result(options.out, {**result, **found, "bleu": scores, "starts": [*map(asdict, starts)]})
    show(options, seen, scores, starts)


def parsed_options() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with test_2016_flickr.LANGUAGE.gz")
    parser.add_argument("model", type=Path)
    parser.add_argument("--nmt", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--lines", type=int, default=1000, help="at most so many, evenly spread over the file")
    parser.add_argument("--slow-lines", type=int, default=100, help="of torch and the peer, one at a time")
    parser.add_argument("--starts", type=int, default=5, help="runs of each whole command")
    parser.add_argument("--out", type=Path, default=Path("out/decoding.json"))
    return parser.parse_args()


def contenders(options: argparse.Namespace, folder: ModelFolder, converted: Mapping[str, Path]) -> list[Decoder]:
    """Return who takes part, each type of ours beside that of plain CTranslate2."""
    cores = len(os.sched_getaffinity(0))
    exported = RUNS / "huggingface"
    command = [options.nmt, "export", str(options.model), str(exported), "--to", "huggingface", "--force", "--quiet"]
    RUNS.mkdir(parents=True, exist_ok=True)
    if subprocess.run(command, check=False).returncode != 0:
        sys.exit(f"{options.model}: not exported, see above")
    ours = our_decoders(options.model, cores=cores)
    plain = plain_decoders(folder, converted, cores=cores)
    return [ours[0], plain[0], ours[1], plain[1], *ours[2:], *peer_decoders(folder, exported, cores=cores)]


def start_commands(
    options: argparse.Namespace, folder: ModelFolder, converted: Path, builtin: ModelFolder, shipped: Path
) -> dict[str, list[str]]:
    """Return the whole commands that translate a line: ours and the plain script's, of the built-in and this model."""
    search = ["--beam-size", str(BEAM_SIZE), "--length-penalty", "length", "--alpha", str(ALPHA)]
    return {
        "built-in: nmt translate": [options.nmt, "translate"],
        "built-in: CTranslate2 script": [*plain_command(builtin, shipped, "int8"), "--once"],
        "model: nmt translate": [options.nmt, "translate", "--model", str(options.model), *search],
        "model: CTranslate2 script": [*plain_command(folder, converted, "float32"), "--once"],
    }


def first_line(name: str, sources: Sequence[str]) -> str:
    """Return what a command of `start_commands` translates."""
    return HELLO if name.startswith("built-in") else sources[0]


def by_decoder(seen: Iterable[Decoding], mode: str) -> dict[str, list[Decoding]]:
    """Return what was seen of each contender in a mode, round after round."""
    found: dict[str, list[Decoding]] = {}
    for decoding in seen:
        if decoding.mode == mode:
            found.setdefault(decoding.decoder, []).append(decoding)
    return found


def references(names: Iterable[str]) -> list[str]:
    """Return the contenders of others, to which ratios are taken."""
    return [name for name in names if not name.startswith("nmt ")]


def over(found: Mapping[str, list[Decoding]], name: str, reference: str) -> Spread:
    """Return how much faster one contender was than another, in sentences a second, round by round."""
    ours, theirs = ([each.lines_per_second for each in found[which]] for which in (name, reference))
    return ratios(ours, theirs)


def summary(seen: Sequence[Decoding]) -> dict[str, dict[str, dict[str, object]]]:
    """Return by mode and contender medians with their least and most, and the ratios of the same rounds."""
    return {
        mode: {
            name: {
                "sentences_per_second": spread(each.lines_per_second for each in of),
                "output_tokens_per_second": spread(each.tokens_per_second for each in of),
                **{f"over {other}": over(found, name, other) for other in references(found)},
            }
            for name, of in found.items()
        }
        for mode in MODES
        if (found := by_decoder(seen, mode))
    }


def as_table(seen: Sequence[Decoding], mode: str, scores: Mapping[str, float]) -> str:
    """Return what was seen in a mode for people; BLEU is that of the batched outputs."""
    found = by_decoder(seen, mode)
    rows = [
        [
            f"{name} ({of[0].setting})" if mode == MODES[0] else name,
            f"{of[0].lines:,}",
            f"{spread(each.lines_per_second for each in of):,.1f}",
            f"{spread(each.tokens_per_second for each in of).median:,.0f}",
            *([f"{scores[name]:.2f}"] if mode == MODES[0] else []),
            *(f"{over(found, name, other):.2f}" for other in references(found)),
        ]
        for name, of in found.items()
    ]
    heads = ["", "lines", "sentences/s", "output tokens/s", *(["BLEU"] if mode == MODES[0] else [])]
    return table([*heads, *(f"/ {other}" for other in references(found))], rows)


def show(
    options: argparse.Namespace, seen: Sequence[Decoding], scores: Mapping[str, float], starts: Sequence[Start]
) -> None:
    """Print all tables."""
    print(f"\n{options.model} on {processes.machine()}; beam {BEAM_SIZE}, {options.rounds} rounds")
    for mode in MODES:
        print(f"\n{mode}:\n\n{as_table(seen, mode, scores)}")
    rows = [
        [name, *(f"{spread(getattr(each, field) for each in starts if each.command == name):.2f}" for field in FIELDS)]
        for name in dict.fromkeys(each.command for each in starts)
    ]
    print(f"\none line, the whole command, warm:\n\n{table(['', 'seconds', 'CPU seconds'], rows)}")
    shares = [each.others_share for each in seen] + [each.others_share for each in starts]
    disturbed = sum(share > DISTURBED for share in shares)
    print(f"\n{disturbed} of {len(shares)} windows were disturbed by other processes; details in {options.out}")


if __name__ == "__main__":
    main()
