"""Decoding an encoding is the identity, and typed text never becomes a control symbol (reports 20 and 21)."""

from __future__ import annotations

from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.errors import DataError, ModelError
from nmt_cli.subwords.learning import learn_subwords
from nmt_cli.subwords.segmenter import END, PAD, STAND_INS, UNKNOWN, Segmenter

AWKWARD = [
    "",
    " ",
    "  double  spaces  ",
    " leading",
    "trailing ",
    "\ttab\tand tab\t",
    "no\u00a0break, ideo\u3000graphic, zero\u200dwidth\u200bspace",
    "e\u0301 and \u00e9 and a\u0308\u0323",
    "👍🏽 👩\u200d👩\u200d👧 🇩🇪",
    "<pad> </s> <s> <unk> <mask> ▁ @@ x@@ ||| ##AT##-##AT##",
    "</w>",
    "<0x41> <0xFF> <0x00>",
    "▁",
    "▁▁ ▁a▁",
    " ▁ ",
    "\ufdd0 beside ▁ and \ufdd1",
    "c\u2028d e\u0085f g\x0bh\x0ci j\rk l\x1cm\x1dn\x1eo p\u2029q\r \ufeffr",
    "a\0b",
    "▅ ▅▅",
    "中文和English混排。",
    "won't “can't” &lt;b&gt; {0} %s 7'6\"",
    "\U0010ffff \uffff \ue000",
]


def round_trip(segmenter: Segmenter, line: str) -> list[int]:
    [ids] = segmenter.encode([line])
    assert segmenter.decode(ids) == line
    return ids


@pytest.mark.parametrize("line", AWKWARD)
def test_an_awkward_line_comes_back_as_typed_and_holds_no_control_symbol(segmenter: Segmenter, line: str) -> None:
    assert not {PAD, END, UNKNOWN} & set(round_trip(segmenter, line))


def test_a_word_of_a_hundred_thousand_letters_comes_back(segmenter: Segmenter) -> None:
    round_trip(segmenter, "x" * 100_000)
    round_trip(segmenter, "日" * 20_000)


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back_and_holds_no_control_symbol(segmenter: Segmenter, line: str) -> None:
    assert not {PAD, END, UNKNOWN} & set(round_trip(segmenter, line))


marks = st.lists(st.sampled_from(["▁", " ", "a", "日", *STAND_INS[:3], "\ufdcf", "\ufdf0", "</s>"])).map("".join)


@settings(max_examples=300, deadline=None)
@given(marks)
def test_space_marks_among_their_stand_ins_come_back(segmenter: Segmenter, line: str) -> None:
    round_trip(segmenter, line)


def test_a_line_with_every_stand_in_is_refused_only_if_it_needs_one(segmenter: Segmenter) -> None:
    round_trip(segmenter, "".join(STAND_INS))
    round_trip(segmenter, "".join(STAND_INS[:-1]) + "▁")
    with pytest.raises(DataError, match=r"U\+2581 and all of U\+FDD0 to U\+FDEF"):
        segmenter.encode(["".join(STAND_INS) + "▁"])


def test_a_line_is_cut_alike_alone_among_others_and_with_many_threads(segmenter: Segmenter) -> None:
    alone = [segmenter.encode([line])[0] for line in AWKWARD]
    assert segmenter.encode(AWKWARD) == alone
    assert segmenter.encode(AWKWARD * 20, threads=8) == alone * 20


def test_decoding_leaves_control_symbols_out_and_marks_broken_bytes(segmenter: Segmenter) -> None:
    [ids] = segmenter.encode(["the dog"])
    assert segmenter.decode([PAD, *ids, END, PAD]) == "the dog"
    [accented] = segmenter.encode(["Ω"])
    assert len(accented) == 3  # a space mark and two bytes
    assert segmenter.decode(accented[:-1]) == "\ufffd"


def test_pieces_are_named_and_spell_the_text(segmenter: Segmenter) -> None:
    [ids] = segmenter.encode(["the lazy dog"])
    assert "".join(segmenter.pieces(ids)) == "▁the▁lazy▁dog"
    assert segmenter.pieces([PAD, END, UNKNOWN, 3]) == ["<pad>", "</s>", "<unk>", "<0x00>"]


def test_what_is_no_model_of_ours_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.model").write_bytes(b"no model")
    for path in (tmp_path / "none.model", tmp_path / "text.model", tmp_path):
        with pytest.raises(ModelError, match="no SentencePiece model"):
            Segmenter.load(path)
    for name, changes in {
        "usual ids": {},
        "no bytes": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "byte_fallback": False},
    }.items():
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b c"] * 9),
            model_prefix=str(tmp_path / name),
            vocab_size=300,
            hard_vocab_limit=False,
            model_type="bpe",
            minloglevel=2,
            **({"byte_fallback": True} | changes),
        )
        with pytest.raises(ModelError, match="learn it with nmt bpe") as caught:
            Segmenter.load(tmp_path / f"{name}.model")
        assert "\n" not in str(caught.value)


def test_a_model_is_read_even_where_the_locale_cannot_spell_its_name(tmp_path: Path) -> None:
    plain, strange = tmp_path / "plain.model", tmp_path / "\udcff.model"
    learn_subwords(["some words to learn from"], plain, vocab_size=300)
    strange.write_bytes(plain.read_bytes())
    assert Segmenter.load(strange).encode(["words"]) == Segmenter.load(plain).encode(["words"])
