"""Words by Moses' rules, the compound split, and what is undone before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.scoring.moses import MosesRecipe, split_compounds, undo_tokeniser_marks


def split_by_scanning(text: str) -> str:
    """Walk through the text; a hyphen between two characters is split, and both characters are used up."""
    parts, position = [], 0
    while position < len(text):
        three = text[position : position + 3]
        if len(three) == 3 and three[1] == "-" and not three[0].isspace() and not three[2].isspace():
            parts.append(f"{three[0]} ##AT##-##AT## {three[2]}")
            position += 3
        else:
            parts.append(text[position])
            position += 1
    return "".join(parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a-b-c", "a ##AT##-##AT## b-c"),
        ("ab-cd-ef", "ab ##AT##-##AT## cd ##AT##-##AT## ef"),
        ("E-Mail - Konto", "E ##AT##-##AT## Mail - Konto"),
        ("vor- und nachher", "vor- und nachher"),
        ("1914–1918", "1914–1918"),
        ("a--b", "a ##AT##-##AT## -b"),
    ],
)
def test_a_hyphen_between_characters_is_split_from_left_to_right_without_overlap(text: str, expected: str) -> None:
    assert split_compounds(text) == expected


@given(st.text(alphabet="ab- –\u2028"))
def test_the_split_equals_a_walk_through_the_text(text: str) -> None:
    assert split_compounds(text) == split_by_scanning(text)


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("de", "Das war's, z.B. am 3. Mai.", "Das war ' s , z.B. am 3. Mai ."),
        ("en", "It's Mr. Smith's, isn't it?", "It 's Mr. Smith 's , isn 't it ?"),
        ("fr", "L'été n'est qu'un mot.", "L' été n' est qu' un mot ."),
        ("de", "Nord-Ost-Halle: 3,5% (1.000 €)", "Nord-Ost-Halle : 3,5 % ( 1.000 € )"),
        ("en", "one\u2028two\rthree\u00a0four\x85five", "one two three four five"),
        ("en", "", ""),
    ],
)
def test_a_language_has_its_apostrophes_and_abbreviations(language: str, text: str, words: str) -> None:
    assert MosesRecipe(language=language).words(text) == words.split()


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("a &quot; b &quot; c", 'a " b " c'),
        ("it &apos;s &lt;b&gt; &#91;x&#93; a &#124; b", "it 's <b> [x] a | b"),
        ("R &amp; B &amp;quot;", "R & B &quot;"),
        ("12 @-@ year @-@ old", "12-year-old"),
        ("a ##AT##-##AT## b", "a-b"),
    ],
)
def test_escapes_and_split_hyphens_of_tokenised_text_are_undone_once(marked: str, plain: str) -> None:
    assert undo_tokeniser_marks(marked, "de") == plain


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize(
    ("language", "plain", "tokenised"),
    [
        (
            "en",
            "He said: \"It's the 12-year-old boys' dog, isn't it?\"",
            "He said : &quot; It &apos;s the 12 @-@ year @-@ old boys &apos; dog , isn &apos;t it ? &quot;",
        ),
        ("fr", "Aujourd'hui, lorsqu'il pleut, l'été.", "Aujourd&apos; hui , lorsqu&apos; il pleut , l&apos; été ."),
        ("it", "Quest'anno l'acqua dell'Arno.", "Quest&apos; anno l&apos; acqua dell&apos; Arno ."),
        ("de", "Ist's wahr? 50% der E-Mails!", "Ist &apos; s wahr ? 50 % der E-Mails !"),
    ],
)
def test_text_tokenised_already_gives_the_words_of_the_plain_text(
    language: str, plain: str, tokenised: str, *, split: bool
) -> None:
    recipe = MosesRecipe(language=language, split_compounds=split)
    assert recipe.words(plain) == recipe.words(tokenised)


@pytest.mark.parametrize(
    ("recipe", "text", "words"),
    [
        (MosesRecipe(language="de"), "„Ja“, «so» ‚da‘ …", "„ Ja “ , « so » ‚ da ‘ …"),
        (MosesRecipe(language="de", straight_quotes=True), "„Ja“, «so» ‚da‘ …", '" Ja " , " so " \' da \' ...'),
        (
            MosesRecipe(language="de", lowercase=True, normalise_punctuation=True),
            "Ein Mann – „ÄRGERLICH“ – fährt Rad .",
            'ein mann - " ärgerlich " - fährt rad .',
        ),
    ],
    ids=["plain", "quotes straight", "as for Multi30k"],
)
def test_typographic_signs_stay_unless_the_recipe_says_otherwise(recipe: MosesRecipe, text: str, words: str) -> None:
    assert recipe.words(text) == words.split()


def test_a_signature_tells_each_step_of_the_recipe() -> None:
    recipe = MosesRecipe(
        lowercase=True, straight_quotes=True, normalise_punctuation=True, language="de", split_compounds=True
    )
    assert recipe.signature == "case:lc|quotes:straight|norm:yes|tok:moses-de|split:yes"
    assert MosesRecipe(language="fr").signature == "case:mixed|quotes:kept|norm:no|tok:moses-fr|split:no"
