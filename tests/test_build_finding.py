"""Pools: what is found for a true reply and what is left out, with odd repositories and training files."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rejoinder.data.questions import find_right_candidates
from rejoinder.errors import InputError, SpecError
from rejoinder.selection.build import BuiltTestSet, build, find_pools
from rejoinder.selection.candidate_filter import describe_form, is_near_in_length, tidy_text
from rejoinder.selection.contexts import collect_contexts
from rejoinder.selection.leakage import MIN_LETTERS, find_copies, scan_training
from rejoinder.selection.pools import LEFT_OUT_KEY
from rejoinder.selection.settings import SelectionSettings, parse_reply_position
from rejoinder.sources import Corpus
from rejoinder.text.normalise import normalise_text
from rejoinder.types import Candidate, Dialogue, Item, Question, Reference, Turn

HOME = ("Shall we go by train?", "It is late already.", "What do you say?", "The train leaves at nine.", "Good then.")
TRAINS = (
    "No train ever stopped in our village.",
    "Her train set was a present.",
    "You missed the last train to London.",
    "The express train was full of soldiers.",
    "That train has a broken window.",
    "We watched the slow train from the hill.",
    "Nobody sells train tickets on Sunday.",
    "A train driver told me this story.",
    "Is this train going to Leeds.",
    "Some train passengers began to sing.",
    "My train of thought was lost.",
    "They build train engines in that hall.",
)
BM25 = ("bm25(query='reply')",)
PLAIN = SelectionSettings(judge=None, sources=BM25)


def talk(name: str, *texts: str, split: str | None = None) -> Dialogue:
    return Dialogue(name, tuple(Turn(text, "AB"[n % 2]) for n, text in enumerate(texts)), "talks", split)


def lines(*texts: str) -> list[Dialogue]:
    """A repository of single utterances."""
    return [Dialogue(f"u{n}", (Turn(text),)) for n, text in enumerate(texts)]


def shelf(*texts: str) -> list[Dialogue]:
    """A repository in which not every utterance has the same word, which would make the word worth nothing."""
    return lines(*texts, *(f"Who {verb} that." for verb in ("saw", "made", "ate", "hid", "sang", "drew")))


def false_of(built: BuiltTestSet) -> list[str]:
    return [one.text for question in built.questions for one in question.candidates if one.grade == "false"]


def found_of(pool: Question) -> list[str]:
    found = sorted((one for one in pool.candidates if one.grade is None), key=lambda one: one.meta["place"])
    return [one.text for one in found]


def test_the_first_three_turns_are_the_context_and_the_fourth_is_the_truth() -> None:
    built = build([talk("d", *HOME)], shelf(*TRAINS), PLAIN)
    (question,) = built.questions
    assert [turn.text for turn in question.context] == list(HOME[:3])
    assert [turn.speaker for turn in question.context] == ["A", "B", "A"]
    truth = question.candidates[min(find_right_candidates(question))]
    assert (truth.text, truth.source, truth.grade) == (HOME[3], "human", "true")
    assert len(question.candidates) == 4
    assert len(built.pools[0].candidates) == 11
    for one in question.candidates:
        if one is not truth:
            assert one.source == "bm25(query='reply')"
            assert one.grade == "false"
            assert shelf(*TRAINS)[int(one.meta["dialogue"][1:])].turns[one.meta["turn"]].text == one.text


def test_the_context_is_never_the_query() -> None:
    late = [f"It is late in {town} already." for town in ("Rome", "Bonn", "York", "Oslo", "Kiel")]
    built = build([talk("d", *HOME)], shelf(*late, *TRAINS[:4]), PLAIN)
    assert set(found_of(built.pools[0])) <= set(TRAINS)
    with pytest.raises(SpecError, match="bm25 searches with the context"):
        build([talk("d", *HOME)], shelf(*TRAINS), SelectionSettings(judge=None, sources=("bm25",)))


def test_a_source_whose_model_is_not_here_says_what_can_be_done() -> None:
    with pytest.raises(SpecError, match=r"models get glove-6b-50d; or use sources that need no other model: .*dense"):
        build([talk("d", *HOME)], shelf(*TRAINS), SelectionSettings(judge=None))


@pytest.mark.parametrize(
    ("position", "context", "truth"),
    [("first", HOME[:3], HOME[3]), ("last", HOME[1:4], HOME[4]), (4, HOME[:3], HOME[3]), (5, HOME[1:4], HOME[4])],
)
def test_the_true_reply_may_stand_elsewhere(position: str, context: Sequence[str], truth: str) -> None:
    (item,) = collect_contexts([talk("d", *HOME)], SelectionSettings(position=position)).items  # type: ignore[arg-type]
    assert [turn.text for turn in item.context] == list(context)
    assert item.references[0].text == truth
    assert item.truncated == (context[0] != HOME[0])


def test_a_drawn_position_goes_by_the_seed() -> None:
    long = talk("d", *(f"Turn {n} of many." for n in range(30)))
    drawn = {
        collect_contexts([long], SelectionSettings(position="random", seed=seed)).items[0].references[0].text
        for seed in range(20)
    }
    assert len(drawn) > 5
    assert parse_reply_position("random") == "random"
    assert parse_reply_position("7") == 7
    with pytest.raises(SpecError, match="no position is called 'frist'"):
        parse_reply_position("frist")
    with pytest.raises(SpecError, match="turn 3 cannot be the true reply"):
        SelectionSettings(position=3)


def test_dialogues_that_are_too_short_or_say_the_same_are_counted() -> None:
    given = [talk("a", *HOME), talk("b", *HOME[:3]), talk("c", *(text.upper() for text in HOME)), talk("d", *HOME[1:])]
    built = build(given, shelf(*TRAINS), PLAIN)
    told = built.card["dialogues"]
    assert told["dialogues"] == 4
    assert told["dialogues that are too short"] == 1
    assert told["contexts and replies that were there already"] == 1
    with pytest.raises(InputError, match="none of the 1 dialogues has 3 turns of context and a reply after them"):
        collect_contexts([talk("b", *HOME[:3])], SelectionSettings())
    with pytest.raises(InputError, match="there are no dialogues to build from"):
        collect_contexts([], SelectionSettings())
    with pytest.raises(InputError, match="two dialogues have the id 'a'"):
        collect_contexts([talk("a", *HOME), talk("a", *HOME)], SelectionSettings())


def test_items_and_questions_can_be_given_too() -> None:
    context = tuple(Turn(text) for text in HOME[:3])
    item = Item("i", (Turn("Well."), *context), (Reference(HOME[3]),))
    question = Question("q", context, (Candidate("Nonsense.", grade="false"), Candidate("A train.", grade="true")))
    taken = collect_contexts([item, question, Item("j", context)], SelectionSettings())
    assert [(one.id, len(one.context), one.references[0].text) for one in taken.items] == [
        ("i", 3, HOME[3]),
        ("q", 3, "A train."),
    ]
    assert taken.items[0].truncated
    assert taken.without_reply == 1


def test_what_is_nearly_the_same_stands_once() -> None:
    copies = (
        "the train leaves at nine!",
        "The train leaves at nine o.",
        "It is late, already.",
        *TRAINS[:6],
        TRAINS[0].upper(),
    )
    nearly = "No train ever stopped in our villages."
    built = build([talk("d", *HOME)], shelf(*copies, nearly), PLAIN)
    texts = found_of(built.pools[0])
    assert len({normalise_text(text) for text in texts}) == len(texts)
    assert normalise_text(HOME[3]) not in {normalise_text(text) for text in texts}
    assert len({TRAINS[0], nearly} & set(texts)) == 1
    why = built.pools[0].meta[LEFT_OUT_KEY]
    assert why["nearly the same as the true reply"] == 1
    assert why["nearly the same as another candidate"] == 1
    assert built.card["left out of pools"] == why
    assert LEFT_OUT_KEY not in built.questions[0].meta


def test_a_repository_of_ten_utterances_gives_a_short_pool() -> None:
    built = build([talk("d", *HOME)], lines(*TRAINS[:4], *("Who knows." for _ in range(6))), PLAIN)
    assert set(found_of(built.pools[0])) == set(TRAINS[:4])
    assert len(built.questions) == 1


def test_a_repository_with_too_little_is_an_error_that_says_what_is_missing() -> None:
    with pytest.raises(InputError, match=r"no question can be made from 1 pool .*each needs 3 false candidates"):
        build([talk("d", *HOME)], lines(*TRAINS[:2], HOME[3], HOME[3].lower()), PLAIN)
    with pytest.raises(InputError, match="there are no dialogues to make a corpus from"):
        build([talk("d", *HOME)], [], PLAIN)


def test_a_repository_that_holds_the_truth_never_gives_it_as_false() -> None:
    given = [
        talk("d", *HOME),
        talk("e", "Hello.", "Hello you.", "Tea or coffee?", "The coffee train is here.", "Fine."),
    ]
    built = build(given, [*shelf(*TRAINS, HOME[3], HOME[3].upper(), "The coffee train, is here"), *given], PLAIN)
    for question in built.questions:
        truth = normalise_text(question.candidates[min(find_right_candidates(question))].text)
        assert truth not in {normalise_text(one.text) for one in question.candidates if one.grade == "false"}


def test_nothing_comes_from_a_copy_of_the_questions_own_dialogue() -> None:
    copy = talk("copy", *(text.lower() for text in HOME[:3]), "a train it is, the night train.", HOME[3].lower())
    other = talk("other", "The weather is fine.", "A train came by.")
    corpus = Corpus.of([copy, other, *shelf(*TRAINS)])
    items = collect_contexts([talk("d", *HOME)], SelectionSettings()).items
    assert find_copies(items, corpus) == [frozenset({"copy", "d"})]
    built = build([talk("d", *HOME)], corpus, SelectionSettings(judge=None, sources=BM25, pool=14, alike=False))
    assert "copy" not in {one.meta.get("dialogue") for one in built.pools[0].candidates}
    assert "other" in {one.meta.get("dialogue") for one in built.pools[0].candidates}


def test_short_neighbours_alone_make_no_copy() -> None:
    assert len("how are you fine thanks") < MIN_LETTERS
    polite = talk("d", "How are you?", "Fine, thanks.", "What did you do on Sunday?", "I took a train.")
    corpus = Corpus.of([talk("e", "How are you?", "Fine, thanks.", "My train was late.")])
    assert find_copies(collect_contexts([polite], SelectionSettings()).items, corpus) == [frozenset({"d"})]


@pytest.mark.parametrize(
    ("letters", "counts"), [(MIN_LETTERS - 1, False), (MIN_LETTERS, True), (MIN_LETTERS + 1, True)]
)
@pytest.mark.parametrize("place", ["context", "future"])
def test_a_pair_of_turns_counts_from_thirty_letters_on(letters: int, counts: bool, place: str) -> None:
    assert MIN_LETTERS == 30
    pair = "a" * 14, "b" * (letters - 14)
    said = (Turn("The first thing said."), *map(Turn, pair)) if place == "context" else tuple(map(Turn, pair))
    item = Item("i", said if place == "context" else (), future=said if place == "future" else (), dialogue="own")
    copy = talk("copy", pair[0].upper() + "!", f"... {pair[1]}.")
    assert find_copies([item], Corpus.of([copy])) == [frozenset({"own", "copy"} if counts else {"own"})]
    assert scan_training([copy], [item]).leaked(item) is counts


def test_a_true_reply_after_its_turn_counts_however_short_and_only_within_one_dialogue() -> None:
    item = Item("i", (Turn("Hm?"),), (Reference("No."), Reference("Yes.")), dialogue="own")
    asked, said = talk("asked", "Well.", "Hm?"), talk("said", "No.", "Well.")
    for dialogues, copies in (
        ([talk("first", "Hm?", "No.", "Well.")], {"first"}),
        ([talk("last", "Well.", "Hm?", "No.")], {"last"}),
        ([asked, said], set()),  # the end of one dialogue and the beginning of the next
        ([talk("apart", "Hm?", "Well.", "No.")], set()),
        ([talk("turned", "No.", "Hm?")], set()),
        ([talk("second", "Hm?", "Yes.")], set()),  # only the first reference is the true reply
    ):
        assert find_copies([item], Corpus.of(dialogues)) == [frozenset({"own"} | copies)]
        assert scan_training(dialogues, [item]).leaked(item) is bool(copies)


def test_what_systems_were_trained_on_is_not_used() -> None:
    training = [talk("t", TRAINS[0].upper(), "Something else."), Item("i", (Turn("x"),), (Reference(TRAINS[1]),))]
    built = build([talk("d", *HOME)], shelf(*TRAINS), PLAIN, training=training)
    assert not {TRAINS[0], TRAINS[1]} & set(found_of(built.pools[0]))
    leakage = built.card["leakage"]
    assert leakage["checked against"] == 4
    assert leakage["utterances of the repository left out"] == 2
    with pytest.raises(InputError, match="all 12 utterances of the repository are in the training files"):
        build([talk("d", *HOME)], lines(*TRAINS), PLAIN, training=lines(*TRAINS))


def test_a_question_that_systems_were_trained_on_is_left_out() -> None:
    known, new = talk("d", *HOME), talk("e", "So?", "No idea.", "Think a bit more.", "The train ran without me.")
    trained = talk("t", "Well.", HOME[2].lower(), HOME[3].upper())
    built = build([known, new], shelf(*TRAINS), PLAIN, training=[trained])
    assert [question.id for question in built.questions] == ["e"]
    assert built.card["leakage"]["questions left out"] == 1
    seen = scan_training([trained], collect_contexts([known], SelectionSettings()).items)
    assert seen.leaked(collect_contexts([known], SelectionSettings()).items[0])
    with pytest.raises(InputError, match="all 1 questions are in the training files"):
        build([known], shelf(*TRAINS), PLAIN, training=[trained])


def test_candidates_share_a_content_word_with_the_truth_where_it_has_any() -> None:
    repository = shelf("It is at the door.", "At noon and at nine it is done.", *TRAINS[:3])
    strict = build([talk("d", *HOME)], repository, PLAIN)
    loose = build([talk("d", *HOME)], repository, SelectionSettings(judge=None, sources=BM25, related=False))
    assert "At noon and at nine it is done." in found_of(strict.pools[0])  # nine is a word of the truth
    assert "It is at the door." in found_of(loose.pools[0])
    assert "It is at the door." not in found_of(strict.pools[0])
    assert strict.card["overlap"]["share"]["value"] == 1.0
    empty, what = talk("d", *HOME[:3], "What is it?"), shelf("Is it so?", "What is at it?", "Is it her?", "What?")
    assert found_of(build([empty], what, PLAIN).pools[0])


def test_candidates_are_written_as_the_truth_is() -> None:
    odd = ["the train is small here.", "Train without an end", "train, so it is"]
    strict = build([talk("d", *HOME)], shelf(*odd, *TRAINS[:3]), PLAIN)
    assert set(found_of(strict.pools[0])) == set(TRAINS[:3])
    loose = build(
        [talk("d", *HOME)], shelf(*odd, *TRAINS[:3]), SelectionSettings(judge=None, sources=BM25, alike=False)
    )
    assert set(odd) < set(found_of(loose.pools[0]))
    spaced = [text.replace(".", " .") for text in TRAINS[:3]]
    assert set(found_of(build([talk("d", *HOME)], shelf(*spaced), PLAIN).pools[0])) == set(TRAINS[:3])
    kept = build([talk("d", *HOME)], shelf(*spaced), SelectionSettings(judge=None, sources=BM25, tidy=False))
    assert set(found_of(kept.pools[0])) == set(spaced)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes , it 's me , isn ’ t it ?", "Yes, it's me, isn't it?"),
        ("I do n't know ...", "I don't know..."),
        ("Fine :) I am", "Fine :) I am"),
        ("“ Well ” ,  he said .", '" Well ", he said.'),
        ("Two weeks ' holiday .", "Two weeks ' holiday."),
        ("3 . 5 is a number", "3. 5 is a number"),
        ("", ""),
    ],
)
def test_tidy_texts_have_one_kind_of_spaces_and_quotes(text: str, expected: str) -> None:
    assert tidy_text(text) == expected
    assert tidy_text(expected) == expected


def test_the_form_of_a_text_is_how_it_begins_and_ends() -> None:
    assert describe_form('"Yes."') == ("capital", True)
    assert describe_form("yes") == ("small", False)
    assert describe_form("9 o'clock!") == ("other", True)
    assert describe_form("好的。") == ("other", True)
    assert describe_form("") == ("other", False)


def test_candidates_are_about_as_long_as_the_truth() -> None:
    assert [is_near_in_length(5, n) for n in (1, 2, 12, 13)] == [False, True, True, False]
    assert is_near_in_length(0, 2)
    long = "That train, as I said to you when we were young and went by it every day, is gone."
    found = build([talk("d", *HOME)], shelf(long, "Train.", *TRAINS[:3]), PLAIN).pools[0]
    assert set(found_of(found)) == set(TRAINS[:3])
    assert found.meta[LEFT_OUT_KEY]["much longer or shorter than the true reply"] == 2


def test_other_scripts_work_by_their_words() -> None:
    said = ("你好。", "你好。", "你喜欢火车吗?", "我喜欢坐火车。", "好。")
    found = ["火车很快。", "这列火车晚点了。", "他在火车上睡觉。", "天气很好。"]
    built = build([talk("d", *said)], shelf(*found), PLAIN)
    assert len(built.questions) == 1
    assert set(false_of(built)) <= set(found)


def test_the_share_of_the_repository_goes_by_the_seed() -> None:
    def found(seed: int) -> frozenset[str]:
        settings = SelectionSettings(judge=None, sources=BM25, share=0.5, seed=seed, false=1)
        return frozenset(found_of(build([talk("d", *HOME)], shelf(*TRAINS), settings).pools[0]))

    pools = [found(seed) for seed in range(4)]
    assert len(set(pools)) == 4
    assert all(0 < len(pool) < len(TRAINS) for pool in pools)
    assert found(2) == pools[2]


def test_random_sets_differ_by_seed_and_never_hold_the_truth() -> None:
    repository = lines(*TRAINS, HOME[3], HOME[0].lower())
    sets = [build([talk("d", *HOME)], repository, SelectionSettings(random=True, seed=seed)) for seed in range(10)]
    assert len({frozenset(false_of(built)) for built in sets}) > 5
    for built in sets:
        assert len(false_of(built)) == 3
        assert not {normalise_text(HOME[3]), normalise_text(HOME[0])} & {
            normalise_text(text) for text in false_of(built)
        }
        assert {one.source for one in built.questions[0].candidates} == {"human", "random"}
        assert built.card["kind"] == "random"
        assert built.card["judged by"] == "nobody"
    assert build([talk("d", *HOME)], repository, SelectionSettings(random=True, seed=3)) == sets[3]


def test_a_random_set_can_be_made_of_the_questions_of_another() -> None:
    chosen = build([talk("d", *HOME)], shelf(*TRAINS), PLAIN)
    colours = "Blue is her colour.", "Red wine was spilt here.", "Some old men sang badly."
    drawn = build(chosen.questions, lines(*colours, "blue", "Not so?!"), SelectionSettings(random=True))
    (question,) = drawn.questions
    assert question.context == chosen.questions[0].context
    assert question.candidates[min(find_right_candidates(question))].text == HOME[3]
    assert set(false_of(drawn)) == set(colours)
    assert drawn.pools[0].meta[LEFT_OUT_KEY]["written in another form than the true reply"] == 1


@pytest.mark.parametrize("at_random", [False, True])
def test_the_true_reply_is_as_often_the_longest_as_the_shortest(at_random: bool) -> None:
    given = [talk(f"d{n}", f"Say {n}.", "No.", f"Go on {n}.", f"The train number {n} is mine.") for n in range(80)]
    short = [
        f"A {one} train {end}." for one in ("red", "old", "big", "wet") for end in ("came", "left", "stood", "sang")
    ]
    long = [
        f"They say that the {one} train was {end}."
        for one in ("first", "second", "third", "last", "express", "mail")
        for end in ("slow", "painted over", "stolen twice", "hers to keep", "far too long")
    ]
    settings = SelectionSettings(judge=None, sources=BM25, random=at_random)
    built = build(given, shelf(*long, *short), settings)
    assert len(built.questions) == 80
    assert 0.2 <= built.card["truth by length"]["longest"] <= 0.3
    assert 0.2 <= built.card["truth by length"]["shortest"] <= 0.3


def test_as_many_questions_as_are_wanted_in_the_order_of_the_dialogues() -> None:
    given = [talk(f"d{n}", f"Say {n}.", "No.", f"Go on {n}.", f"The train number {n} is mine.") for n in range(30)]
    built = build(given, shelf(*TRAINS), SelectionSettings(judge=None, sources=BM25, questions=7))
    names = [question.id for question in built.questions]
    assert len(names) == 7
    assert names == [one.id for one in given if one.id in names]
    other = build(given, shelf(*TRAINS), SelectionSettings(judge=None, sources=BM25, questions=7, seed=1))
    assert {question.id for question in other.questions} != set(names)
    pools = find_pools(given, shelf(*TRAINS), SelectionSettings(judge=None, sources=BM25, questions=7))
    assert [pool.id for pool in pools.questions] == names


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"context_turns": 0}, "context_turns must be at least 1"),
        ({"pool": 2}, "a pool of 2 is too small for 3 false candidates"),
        ({"share": 0.0}, "share must be above 0"),
        ({"sources": ()}, "no source is named"),
        ({"questions": 0}, "questions must be at least 1"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        SelectionSettings(**settings)  # type: ignore[arg-type]
