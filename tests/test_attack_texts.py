"""What attacks and edits do to texts: worse replies are worse as said, harmless edits are harmless."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.probes import ATTACKS, EDITS, Exchange, ReplyPool
from rejoinder.probes.attacks import make_attack_text, pick_from_other_dialogue, read_generic_replies
from rejoinder.probes.edits import make_edit_text, remove_punctuation
from rejoinder.probes.sampling import draw_exchanges
from rejoinder.text.english.contractions import contract_words, expand_contractions, toggle_contractions
from rejoinder.text.english.synonym_replacement import load_replacements, replace_with_synonyms
from rejoinder.text.english.synonyms import find_word_meanings
from rejoinder.text.words import change_words, find_words, repeat_text, reverse_words
from rejoinder.types import Dialogue, Turn

ATTACK = {attack.name: attack for attack in ATTACKS}
EDIT = {edit.name: edit for edit in EDITS}
POOL = ReplyPool(
    (("c/1", "It was the train."), ("c/2", "A drop of milk."), ("c/3", "I am late again."), ("c/1", "Yes, it was."))
)


def exchange(reply: str = "It was the train.", following: str | None = "Not again!", n: int = 0) -> Exchange:
    context = (Turn("Good morning, Bob.", "Ann"), Turn("Morning.", "Bob"), Turn("Why are you so late today?", "Ann"))
    return Exchange(f"c/1#{n}", "c", "c/1", context, reply, following, pool=POOL)


def test_words_are_reversed_with_the_signs_that_cling_to_them() -> None:
    assert reverse_words("How are you, Ann?") == "Ann? you, are How"


def test_a_reply_is_repeated_three_times() -> None:
    assert repeat_text("Fine. ") == "Fine. Fine. Fine."


@given(st.lists(st.sampled_from("tea milk rain late train bus".split()), min_size=3, max_size=30), st.integers(0, 99))
def test_a_near_copy_keeps_most_of_its_words(words: list[str], seed: int) -> None:
    changed = change_words(random.Random(seed), " ".join(words) + "!", lambda _: "zebra")
    assert changed is not None
    assert changed == change_words(random.Random(seed), " ".join(words) + "!", lambda _: "zebra")
    assert changed.endswith("!")
    touched = max(1, round(0.2 * len(words)))
    assert changed.count("zebra") <= touched
    assert len(words) - touched <= len(find_words(changed)) <= len(words)
    kept = sum(min(words.count(word), find_words(changed).count(word)) for word in set(words))
    assert kept >= len(words) - touched


def test_a_text_of_two_words_has_no_near_copy() -> None:
    assert change_words(random.Random(0), "Good morning.", lambda _: "zebra") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("copy", {"Why are you so late today?"}),
        ("copy_earlier", {"Good morning, Bob.", "Morning."}),
        ("reversed", {"train. the was It"}),
        ("other_dialogue", {"A drop of milk.", "I am late again."}),
        ("generic", set(read_generic_replies())),
        ("repeated", {"It was the train. It was the train. It was the train."}),
        ("other_speaker", {"Not again!"}),
    ],
)
def test_every_attack_makes_what_it_says(name: str, expected: set[str]) -> None:
    made = {make_attack_text(ATTACK[name], 0, exchange(n=n)) for n in range(300)}
    assert made == expected


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("copy", "why are you so late today"),
        ("reversed", "Yes."),
        ("reversed", "Yes , yes"),
        ("other_speaker", "Not again."),
    ],
)
def test_an_attack_that_says_the_same_as_the_reply_is_left_out(name: str, reply: str) -> None:
    assert make_attack_text(ATTACK[name], 0, exchange(reply)) is None


def test_what_cannot_be_made_is_left_out() -> None:
    bare = Exchange("x", "c", "d", (Turn("Hello there."),), "Hello.")
    assert [name for name in ATTACK if make_attack_text(ATTACK[name], 0, bare) is None] == [
        "copy_earlier",
        "near_copy",
        "reversed",
        "other_dialogue",
        "other_speaker",
    ]
    alone = Exchange("x", "c", "c/2", bare.context, "Milk.", pool=ReplyPool((("c/2", "A drop."), ("c/2", "Milk."))))
    assert make_attack_text(ATTACK["other_dialogue"], 0, alone) is None


def test_an_attack_depends_on_the_seed_and_the_exchange_alone() -> None:
    assert len({make_attack_text(ATTACK["near_copy"], 7, exchange()) for _ in range(5)}) == 1
    assert len({make_attack_text(ATTACK["near_copy"], seed, exchange()) for seed in range(20)}) > 5


def test_generic_replies_are_about_twenty_and_all_different() -> None:
    assert 20 <= len(read_generic_replies()) == len(set(read_generic_replies())) <= 30


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("I don't know.", "I do not know."),
        ("It wasn't me, I couldn't.", "It was not me, I could not."),
        ("We won't, we can't.", "We will not, we cannot."),
        ("I'm sure they're here.", "I am sure they are here."),
        ("That's fine, it's been fun.", "That is fine, it has been fun."),
        ("I'd like tea, he'll pay.", "I would like tea, he will pay."),
        ("Let's go.", "Let us go."),
        ("DON'T GO", "DO NOT GO"),
        ("There ’ s tea , I don ' t mind .", "There is tea , I do not mind ."),
    ],
)
def test_contractions_are_written_out(short: str, long: str) -> None:
    assert expand_contractions(short) == long
    assert toggle_contractions(short) == long


@pytest.mark.parametrize("text", ["Don't you?", "Isn't it late?", "Ann's dog", "He'd gone.", "Isn’t that so?"])
def test_what_would_need_other_words_is_not_written_out(text: str) -> None:
    assert expand_contractions(text) == text


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("I do not know.", "I don't know."),
        ("I am late and it is raining.", "I'm late and it's raining."),
        ("I cannot go, I will not go.", "I can't go, I won't go."),
        ("I would like tea.", "I'd like tea."),
        ("We are not late.", "We aren't late."),
        ("I have been there.", "I've been there."),
    ],
)
def test_words_are_drawn_together_where_nothing_is_contracted(long: str, short: str) -> None:
    assert contract_words(long) == short
    assert toggle_contractions(long) == short


@pytest.mark.parametrize(
    "text", ["Yes, I am.", "I am and I like it.", "That is what they are.", "I have to go.", "She did."]
)
def test_a_clause_that_ends_in_its_verb_is_not_drawn_together(text: str) -> None:
    assert contract_words(text) == text.replace("That is what", "That's what")


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Well, I don't know... Really?!", "Well I don't know Really"),
        ("It's 10:30 a.m., $3.50 or 5%.", "It's 10:30 am $3.50 or 5%"),
        ("A well-known man (Bob's friend).", "A well known man Bob's friend"),
        ("Look at http://a.org/b_c, or read.me!", "Look at http://a.org/b_c, or read.me"),
        ("There ’ s tea , and I don ' t mind .", "There ’ s tea and I don ' t mind"),
        ("Yes,no", "Yes no"),
        ("...", ""),
    ],
)
def test_punctuation_goes_and_words_and_numbers_stay(text: str, bare: str) -> None:
    assert remove_punctuation(text) == bare


def test_every_pair_of_synonyms_shares_a_meaning_of_wordnet() -> None:
    assert len(load_replacements()) > 300
    for phrase, other in load_replacements().items():
        pairs = [(a, b) for a, b in zip(phrase.split(), other.split(), strict=True) if a != b]
        assert len(pairs) == 1, phrase
        assert all(find_word_meanings(a) & find_word_meanings(b) for a, b in pairs), (phrase, other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A movie!", "A film!"),
        ("MAYBE", "PERHAPS"),
        ("It is a difficult thing.", "It is a hard thing."),
        ("What a strange man.", "What an unusual man."),
        ("Rent an apartment", "Rent a flat"),
        ("That’s right.", "That's correct."),
        ("A moviegoer, an e-film, film's.", "A moviegoer, an e-film, film's."),
    ],
)
def test_synonyms_keep_case_and_article_and_never_cut_a_word(text: str, expected: str) -> None:
    made = {replace_with_synonyms(random.Random(seed), text) for seed in range(20)}
    assert expected in made


@given(st.integers(0, 999))
def test_at_most_two_words_become_synonyms(seed: int) -> None:
    text = "Maybe the kids usually buy a movie somewhere near the store, probably soon."
    made = replace_with_synonyms(random.Random(seed), text)
    assert sum(a != b for a, b in zip(text.split(), made.split(), strict=True)) == 2
    short = replace_with_synonyms(random.Random(seed), "Maybe the kids usually buy.")
    assert sum(a != b for a, b in zip("Maybe the kids usually buy.".split(), short.split(), strict=True)) == 1


def test_an_edit_that_changes_nothing_is_left_out() -> None:
    plain = exchange("yes it was")
    assert [make_edit_text(edit, 0, plain) for edit in EDITS] == [None] * len(EDITS)
    assert make_edit_text(EDIT["case"], 0, exchange("Yes!")) == "yes!"
    assert make_edit_text(EDIT["punctuation"], 0, exchange("...?!")) is None
    assert make_edit_text(EDIT["punctuation"], 0, exchange("yes  it\nwas")) is None


@given(st.text(max_size=60), st.integers(0, 9))
def test_no_text_breaks_an_attack_or_an_edit(text: str, seed: int) -> None:
    odd = Exchange("x", "c", "c/9", (Turn(text or "?"), Turn("Why?")), text, text, pool=POOL)
    for attack in ATTACKS:
        make_attack_text(attack, seed, odd)
    for edit in EDITS:
        make_edit_text(edit, seed, odd)


def test_a_reply_from_another_dialogue_never_comes_from_the_same_one() -> None:
    talks = [
        Dialogue(f"d{d}", tuple(Turn(f"dialogue {d} says number {i} of its own") for i in range(6)), "made", "test")
        for d in range(2)
    ]
    for exchange in draw_exchanges(talks, 10, "test", 0):
        own = exchange.reply.split()[1]
        others = {pick_from_other_dialogue(random.Random(seed), exchange) for seed in range(20)}
        assert others
        assert all(other is not None and other.split()[1] != own for other in others)
