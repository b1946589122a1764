"""Clauses built by hand against their sentences in both languages."""

from __future__ import annotations

import pytest

from nmt_cli.corpora.demo import clause as english
from nmt_cli.corpora.demo import german_clause as german
from nmt_cli.corpora.demo.clause import Clause, Complement
from nmt_cli.corpora.demo.drawn_clauses import negative
from nmt_cli.corpora.demo.lexicon import Adverbial, Noun, Verb, lexicon
from nmt_cli.corpora.demo.noun_phrase import Name, NounPhrase, Phrase, Pronoun, Question, Relative
from nmt_cli.corpora.demo.sentences import BE, written

YESTERDAY = Adverbial("yesterday", "gestern", "past")
OFTEN = Adverbial("often", "oft", "freq")
DAILY = Adverbial("every day", "jeden Tag", "habit")


def noun(word: str) -> Noun:
    return next(one for one in lexicon().nouns if one.english == word)


def verb(german_infinitive: str) -> Verb:
    return next(one for one in lexicon().verbs if one.german.infinitive == german_infinitive)


def the(word: str, determiner: str = "the", **more: object) -> NounPhrase:
    return NounPhrase(noun(word), determiner, **more)  # type: ignore[arg-type]


def clause(subject: Phrase | str, infinitive: str, *objects: NounPhrase, **more: object) -> Clause:
    who = Pronoun(subject) if isinstance(subject, str) else subject
    chosen = verb(infinitive)
    slots = [slot for slot in chosen.slots if slot.case in {"acc", "dat"}]
    complements = tuple(
        Complement(phrase, slot.case, slot.english_preposition, slot.german_preposition)
        for phrase, slot in zip(objects, slots, strict=True)
    )
    return Clause(who, chosen, complements=complements, **more)  # type: ignore[arg-type]


MOTHER = the("mother", "her")
CALL = clause("she", "anrufen", MOTHER)
BUY = clause(the("boy"), "kaufen", the("apple", "", is_plural=True), tense="past", time=YESTERDAY)


@pytest.mark.parametrize(
    ("made", "source", "target"),
    [
        (CALL, "she calls her mother", "sie ruft ihre Mutter an"),
        (CALL.but(tense="past"), "she called her mother", "sie hat ihre Mutter angerufen"),
        (CALL.but(tense="future"), "she will call her mother", "sie wird ihre Mutter anrufen"),
        (CALL.but(modal="have to"), "she has to call her mother", "sie muss ihre Mutter anrufen"),
        (CALL.but(modal="can", negated=True), "she can't call her mother", "sie kann ihre Mutter nicht anrufen"),
        (CALL.but(adverb=OFTEN), "she often calls her mother", "sie ruft ihre Mutter oft an"),
        (CALL.but(negated=True), "she doesn't call her mother", "sie ruft ihre Mutter nicht an"),
        (
            CALL.but(negated=True, time=DAILY),
            "she doesn't call her mother every day",
            "sie ruft ihre Mutter nicht jeden Tag an",
        ),
        (BUY, "the boy bought apples yesterday", "der Junge hat gestern Äpfel gekauft"),
        (BUY.but(time_first=True), "yesterday the boy bought apples", "gestern hat der Junge Äpfel gekauft"),
        (negative(BUY), "the boy didn't buy apples yesterday", "der Junge hat gestern keine Äpfel gekauft"),
        (
            clause("I", "geben", the("brother", "my"), the("book", "a"), tense="past"),
            "I gave my brother a book",
            "ich habe meinem Bruder ein Buch gegeben",
        ),
        (
            clause("we", "erklären", the("rule"), the("student")),
            "we explain the rule to the student",
            "wir erklären dem Studenten die Regel",
        ),
        (clause("you", "helfen", the("neighbor", "your")), "you help your neighbor", "du hilfst deinem Nachbarn"),
        (clause("they", "warten", the("bus")), "they wait for the bus", "sie warten auf den Bus"),
        (
            clause("he", "sich erinnern".removeprefix("sich "), the("trip"), negated=True),
            "he doesn't remember the trip",
            "er erinnert sich nicht an die Reise",
        ),
        (
            clause(Name("Anna", "f"), "teilnehmen", the("course"), tense="perfect"),
            "Anna has taken part in the course",
            "Anna hat am Kurs teilgenommen",
        ),
        (
            clause(
                "I",
                "fahren",
                tense="past",
                place=("to Berlin", "nach Berlin"),
                direction=True,
                company=the("sister", "my"),
            ),
            "I went to Berlin with my sister",
            "ich bin mit meiner Schwester nach Berlin gefahren",
        ),
        (
            Clause(the("soup"), BE, tense="past", predicate=("very hot", "sehr heiß"), negated=True),
            "the soup wasn't very hot",
            "die Suppe war nicht sehr heiß",
        ),
    ],
)
def test_a_statement_is_right_in_both_languages(made: Clause, source: str, target: str) -> None:
    assert (english.statement(made), german.statement(made)) == (source, target)


