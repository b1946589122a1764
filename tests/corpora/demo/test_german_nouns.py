"""Declension against tables written down by hand from a school grammar."""

from __future__ import annotations

import pytest

from nmt_cli.corpora.demo import german_nouns
from nmt_cli.corpora.demo.lexicon import lexicon

# Determiner, adjective and noun for der Mann, die Frau, das Kind and die Kinder in the four cases.
DECLENSION = """
the  m  der alte Mann      den alten Mann     dem alten Mann      des alten Mannes
the  f  die alte Frau      die alte Frau      der alten Frau      der alten Frau
the  n  das alte Kind      das alte Kind      dem alten Kind      des alten Kindes
the  p  die alten Kinder   die alten Kinder   den alten Kindern   der alten Kinder
this m  dieser alte Mann   diesen alten Mann  diesem alten Mann   dieses alten Mannes
this f  diese alte Frau    diese alte Frau    dieser alten Frau   dieser alten Frau
this n  dieses alte Kind   dieses alte Kind   diesem alten Kind   dieses alten Kindes
this p  diese alten Kinder diese alten Kinder diesen alten Kindern dieser alten Kinder
a    m  ein alter Mann     einen alten Mann   einem alten Mann    eines alten Mannes
a    f  eine alte Frau     eine alte Frau     einer alten Frau    einer alten Frau
a    n  ein altes Kind     ein altes Kind     einem alten Kind    eines alten Kindes
no   p  keine alten Kinder keine alten Kinder keinen alten Kindern keiner alten Kinder
our  m  unser alter Mann   unseren alten Mann unserem alten Mann  unseres alten Mannes
her  f  ihre alte Frau     ihre alte Frau     ihrer alten Frau    ihrer alten Frau
some p  einige alte Kinder einige alte Kinder einigen alten Kindern einiger alter Kinder
many p  viele alte Kinder  viele alte Kinder  vielen alten Kindern vieler alter Kinder
"""
NOUNS = {"m": ("Mann", "Männer"), "f": ("Frau", "Frauen"), "n": ("Kind", "Kinder"), "p": ("Kind", "Kinder")}
ROWS = [line.split() for line in DECLENSION.strip().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_determiner_adjective_and_noun_agree_as_in_the_school_grammar(row: list[str]) -> None:
    word, gender, *texts = row
    for at, case in enumerate(german_nouns.CASES):
        singular, plural = NOUNS[gender]
        noun = german_nouns.noun_form(singular, plural, gender, case, is_plural=gender == "p", weak=False)
        made = [german_nouns.determiner(word, gender, case), german_nouns.adjective("alt", word, gender, case), noun]
        assert made == texts[3 * at : 3 * at + 3]


@pytest.mark.parametrize(
    ("gender", "forms"),
    [
        ("m", "kalter kalten kaltem kalten"),
        ("f", "kalte kalte kalter kalter"),
        ("n", "kaltes kaltes kaltem kalten"),
        ("p", "kalte kalte kalten kalter"),
    ],
)
def test_an_adjective_without_determiner_is_strong(gender: str, forms: str) -> None:
    assert [german_nouns.adjective("kalt", "", gender, case) for case in german_nouns.CASES] == forms.split()


@pytest.mark.parametrize(
    ("base", "form"),
    [("hoch", "hohe"), ("teuer", "teure"), ("dunkel", "dunkle"), ("sauber", "saubere"), ("lecker", "leckere")],
)
def test_some_adjectives_change_their_stem_before_an_ending(base: str, form: str) -> None:
    assert german_nouns.adjective(base, "the", "f", "nom") == form


def test_weak_nouns_have_their_ending_in_all_cases_but_the_nominative() -> None:
    nouns = {one.german: one for one in lexicon().nouns}
    for word, oblique in (("Junge", "Jungen"), ("Student", "Studenten"), ("Nachbar", "Nachbarn"), ("Affe", "Affen")):
        one = nouns[word]
        forms = [
            german_nouns.noun_form(word, one.german_plural, "m", case, is_plural=False, weak=one.weak)
            for case in german_nouns.CASES
        ]
        assert forms == [word, oblique, oblique, oblique]


@pytest.mark.parametrize(
    ("plural", "dative"),
    [("Bücher", "Büchern"), ("Autos", "Autos"), ("Frauen", "Frauen"), ("Hunde", "Hunden"), ("Lehrer", "Lehrern")],
)
def test_the_dative_plural_ends_in_n_unless_the_plural_ends_in_n_or_s(plural: str, dative: str) -> None:
    assert german_nouns.noun_form("-", plural, "m", "dat", is_plural=True, weak=False) == dative


@pytest.mark.parametrize(
    ("noun", "genitive"),
    [
        *[("Freund", "Freundes"), ("Arzt", "Arztes"), ("Bruder", "Bruders"), ("Chef", "Chefs"), ("Haus", "Hauses")],
        *[("Park", "Parks"), ("Hotel", "Hotels"), ("Museum", "Museums"), ("Krankenhaus", "Krankenhauses")],
        *[("Kind", "Kindes"), ("Sohn", "Sohns"), ("Gast", "Gastes"), ("Bahnhof", "Bahnhofs")],
    ],
)
def test_the_genitive_has_s_or_es(noun: str, genitive: str) -> None:
    assert german_nouns.noun_form(noun, "-", "m", "gen", is_plural=False, weak=False) == genitive


@pytest.mark.parametrize(
    ("preposition", "phrase", "text"),
    [
        *[("in", "dem Park", "im Park"), ("in", "das Kino", "ins Kino"), ("an", "dem See", "am See")],
        *[("zu", "der Post", "zur Post"), ("zu", "dem Arzt", "zum Arzt"), ("von", "dem Hotel", "vom Hotel")],
        *[
            ("in", "der Stadt", "in der Stadt"),
            ("an", "diesem Kurs", "an diesem Kurs"),
            ("auf", "das Bett", "auf das Bett"),
        ],
    ],
)
def test_prepositions_contract_with_the_article_only(preposition: str, phrase: str, text: str) -> None:
    assert german_nouns.prepositional(preposition, phrase) == text


# Nouns whose gender or plural learners get wrong, from a dictionary.
@pytest.mark.parametrize(
    ("word", "gender", "plural"),
    [
        *[("Mädchen", "n", "Mädchen"), ("Messer", "n", "Messer"), ("Gabel", "f", "Gabeln"), ("Löffel", "m", "Löffel")],
        *[("Käse", "m", ""), ("Butter", "f", ""), ("Apfel", "m", "Äpfel"), ("Bank", "f", "Bänke")],
        *[("Museum", "n", "Museen"), ("Tochter", "f", "Töchter"), ("Wort", "n", "Wörter"), ("Glas", "n", "Gläser")],
        *[("Schal", "m", "Schals"), ("See", "m", "Seen"), ("Werkstatt", "f", "Werkstätten"), ("Hase", "m", "Hasen")],
    ],
)
def test_the_lexicon_knows_gender_and_plural(word: str, gender: str, plural: str) -> None:
    one = next(one for one in lexicon().nouns if one.german == word)
    assert (one.gender, one.german_plural) == (gender, plural)
