"""Formats of whole dialogues: DailyDialog, ParlAI, ConvoKit; and DSTC10's rated sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from importing import imported, save

from rejoinder.data.importers import ImportTally
from rejoinder.data.inputs import import_
from rejoinder.errors import InputError, SpecError
from rejoinder.types import Dialogue, Rating, Reference, Statement, Turn

DAILY = "Hello , you ! __eou__ Hi . __eou__ Tea ? __eou__\nBye ! __eou__ So long . __eou__\n"


def test_dailydialog_speakers_take_turns(tmp_path: Path) -> None:
    found = imported("dailydialog", save(tmp_path / "dialogues_validation.txt", DAILY))
    first = found.dialogues["dialogues_validation-1"]
    assert first.turns == (Turn("Hello , you !", "A"), Turn("Hi .", "B"), Turn("Tea ?", "A"))
    assert (first.corpus, first.split) == ("dailydialog", "valid")
    assert len(found.dialogues) == 2


def test_every_turn_after_the_first_is_an_item_when_asked(tmp_path: Path) -> None:
    found = imported("dailydialog", save(tmp_path / "d.txt", DAILY), form="items")
    assert list(found.items) == ["d-1/1", "d-1/2", "d-2/1"]
    item = found.items["d-1/1"]
    assert item.context == (Turn("Hello , you !", "A"),)
    assert item.references == (Reference("Hi .", "human"),)
    assert item.future == (Turn("Tea ?", "A"),)
    assert item.dialogue == "d-1"


def test_max_turns_needs_items(tmp_path: Path) -> None:
    path = save(tmp_path / "d.txt", DAILY)
    with pytest.raises(SpecError, match="give --as items with it"):
        imported("dailydialog", path, max_turns=1)
    found = imported("dailydialog", path, form="items", max_turns=1)
    assert [(i.truncated, len(i.context)) for i in found.items.values()] == [(False, 1), (True, 1), (False, 1)]


def test_an_empty_turn_is_counted_and_the_speakers_still_alternate(tmp_path: Path) -> None:
    tally = ImportTally()
    found = imported("dailydialog", save(tmp_path / "d.txt", "a __eou__ __eou__ c\n"), tally)
    assert found.dialogues["d-1"].turns == (Turn("a", "A"), Turn("c", "A"))
    assert tally.left_out == {"empty turns": 1}


def test_the_published_folder_gives_its_texts_alone(tmp_path: Path) -> None:
    folder = tmp_path / "dd"
    save(folder / "dialogues_text.txt", DAILY)
    save(folder / "train" / "dialogues_train.txt", DAILY)
    save(folder / "train" / "dialogues_act_train.txt", "1 2 1\n")
    found = imported("dailydialog", folder)
    assert list(found.dialogues) == ["train/dialogues_train-1", "train/dialogues_train-2"]
    assert {d.split for d in found.dialogues.values()} == {"train"}


def test_text_without_marks_is_not_dailydialog(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"d\.txt line 2: has no __eou__ \(found 'Once upon'\)"):
        imported("dailydialog", save(tmp_path / "d.txt", "a __eou__\nOnce upon\n"))


def test_dailydialogs_test_set_has_a_thousand_dialogues(published: Path) -> None:
    path = published / "corpora" / "dailydialog" / "dialogues_test.txt"
    out = [record for record in import_("dailydialog", path) if isinstance(record, Dialogue)]
    # Counted with grep and wc: 1,000 lines, 7,740 marks, 12 of them in the last line. 6,740 is also the number of
    # contexts in the set with several references that Gupta et al. (2019) made of these dialogues.
    assert len(out) == 1000
    assert sum(len(dialogue.turns) - 1 for dialogue in out) == 6740
    assert (out[0].id, len(out[0].turns), out[0].split) == ("dialogues_test-1", 12, "test")
    assert (out[-1].id, len(out[-1].turns)) == ("dialogues_test-1000", 12)


PARLAI = (
    "text:Hello!\tlabels:Hi.|Good __PIPE__ day.\tlabel_candidates:x|y\n"
    "text:Two\\nlines\tlabels:Yes.\treward:1\tepisode_done:True\n"
    "text:__SILENCE__\tlabels:Welcome.\n"
    "text:Thanks.\teval_labels:Bye.\n"
)


def test_parlai_episodes_become_dialogues(tmp_path: Path) -> None:
    tally = ImportTally()
    found = imported("parlai", save(tmp_path / "p.txt", PARLAI), tally)
    assert found.dialogues["p-1"].turns == (
        Turn("Hello!", "A"),
        Turn("Hi.", "B"),
        Turn("Two\nlines", "A"),
        Turn("Yes.", "B"),
    )
    assert [t.text for t in found.dialogues["p-2"].turns] == ["Welcome.", "Thanks.", "Bye."]
    assert tally.left_out == {"further labels (--as items keeps them)": 1, "empty or silent turns": 1}


def test_parlai_labels_become_references(tmp_path: Path) -> None:
    tally = ImportTally()
    found = imported("parlai", save(tmp_path / "p.txt", PARLAI), tally, form="items")
    assert list(found.items) == ["p-1/1", "p-1/3", "p-2/2"]
    assert found.items["p-1/1"].references == (Reference("Hi."), Reference("Good | day."))
    assert found.items["p-1/1"].future == (Turn("Two\nlines", "A"), Turn("Yes.", "B"))
    assert [t.text for t in found.items["p-2/2"].context] == ["Welcome.", "Thanks."]
    assert tally.left_out["labels that open an episode"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Hello!\n", r"p\.txt line 1: 'Hello!' is not a field"),
        ("\nid:x\treward:1\n", r"line 2: has neither 'text' nor 'labels' \(found fields: 'id, reward'\)"),
        ("text:a\tepisode_done:maybe\n", "line 1: episode_done is 'maybe'; it must be True or False"),
    ],
)
def test_a_bad_line_of_parlai_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        imported("parlai", save(tmp_path / "p.txt", text))


def utterance(name: str, text: str | None, reply_to: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": name, "conversation_id": "c", "speaker": "ann", "text": text, "reply-to": reply_to, **more}


def corpus(folder: Path, utterances: list[dict[str, Any]]) -> Path:
    save(folder / "utterances.jsonl", utterances)
    save(folder / "corpus.json", {"name": "tea-corpus"})
    return folder


def test_a_convokit_thread_is_a_dialogue(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "k", [utterance("1", "Hello!"), utterance("2", "Hi.", "1", speaker="bob")])
    dialogue = imported("convokit", folder).dialogues["c"]
    assert dialogue.turns == (Turn("Hello!", "ann"), Turn("Hi.", "bob"))
    assert dialogue.corpus == "tea-corpus"


def test_a_thread_is_ordered_by_its_replies_not_by_its_lines(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "k", [utterance("3", "c", "2"), utterance("1", "a"), utterance("2", "b", "1")])
    assert [t.text for t in imported("convokit", folder).dialogues["c"].turns] == ["a", "b", "c"]


def test_a_conversation_without_links_keeps_the_order_of_its_lines(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "k", [utterance("1", "a"), utterance("2", "b"), utterance("3", "c")])
    assert [t.text for t in imported("convokit", folder).dialogues["c"].turns] == ["a", "b", "c"]


def test_the_older_names_of_convokit_are_read_too(tmp_path: Path) -> None:
    old = [
        {"id": "1", "root": "1", "user": "ann", "text": "Hello!", "reply_to": None},
        {"id": "2", "root": "1", "user": "bob", "text": "Hi.", "reply_to": "1"},
    ]
    save(tmp_path / "k" / "utterances.json", old)
    dialogue = imported("convokit", tmp_path / "k").dialogues["1"]
    assert dialogue.turns == (Turn("Hello!", "ann"), Turn("Hi.", "bob"))
    assert dialogue.corpus == "k"


BRANCHING = [
    utterance("1", "Tea?"),
    utterance("2", "Yes.", "1"),
    utterance("3", "No.", "1"),
    utterance("4", "Why not?", "3"),
    utterance("5", "I am late.", "4"),
]


def test_every_way_through_a_branching_thread_is_a_dialogue(tmp_path: Path) -> None:
    found = imported("convokit", corpus(tmp_path / "k", BRANCHING))
    assert {name: [t.text for t in d.turns] for name, d in found.dialogues.items()} == {
        "c/2": ["Tea?", "Yes."],
        "c/5": ["Tea?", "No.", "Why not?", "I am late."],
    }


def test_all_replies_to_an_utterance_are_references_of_one_item(tmp_path: Path) -> None:
    found = imported("convokit", corpus(tmp_path / "k", BRANCHING), form="items")
    assert list(found.items) == ["c/1", "c/3", "c/4"]
    assert found.items["c/1"].references == (Reference("Yes."), Reference("No."))
    assert found.items["c/1"].future == ()
    assert [t.text for t in found.items["c/3"].context] == ["Tea?", "No."]
    assert [t.text for t in found.items["c/3"].future] == ["I am late."]


def test_an_utterance_without_text_is_passed_over_and_counted(tmp_path: Path) -> None:
    folder = corpus(
        tmp_path / "k",
        [utterance("1", "a"), utterance("2", None, "1"), utterance("3", "c", "2"), utterance("4", "d", "gone")],
    )
    tally = ImportTally()
    found = imported("convokit", folder, tally)
    assert {name: [t.text for t in d.turns] for name, d in found.dialogues.items()} == {"c/3": ["a", "c"], "c/4": ["d"]}
    assert tally.left_out == {"utterances without text": 1, "links to utterances that are not there": 1}


def test_replies_in_a_circle_are_counted(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "k", [utterance("1", "a"), utterance("2", "b", "3"), utterance("3", "c", "2")])
    tally = ImportTally()
    assert len(imported("convokit", folder, tally).dialogues) == 1
    assert tally.left_out == {"utterances that reply to each other in a circle": 2}


@pytest.mark.parametrize(
    ("utterances", "said"),
    [
        ([{"conversation_id": "c", "text": "a"}], "line 1: the utterance has no 'id'"),
        ([{"id": "1", "text": "a"}], "line 1: the utterance has no 'conversation_id'"),
        (
            [utterance("1", "a"), utterance("1", "b")],
            r"line 2: utterance '1' was already in .*utterances\.jsonl line 1",
        ),
        ([{**utterance("1", "a"), "text": 3}], "line 1: 'text' is 3"),
        ([utterance("1", "a", speaker=[])], r"line 1: 'speaker' is \[\]"),
        (["x"], "line 1: expected an utterance"),
    ],
)
def test_a_bad_utterance_is_named(tmp_path: Path, utterances: list[Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        imported("convokit", corpus(tmp_path / "k", utterances))


def test_a_folder_without_utterances_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it has no utterances\.jsonl"):
        imported("convokit", tmp_path)


RATED = {
    "dialogue_id": "x1",
    "model": "bot",
    "context": "Hello!\nHi.\nTea?",
    "response": "Yes, please.",
    "reference": ["No.", ""],
    "annotations": {"Makes Sense": [3, 4], "overall": 5, "odd": ["N/A (no error)", 2, None]},
}


def test_a_rated_response_of_dstc10_is_an_item_a_response_and_ratings(tmp_path: Path) -> None:
    tally = ImportTally()
    found = imported("dstc10", save(tmp_path / "r.json", [RATED]), tally)
    item = found.items["r-1"]
    assert [t.text for t in item.context] == ["Hello!", "Hi.", "Tea?"]
    assert (item.references, item.dialogue) == ((Reference("No."),), "x1")
    assert found.ratings == [
        Rating("rater-1", "makes-sense", 3.0, "r-1/bot"),
        Rating("rater-2", "makes-sense", 4.0, "r-1/bot"),
        Rating("rater-1", "overall", 5.0, "r-1/bot"),
        Rating("rater-2", "odd", 2.0, "r-1/bot"),
    ]
    assert tally.left_out == {"ratings that are not numbers": 2}


def test_systems_that_answer_one_context_share_its_item(tmp_path: Path) -> None:
    entries = [RATED, {**RATED, "model": "other", "dialogue_id": "x2"}, {**RATED, "response": "Never."}]
    found = imported("dstc10", save(tmp_path / "r.json", entries))
    assert [(r.item, r.system) for r in found.responses.values()] == [("r-1", "bot"), ("r-1", "other"), ("r-3", "bot")]


def test_names_before_the_lines_become_speakers(tmp_path: Path) -> None:
    entry = {**RATED, "context": "User: Hello!\nSystem: Hi.\nUser: Tea?", "response": "System: Yes: now."}
    found = imported("dstc10", save(tmp_path / "r.json", [entry]))
    assert found.items["r-1"].context == (Turn("Hello!", "User"), Turn("Hi.", "System"), Turn("Tea?", "User"))
    assert found.responses["r-1/bot"].text == "Yes: now."


def test_a_rated_dialogue_of_dstc10_keeps_its_ratings(tmp_path: Path) -> None:
    entry = {
        "dialog": [{"speaker": "human", "text": "Hello!"}, {"speaker": "model", "text": "Hi."}],
        "model": "bot",
        "annotations": {"Overall": [4]},
    }
    found = imported("dstc10", save(tmp_path / "r.json", [entry]))
    assert found.dialogues["r-1"].turns == (Turn("Hello!", "human"), Turn("Hi.", "model"))
    assert found.dialogues["r-1"].meta == {"system": "bot"}
    assert found.ratings == [Rating("rater-1", "overall", 4.0, dialogue="r-1")]


def test_usrs_list_of_responses_is_read_too(tmp_path: Path) -> None:
    entry = {
        "context": "Hello! \n\n",
        "fact": "Tea is warm.\n",
        "annotators": ["ann", "bob"],
        "responses": [{"response": "Hi. \n", "model": "a", "Natural": [1, 3]}, {"response": "Yo.", "model": "b"}],
    }
    found = imported("dstc10", save(tmp_path / "r.json", [entry]))
    assert found.items["r-1"].situation == (Statement("Tea is warm.", "fact"),)
    assert {r.system: r.text for r in found.responses.values()} == {"a": "Hi.", "b": "Yo."}
    assert found.ratings == [Rating("ann", "natural", 1.0, "r-1/a"), Rating("bob", "natural", 3.0, "r-1/a")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"context": ""}, r"r\.json entry 1: the context is empty"),
        ({"context": {"a": 1}}, r"entry 1: 'context' holds an object"),
        ({"response": " "}, r"entry 1: the response is empty; .*--empty drop"),
        ({"response": ["x"]}, "entry 1: 'response' holds a list"),
        ({"model": None}, "entry 1: neither 'model' nor 'system'"),
        ({"annotations": [3]}, r"entry 1: 'annotations' is \[3\]"),
        ({"annotations": {"x": [True]}}, "entry 1: 'x' holds True"),
    ],
)
def test_a_bad_entry_of_dstc10_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        imported("dstc10", save(tmp_path / "r.json", [{**RATED, **change}]))


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        # Counted in the files themselves; the 23,583 are FED's 23,750 answers less its 167 "N/A".
        ("fed/fed_data.json", {"dialogue": 125, "item": 375, "response": 375, "rating": 23583}),
        ("usr/tc_usr_data.json", {"item": 60, "response": 360, "rating": 6480}),
    ],
)
def test_fed_and_usr_are_read_whole(published: Path, file: str, counts: dict[str, int]) -> None:
    tally = ImportTally()
    for _ in import_("dstc10", published / "judgements" / file, tally=tally):
        pass
    assert tally.records == counts