@pytest.mark.parametrize(
    ("made", "front", "source", "target"),
    [
        (CALL, ("", ""), "does she call her mother", "ruft sie ihre Mutter an"),
        (
            CALL.but(tense="past"),
            ("when", "wann"),
            "when did she call her mother",
            "wann hat sie ihre Mutter angerufen",
        ),
        (CALL.but(modal="want to"), ("", ""), "does she want to call her mother", "will sie ihre Mutter anrufen"),
        (
            CALL.but(tense="past", negated=True),
            ("why", "warum"),
            "why didn't she call her mother",
            "warum hat sie ihre Mutter nicht angerufen",
        ),
        (
            Clause(the("key", "my", is_plural=True), BE),
            ("where", "wo"),
            "where are my keys",
            "wo sind meine Schlüssel",
        ),
        (
            clause(the("neighbor", "your"), "ausruhen", tense="past"),
            ("", ""),
            "did your neighbor rest",
            "hat sich dein Nachbar ausgeruht",
        ),
    ],
)
def test_a_question_turns_verb_and_subject(made: Clause, front: tuple[str, str], source: str, target: str) -> None:
    assert (english.question(made, front[0]), german.question(made, front[1])) == (source, target)


def test_who_as_a_subject_needs_no_do() -> None:
    made = clause(Question(), "reparieren", the("car"), tense="past")
    assert (english.statement(made), german.statement(made)) == ("who repaired the car", "wer hat das Auto repariert")


@pytest.mark.parametrize(
    ("made", "target"),
    [
        (CALL, "dass sie ihre Mutter anruft"),
        (CALL.but(tense="past"), "dass sie ihre Mutter angerufen hat"),
        (CALL.but(modal="can"), "dass sie ihre Mutter anrufen kann"),
        (clause("I", "ausruhen"), "dass ich mich ausruhe"),
        (clause("he", "fernsehen", time=DAILY), "dass er jeden Tag fernsieht"),
        (clause("we", "spazieren gehen"), "dass wir spazieren gehen"),
    ],
)
def test_the_verb_stands_last_in_a_subordinate_clause(made: Clause, target: str) -> None:
    assert german.subordinate(made, "dass") == target


@pytest.mark.parametrize(
    ("made", "please", "source", "target"),
    [
        (clause("you", "öffnen", the("window")), True, "open the window", "öffne bitte das Fenster"),
        (clause("you", "anrufen", the("doctor")), False, "call the doctor", "ruf den Arzt an"),
        (
            negative(clause("you", "vergessen", the("key", "your"))),
            False,
            "forget your key",
            "vergiss deinen Schlüssel nicht",
        ),
        (clause("you", "ausruhen"), True, "rest", "ruh dich bitte aus"),
    ],
)
def test_a_command_begins_with_its_verb(made: Clause, please: bool, source: str, target: str) -> None:
    assert (english.infinitive(made), german.command(made, please=please)) == (source, target)


def test_zu_stands_between_a_prefix_and_its_verb() -> None:
    assert german.infinitive(CALL) == "ihre Mutter anzurufen"
    assert german.infinitive(clause("he", "reparieren", the("car", "his"))) == "sein Auto zu reparieren"


@pytest.mark.parametrize(
    ("antecedent", "case", "pronoun"),
    [
        *[("woman", "nom", "die"), ("man", "acc", ""), ("boy", "acc", "den"), ("girl", "nom", "das")],
        *[("boy", "dat", "dem"), ("woman", "dat", "der")],
    ],
)
def test_a_relative_pronoun_agrees_in_gender_and_stands_in_its_own_case(
    antecedent: str, case: str, pronoun: str
) -> None:
    if pronoun:
        assert Relative(the(antecedent)).german(case) == pronoun
    else:
        assert Relative(the("boy", is_plural=True)).german("dat") == "denen"


def test_owners_stand_before_in_english_and_after_in_german() -> None:
    car = NounPhrase(noun("car"), "the", owner=the("brother", "my"))
    assert (car.english(), car.german("nom")) == ("my brother's car", "das Auto meines Bruders")
    bicycle = NounPhrase(noun("bicycle"), "the", owner=Name("Anna", "f"))
    assert (bicycle.english(), bicycle.german("acc")) == ("Anna's bicycle", "Annas Fahrrad")


def test_writing_sets_capital_commas_and_mark() -> None:
    assert written("der Mann, der hier wohnt,, ist  alt", ".") == "Der Mann, der hier wohnt, ist alt."
    assert written("wir kennen den Mann, der hier wohnt,", "?") == "Wir kennen den Mann, der hier wohnt?"


def test_please_follows_the_pronouns() -> None:
    give = Clause(
        Pronoun("you"),
        verb("geben"),
        complements=(Complement(Pronoun("they"), "dat"), Complement(the("key"), "acc")),
    )
    assert german.request(give) == "ihnen bitte den Schlüssel geben"
    assert german.command(give, please=True) == "gib ihnen bitte den Schlüssel"
