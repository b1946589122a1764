"""Text <-> pieces <-> ids by a SentencePiece model, exactly reversible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import sentencepiece

from nmt_cli.errors import DataError, ModelError

PAD, END, UNKNOWN = 0, 1, 2
SPACE_MARK = "\u2581"
STAND_INS = tuple(chr(code) for code in range(0xFDD0, 0xFDF0))
"""Noncharacters, never learned as pieces: one of them carries a U+2581 of the text past SentencePiece."""


class Segmenter:
    """One side's subwords. Typed text never becomes a control symbol; decoding an encoding is the identity."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor) -> None:
        """Wrap a loaded processor; see `load`."""
        self._processor = processor
        self._byte_ids = [processor.piece_to_id(f"<0x{byte:02X}>") for byte in range(256)]

    @classmethod
    def load(cls, path: Path) -> Segmenter:
        """Read a SentencePiece model that has our control symbols.

        Raises:
            ModelError: missing, damaged, or with other control symbols.
        """
        try:
            # SentencePiece itself cannot open a name that the locale cannot spell.
            processor = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        except (RuntimeError, OSError):
            raise ModelError(f"{path}: no SentencePiece model") from None
        found = (processor.pad_id(), processor.eos_id(), processor.unk_id())
        if found != (PAD, END, UNKNOWN):
            raise ModelError(f"{path}: pad, end, unknown are {found}, not {(PAD, END, UNKNOWN)}; learn it with nmt bpe")
        if processor.piece_to_id("<0x00>") == UNKNOWN:
            raise ModelError(f"{path}: has no byte pieces; learn it with nmt bpe")
        return cls(processor)

    @property
    def vocab_size(self) -> int:
        """Number of pieces, control symbols and bytes among them."""
        return int(self._processor.get_piece_size())

    def encode(self, lines: Sequence[str], *, threads: int = 1) -> list[list[int]]:
        """Return the ids of each line, without an end symbol."""
        hidden = [self._hide_space_marks(line) for line in lines]
        encoded: list[list[int]] = self._processor.encode([text for text, _ in hidden], num_threads=threads)
        return [
            ids if stand_in is None else self._show_space_marks(ids, stand_in)
            for ids, (_, stand_in) in zip(encoded, hidden, strict=True)
        ]

    @property
    def is_bpe(self) -> bool:
        """Whether pieces are made by merges, in the order of `merge_ranks`."""
        try:
            self._processor.encode("a", enable_sampling=True, alpha=0.5, nbest_size=-1)
        except RuntimeError:  # a model of words or of characters
            return False
        try:
            self._processor.nbest_encode_as_ids("a", nbest_size=2)
        except RuntimeError:
            return True
        return False  # a unigram model, which ranks whole cuts

    def merge_ranks(self) -> dict[str, float]:
        """Return the pieces of a BPE model that two others make; of those that can be made, the lowest comes first."""
        names = self.pieces(range(self.vocab_size))
        return {
            name: -float(self._processor.get_score(place))
            for place, name in enumerate(names)
            if len(name) > 1 and self.is_text(place)
        }

    def is_text(self, piece: int) -> bool:
        """Tell a piece that spells text from control symbols, bytes and those that are not used."""
        processor = self._processor
        others = (processor.is_control, processor.is_unknown, processor.is_byte, processor.is_unused)
        return not any(is_other(piece) for is_other in others)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids; control symbols have none, bytes that are no UTF-8 read as U+FFFD."""
        return str(self._processor.decode([int(i) for i in ids]))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the name of each id, as for labels."""
        return [str(self._processor.id_to_piece(int(i))) for i in ids]

    def _hide_space_marks(self, text: str) -> tuple[str, str | None]:
        if SPACE_MARK not in text:
            return text, None
        stand_in = next((character for character in STAND_INS if character not in text), None)
        if stand_in is None:
            raise DataError(f"a line holds U+2581 and all of U+FDD0 to U+FDEF: {text[:40]!r}; remove one of them")
        return text.replace(SPACE_MARK, stand_in), stand_in

    def _show_space_marks(self, ids: list[int], stand_in: str) -> list[int]:
        hidden, shown = self._ids_of_bytes(stand_in), self._ids_of_bytes(SPACE_MARK)
        result: list[int] = []
        position = 0
        while position < len(ids):
            if ids[position : position + len(hidden)] == hidden:
                result += shown
                position += len(hidden)
            else:
                result.append(ids[position])
                position += 1
        return result

    def _ids_of_bytes(self, text: str) -> list[int]:
        return [self._byte_ids[byte] for byte in text.encode("utf-8")]
