"""Sentences out of tails: people, agreement, capitals, one "to", one full stop. Expected texts were written by hand."""

from __future__ import annotations

import pytest

from rejoinder.augmentation.commonsense.phrases import make_person
from rejoinder.augmentation.commonsense.templates import SentenceWriter
from rejoinder.text.english.verbs import inflect_for_subject, verb_base_form


@pytest.mark.parametrize(
    ("relation", "tail", "expected"),
    [
        ("oReact", "happy", "I feel happy."),
        ("oReact", "feels~grateful", "I feel grateful."),
        ("oReact", "to be loved by personx", "I feel loved by you."),
        ("oReact", "like~they~lost~something", "I feel like I lost something."),
        ("oReact", "mad at personx 's friends", "I feel mad at your friends."),
        ("oEffect", "gets~a~gift", "I get a gift."),
        ("oEffect", "is~sad", "I am sad."),
        ("oEffect", "are surprised", "I am surprised."),
        ("oEffect", "has to pay", "I have to pay."),
        ("oEffect", "cries and runs home", "I cry and run home."),
        ("oEffect", "does n't know", "I don't know."),
        ("oEffect", "persony~thanks~personx", "I thank you."),
        ("oEffect", "person y is proud of person x", "I am proud of you."),
        ("oEffect", "hugs them", "I hug you."),
        ("oEffect", "losing money", "I am losing money."),
        ("oEffect", "enjoyed the party", "I enjoyed the party."),
        ("oEffect", "personx gets thanked", "You get thanked."),
        ("oWant", "to~go~home", "I want to go home."),
        ("oWant", "go home", "I want to go home."),
        ("oWant", "thanks personx", "I want to thank you."),
        ("oWant", "to talk to their friends", "I want to talk to my friends."),
        ("oWant", "personx~to~stay", "I want you to stay."),
        ("oWant", "for them to rest", "I want you to rest."),
        ("oWant", "a reward", "I want a reward."),
        ("oWant", "to see x 's house.", "I want to see your house."),
        ("CausesDesire", "eat apple", "I want to eat apple."),
        ("CausesDesire", "improve yourself", "I want to improve myself."),
        ("HasFirstSubevent", "open your mouth", "I will open my mouth."),
        ("HasFirstSubevent", "to pack", "I will pack."),
    ],
)
def test_a_tail_becomes_the_sentence_that_somebody_would_say(relation: str, tail: str, expected: str) -> None:
    assert SentenceWriter().write(relation, tail) == expected


@pytest.mark.parametrize("tail", ["none", "None", " none. ", "n/a", "no effect", "", "gets ___", "yes (stated)"])
@pytest.mark.parametrize("relation", ["oReact", "oEffect", "oWant", "CausesDesire", "HasFirstSubevent"])
def test_tails_that_say_nothing_are_dropped(relation: str, tail: str) -> None:
    assert SentenceWriter().write(relation, tail) is None


def test_an_effect_that_is_no_doing_of_the_speaker_is_dropped() -> None:
    assert SentenceWriter().write("oEffect", "head bleeds") is None
    assert SentenceWriter().write("oEffect", "personx 's friend smiles") is None


def test_somebody_else_may_be_the_second_person() -> None:
    assert SentenceWriter().write("oEffect", "persony smiles", make_person("Tom")) == "Tom smiles."
    assert SentenceWriter().write("oWant", "to thank persony", make_person("Tom")) == "I want to thank Tom."
    assert SentenceWriter().write("oWant", "to meet personz", third=make_person("Anna")) == "I want to meet Anna."


# The examples of Table 5 in Gangal et al. 2021, where PersonX is "you".
@pytest.mark.parametrize(
    ("relation", "tail", "expected"),
    [
        ("oEffect", "excited", "I feel excited."),
        ("oWant", "to thank personx", "I want to thank you."),
        ("oReact", "have a party", "I will have a party."),
    ],
)
def test_the_table_of_the_paper_can_be_had_as_it_is_printed(relation: str, tail: str, expected: str) -> None:
    assert SentenceWriter("table5").write(relation, tail) == expected


@pytest.mark.parametrize(
    ("word", "base"),
    [
        *[("gets", "get"), ("cries", "cry"), ("dies", "die"), ("watches", "watch"), ("kisses", "kiss")],
        *[("fixes", "fix"), ("goes", "go"), ("loses", "lose"), ("uses", "use"), ("realizes", "realize")],
        *[("is", "be"), ("has", "have"), ("plays", "play"), ("aches", "ache"), ("focuses", "focus")],
        *[("always", "always"), ("less", "less"), ("get", "get"), ("yes", "yes")],
    ],
)
def test_the_base_form_of_a_verb(word: str, base: str) -> None:
    assert verb_base_form(word) == base


def test_verbs_agree_with_i_and_you() -> None:
    assert [
        inflect_for_subject(word, "I") for word in ("is", "was", "were", "isn't", "gets")
    ] == "am was was,am not,get".replace(" was was", ",was,was").split(",")
    assert [inflect_for_subject(word, "you") for word in ("is", "was", "isn't", "has")] == [
        "are",
        "were",
        "aren't",
        "have",
    ]
