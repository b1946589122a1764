"""The peer: Hugging Face's MarianMTModel of a preset's sizes, trained beside `nmt train`.

On the very batches that `nmt train` takes, or on such as the peer's own trainer makes; same loss (label smoothing over
the other symbols, a sum over target tokens), same optimizer and learning rates; the model, its attention and its
arithmetic are the peer's. It reports as `nmt train` does, to RUN/metrics.jsonl. Run with the interpreter of the
environment that the Makefile installs for it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, distributed
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from transformers import MarianConfig, MarianMTModel  # type: ignore[import-not-found]

from nmt_cli.batches.corpus import EncodedCorpus, open_pieces
from nmt_cli.batches.cutting import cut_update
from nmt_cli.batches.padding import Batch, pad_batch
from nmt_cli.batches.plan import MICRO_BATCH_TOKENS, Indices, plan_of
from nmt_cli.config import ModelConfig, Settings, TrainingConfig
from nmt_cli.settings_files import resolve
from nmt_cli.subwords.segmenter import END, PAD
from nmt_cli.training.schedule import learning_rate


def main() -> None:
    """Read the options, start the other processes, and train until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--preset", required=True)
    parser.add_argument("--set", action="append", default=[], dest="assignments")
    parser.add_argument("--attention", choices=["eager", "sdpa"], required=True)
    parser.add_argument("--batches", choices=["ours", "own"], default="ours", help="own: as the peer's trainer does")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--run", type=Path, required=True)
    options = parser.parse_args()
    options.run.mkdir(parents=True, exist_ok=True)
    if options.rank == 0:
        for rank in range(1, options.processes):
            subprocess.Popen([sys.executable, *sys.argv, "--rank", str(rank)])
    torch.set_num_threads(options.threads)
    if options.processes > 1:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        meeting = (options.run / "meeting").resolve()
        distributed.init_process_group(
            "gloo", init_method=f"file://{meeting}", rank=options.rank, world_size=options.processes
        )
    settings = resolve(preset=options.preset, config=None, assignments=options.assignments)
    pieces = open_pieces(options.data)
    torch.manual_seed(settings.training.seed)
    model = marian(settings.model, vocab_size=pieces.target_vocab_size, attention=options.attention)
    corpus = pieces.split("train")
    updates = planned(corpus, settings.training) if options.batches == "ours" else grouped(corpus, settings.training)
    train(model, corpus, updates, settings, options.run, rank=options.rank, n_ranks=options.processes)


def marian(config: ModelConfig, *, vocab_size: int, attention: str) -> MarianMTModel:
    """Return the peer's model with the sizes of ours, one matrix for all three embeddings."""
    return MarianMTModel(
        MarianConfig(
            vocab_size=vocab_size,
            d_model=config.d_model,
            encoder_layers=config.n_encoder_layers,
            decoder_layers=config.n_decoder_layers,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            encoder_attention_heads=config.n_heads,
            decoder_attention_heads=config.n_heads,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            activation_dropout=config.ffn_dropout,
            activation_function="relu",
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
            max_position_embeddings=1024,
            pad_token_id=PAD,
            eos_token_id=END,
            decoder_start_token_id=PAD,
            forced_eos_token_id=END,
            use_cache=False,
            attn_implementation=attention,
        )
    ).train()


