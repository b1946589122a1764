"""An update made ready for one rank: its micro-batches cut and padded, and what the whole of it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from nmt_cli.batches.corpus import EncodedCorpus
from nmt_cli.batches.cutting import cut_update
from nmt_cli.batches.padding import Batch, pad_batch
from nmt_cli.batches.plan import Cursor, Indices


class MicroBatch(NamedTuple):
    """What goes through the model at a time."""

    place: int
    """Among those of the update, over all ranks: dropout draws from it."""
    batch: Batch


@dataclass(frozen=True)
class PreparedUpdate:
    """An update as one rank works on it."""

    cursor: Cursor
    """Where training stands after it."""
    drawn: Indices
    """Its pairs, by their places in the corpus that is trained on."""
    corpus: EncodedCorpus
    """Holds the pairs as they are cut into subwords this time."""
    pairs: Indices
    """Their places in that."""
    micro_batch_tokens: int
    micro_batches: list[MicroBatch]
    """The share of this rank."""
    positions: int
    """Padded positions of both sides, over all ranks."""

    @property
    def step(self) -> int:
        """Its number, from 1."""
        return self.cursor.step

    @property
    def source_lengths(self) -> Indices:
        """Tokens of each source, end symbols counted."""
        return self.corpus.source.lengths[self.pairs]

    @property
    def target_lengths(self) -> Indices:
        """Tokens of each target, end symbols counted."""
        return self.corpus.target.lengths[self.pairs]

    @property
    def target_tokens(self) -> int:
        """What its loss is divided by."""
        return int(self.target_lengths.sum())


def prepare_update(
    corpus: EncodedCorpus,
    pairs: Indices,
    *,
    cursor: Cursor,
    drawn: Indices | None = None,
    micro_batch_tokens: int,
    rank: int = 0,
    world_size: int = 1,
) -> PreparedUpdate:
    """Return an update made ready for a rank; `drawn` says where its pairs come from, if not from this corpus."""
    source_lengths, target_lengths = corpus.source.lengths, corpus.target.lengths
    parts = cut_update(pairs, source_lengths, target_lengths, micro_batch_tokens=micro_batch_tokens, n_ranks=world_size)
    return PreparedUpdate(
        cursor=cursor,
        drawn=pairs if drawn is None else drawn,
        corpus=corpus,
        pairs=pairs,
        micro_batch_tokens=micro_batch_tokens,
        micro_batches=[
            MicroBatch(place, pad_batch(corpus, parts[place])) for place in range(rank, len(parts), world_size)
        ],
        positions=sum(len(part) * int(source_lengths[part].max() + target_lengths[part].max()) for part in parts),
    )
