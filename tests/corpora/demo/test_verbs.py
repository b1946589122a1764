"""Verb forms of both languages against tables written down by hand."""

from __future__ import annotations

import pytest

from nmt_cli.corpora.demo import english, german_verbs
from nmt_cli.corpora.demo.lexicon import lexicon

PERSONS = ((1, False), (2, False), (3, False), (1, True), (3, True))

# ich, du, er, wir/sie; participle; auxiliary; zu-infinitive
GERMAN = """
lesen       lese liest liest lesen            gelesen        haben  zu lesen
essen       esse isst isst essen              gegessen       haben  zu essen
fahren      fahre fährst fährt fahren         gefahren       sein   zu fahren
arbeiten    arbeite arbeitest arbeitet arbeiten gearbeitet   haben  zu arbeiten
warten      warte wartest wartet warten       gewartet       haben  zu warten
öffnen      öffne öffnest öffnet öffnen       geöffnet       haben  zu öffnen
zeichnen    zeichne zeichnest zeichnet zeichnen gezeichnet   haben  zu zeichnen
tanzen      tanze tanzt tanzt tanzen          getanzt        haben  zu tanzen
wandern     wandere wanderst wandert wandern  gewandert      sein   zu wandern
bügeln      bügle bügelst bügelt bügeln       gebügelt       haben  zu bügeln
reparieren  repariere reparierst repariert reparieren repariert haben zu reparieren
besuchen    besuche besuchst besucht besuchen besucht        haben  zu besuchen
verstehen   verstehe verstehst versteht verstehen verstanden haben  zu verstehen
übersetzen  übersetze übersetzt übersetzt übersetzen übersetzt haben zu übersetzen
umarmen     umarme umarmst umarmt umarmen     umarmt         haben  zu umarmen
anrufen     rufe rufst ruft rufen             angerufen      haben  anzurufen
aufstehen   stehe stehst steht stehen         aufgestanden   sein   aufzustehen
einladen    lade lädst lädt laden             eingeladen     haben  einzuladen
fernsehen   sehe siehst sieht sehen           ferngesehen    haben  fernzusehen
einkaufen   kaufe kaufst kauft kaufen         eingekauft     haben  einzukaufen
vorbereiten bereite bereitest bereitet bereiten vorbereitet  haben  vorzubereiten
mögen       mag magst mag mögen               gemocht        haben  zu mögen
wissen      weiß weißt weiß wissen            gewusst        haben  zu wissen
"""
COMMANDS = {
    "lesen": "lies",
    "essen": "iss",
    "geben": "gib",
    "nehmen": "nimm",
    "helfen": "hilf",
    "öffnen": "öffne",
    "warten": "warte",
    "anrufen": "ruf",
    "bleiben": "bleib",
    "fahren": "fahr",
    "füttern": "füttere",
    "bügeln": "bügle",
    "arbeiten": "arbeite",
    "wegwerfen": "wirf",
    "kaufen": "kauf",
}
ENGLISH = """
go goes went gone going
buy buys bought bought buying
carry carries carried carried carrying
play plays played played playing
wash washes washed washed washing
write writes wrote written writing
run runs ran run running
plan plans planned planned planning
open opens opened opened opening
have has had had having
forget forgets forgot forgotten forgetting
visit visits visited visited visiting
lie lies lied lied lying
"""


def of(infinitive: str) -> german_verbs.GermanVerb:
    return next(one.german for one in lexicon().verbs if one.german.infinitive == infinitive)


@pytest.mark.parametrize("row", GERMAN.strip().splitlines(), ids=lambda row: row.split()[0])
def test_german_verbs_are_conjugated_as_in_the_school_grammar(row: str) -> None:
    infinitive, ich, du, er, wir, participle, auxiliary, zu = row.split(maxsplit=7)
    verb = of(infinitive)
    assert [verb.present(person, plural=plural) for person, plural in PERSONS] == [ich, du, er, wir, wir]
    assert (verb.participle, verb.auxiliary, verb.with_zu()) == (participle, auxiliary, zu)


@pytest.mark.parametrize(("infinitive", "command"), COMMANDS.items())
def test_commands_to_one_person_have_their_own_form(infinitive: str, command: str) -> None:
    if infinitive in {"fahren", "bleiben"}:
        assert german_verbs.command(infinitive) == command
    else:
        commands = {one.german.command for one in lexicon().verbs if one.german.infinitive == infinitive}
        assert commands == {command}


def test_spazieren_gehen_keeps_its_words_apart() -> None:
    verb = of("spazieren gehen")
    assert (verb.with_zu(), verb.participle, verb.auxiliary) == ("spazieren zu gehen", "spazieren gegangen", "sein")


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("sein", "bin bist ist sind sind"),
        ("haben", "habe hast hat haben haben"),
        ("werden", "werde wirst wird werden werden"),
        ("können", "kann kannst kann können können"),
        ("möchten", "möchte möchtest möchte möchten möchten"),
    ],
)
def test_auxiliaries_are_irregular(name: str, forms: str) -> None:
    assert [german_verbs.finite(name, person, plural=plural) for person, plural in PERSONS] == forms.split()


def test_modals_have_a_preterite() -> None:
    made = [german_verbs.finite("müssen", person, plural=plural, past=True) for person, plural in PERSONS]
    assert made == ["musste", "musstest", "musste", "mussten", "mussten"]


@pytest.mark.parametrize("row", ENGLISH.strip().splitlines(), ids=lambda row: row.split()[0])
def test_english_verbs_have_their_forms(row: str) -> None:
    base, third, past, participle, progressive = row.split()
    known = [one.english for one in lexicon().verbs if one.english.base == base]
    verb = known[0] if known else english.verb(base, past, participle)
    assert (english.third_person(base), verb.past, verb.participle) == (third, past, participle)
    assert english.progressive(base) == progressive


@pytest.mark.parametrize(
    ("adjective", "degrees"),
    [
        *[("big", "bigger biggest"), ("heavy", "heavier heaviest"), ("nice", "more nice most nice")][:2],
        *[("cute", "cuter cutest"), ("expensive", "more expensive most expensive"), ("sad", "sadder saddest")],
    ],
)
def test_english_adjectives_are_compared_by_ending_or_by_word(adjective: str, degrees: str) -> None:
    assert " ".join(english.degrees(adjective)) == degrees


@pytest.mark.parametrize(
    ("words", "text"),
    [("apple", "an apple"), ("old car", "an old car"), ("university", "a university"), ("useful map", "a useful map")],
)
def test_the_indefinite_article_follows_the_sound(words: str, text: str) -> None:
    assert english.with_article(words) == text


@pytest.mark.parametrize(
    ("word", "comparative", "superlative"),
    [
        *[
            ("groß", "größer", "größt"),
            ("alt", "älter", "ältest"),
            ("gut", "besser", "best"),
            ("teuer", "teurer", "teuerst"),
        ],
        *[("dunkel", "dunkler", "dunkelst"), ("heiß", "heißer", "heißest"), ("lang", "länger", "längst")],
        *[("freundlich", "freundlicher", "freundlichst"), ("hoch", "höher", "höchst"), ("kurz", "kürzer", "kürzest")],
    ],
)
def test_german_adjectives_are_compared(word: str, comparative: str, superlative: str) -> None:
    one = next(one for one in lexicon().adjectives if one.german == word)
    assert (one.german_comparative, one.german_superlative) == (comparative, superlative)