def train(
    model: MarianMTModel,
    corpus: EncodedCorpus,
    updates: Iterator[Indices],
    settings: Settings,
    run: Path,
    *,
    rank: int,
    n_ranks: int,
) -> None:
    """Take the updates, one after the other."""
    config = settings.training
    optimizer = torch.optim.AdamW(
        model.parameters(),
        betas=(config.adam_beta1, config.adam_beta2),
        eps=config.adam_epsilon,
        weight_decay=0.0,
        fused=True,
    )
    shared = model
    if n_ranks > 1:
        shared = DistributedDataParallel(model, gradient_as_bucket_view=True, broadcast_buffers=False)
    source_lengths, target_lengths = corpus.source.lengths, corpus.target.lengths
    report = Report(run / "metrics.jsonl", every=config.report_every_steps, is_lead=rank == 0)
    for step, pairs in enumerate(updates, start=1):
        parts = cut_update(
            pairs,
            source_lengths,
            target_lengths,
            micro_batch_tokens=config.micro_batch_tokens or MICRO_BATCH_TOKENS,
            n_ranks=n_ranks,
        )
        own = parts[rank::n_ranks]
        target_tokens = int(target_lengths[pairs].sum())
        for part in own:
            is_last = part is own[-1]
            with contextlib.nullcontext() if n_ranks == 1 or is_last else shared.no_sync():
                loss = batch_loss(shared, pad_batch(corpus, part), settings, vocab_size=model.config.vocab_size)
                # The gradient will be the mean over the processes.
                (loss * n_ranks / target_tokens).backward()  # type: ignore[no-untyped-call]
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, config, d_model=settings.model.d_model)
        optimizer.step()
        optimizer.zero_grad(set_to_none=n_ranks == 1)
        report.updated(step, source=int(source_lengths[pairs].sum()), target=target_tokens, loss=loss)


def planned(corpus: EncodedCorpus, config: TrainingConfig) -> Iterator[Indices]:
    """Yield the pairs of each update, epoch after epoch."""
    epoch = 0
    while True:
        yield from plan_of(corpus, config, epoch=epoch).updates
        epoch += 1


def grouped(corpus: EncodedCorpus, config: TrainingConfig) -> Iterator[Indices]:
    """Yield updates as the peer's trainer makes them with `group_by_length`, epoch after epoch.

    So many pairs an update that it has as many tokens as ours on average. Of each 50 updates drawn at random, the
    pairs are sorted by the length of the source.
    """
    source_lengths, target_lengths = corpus.source.lengths, corpus.target.lengths
    n_pairs = max(1, round(config.tokens_per_update / max(source_lengths.mean(), target_lengths.mean())))
    generator = np.random.default_rng(config.seed)
    while True:
        order = generator.permutation(len(source_lengths))
        for first in range(0, len(order), 50 * n_pairs):
            drawn = order[first : first + 50 * n_pairs]
            by_length = drawn[np.argsort(-source_lengths[drawn], kind="stable")]
            yield from (by_length[place : place + n_pairs] for place in range(0, len(by_length), n_pairs))


def batch_loss(model: MarianMTModel, batch: Batch, settings: Settings, *, vocab_size: int) -> Tensor:
    """Return the smoothed loss summed over the real target tokens."""
    source, gold = torch.from_numpy(batch.source), torch.from_numpy(batch.target_out)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=settings.training.precision == "bfloat16"):
        logits = model(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            decoder_input_ids=torch.from_numpy(batch.target_in),
        ).logits
        # torch spreads the mass over all symbols, the gold one too; the paper over the others.
        return functional.cross_entropy(
            logits.flatten(0, 1),
            gold.flatten(),
            ignore_index=PAD,
            reduction="sum",
            label_smoothing=settings.training.label_smoothing * vocab_size / (vocab_size - 1),
        )


class Report:
    """Counts tokens, and writes a line every so many updates."""

    def __init__(self, path: Path, *, every: int, is_lead: bool) -> None:
        """Count from now on."""
        self._path, self._every, self._is_lead = path, every, is_lead
        self._source = self._target = 0
        self._began = self._last = time.perf_counter()

    def updated(self, step: int, *, source: int, target: int, loss: Tensor) -> None:
        """Count an update, and write when it is time."""
        self._source += source
        self._target += target
        if step % self._every or not self._is_lead:
            return
        now = time.perf_counter()
        record = {
            "kind": "training",
            "step": step,
            "source_tokens_per_second": self._source / (now - self._last),
            "target_tokens_per_second": self._target / (now - self._last),
            "last_loss_sum": float(loss.detach()),
            "seconds": now - self._began,
        }
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")
        self._source = self._target = 0
        self._last = now


if __name__ == "__main__":
    main()
