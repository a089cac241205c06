"""Published sets: the real files where REJOINDER_DATA has them, and made-up ones in the same formats everywhere."""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import orjson
import pytest

from rejoinder.data.collection import Collection, collect
from rejoinder.data.datasets import Dataset, dataset, datasets_under, list_datasets, read_dataset
from rejoinder.data.datasets._page import render_datasets_page
from rejoinder.data.inputs import Input
from rejoinder.data.schema import Place, from_object
from rejoinder.data.writer import encode_record
from rejoinder.errors import InputError, SpecError
from rejoinder.registry import Registry
from rejoinder.types import (
    Candidate,
    Dialogue,
    Item,
    Preference,
    Question,
    Rating,
    Reference,
    Response,
    Statement,
    Turn,
)

NAMES = [found.name for found in list_datasets()]

# The first, tenth and last record of each set: the first 12 digits of the sha256 of its line.
GOLDEN = {
    "chosen": ("f1a84b471122", "8420c5e72b6a", "1ae9c5583254"),
    "corpus/assistant": ("9b1e421aa777", "9e958d833f53", "b3c8765730c5"),
    "corpus/icsi": ("bfbd6e9884bd", "66ba310cf5a8", "eefec9ea6c24"),
    "corpus/permissive": ("928a5eb17e9d", "1707db4924f7", "b89289922436"),
    "corpus/dialogues": ("1a0947a94928", "008ac11639b1", "0f5a8a8ed376"),
    "dailydialog/test": ("438f25ce4ef1", "4ff50b99f47c", "59aa1e48acc0"),
    "dailydialog/train": ("8b0950a2f740", "90073f7b2888", "69ede5df75cd"),
    "dailydialog/valid": ("4dcff6e5fe01", "dfc15d552958", "12fa42d75f47"),
    "dailydialogpp/dev": ("263def92e9d9", "550e3590b9ed", "b81ec78588a4"),
    "dailydialogpp/test": ("8ea5509beaa6", "11c535b1faf2", "4b790a3d5745"),
    "fed/dialogue": ("cc4e0dab5ba7", "70ccc9124b85", "228841b1fd66"),
    "fed/turn": ("47bfaec5bfd2", "4c0923c87ae9", "a4ca24a5667d"),
    "gupta/multi": ("d914b3892fff", "191502e38826", "c9e454f0f1c3"),
    "gupta/scarce-multi": ("dc874b71c691", "191502e38826", "c9e454f0f1c3"),
    "gupta/scarce-single": ("5b2caba205a3", "191502e38826", "c9e454f0f1c3"),
    "gupta/single": ("a048aed85b7a", "191502e38826", "c9e454f0f1c3"),
    "idk/fed-correct": ("3f115db1246f", "0828df5a253d", "b723d284776a"),
    "idk/fed-relevant": ("a3c13e35d6af", "22df7d350e61", "b7faba6a6bf2"),
    "idk/humod": ("c98339f133ca", "faf8da5a57d0", "61b8cfe3d793"),
    "idk/pdd": ("c3c28d72cdb1", "3f58a40f84df", "02ccfa7f577a"),
    "idk/usr": ("d640e5ccc701", "42c29c64b4b1", "a1cf19a48252"),
    "llmbar/natural": ("3795102b9b3b", "dc10084120c5", "564cf94177f1"),
    "multirefeval": ("92d654283dc8", "71555ad22afb", "5b177f600f0e"),
    "pandalm": ("876560a8cfbf", "cbf9d6b01360", "97ae11f3d291"),
    "pang/context": ("6b6713e748dc", "04a13bc642cd", "5aa574877059"),
    "pang/fluency": ("6b6713e748dc", "43a86833fec8", "29aa0ad0b0dc"),
    "sugar/0/dev": ("aba734957b59", "5e60bb323bad", "2532987e4924"),
    "sugar/0/test": ("1c7a11acdff6", "fa72c779d8bf", "d7eb9a4b49ff"),
    "sugar/0/train": ("e1978c8c793e", "bdfbdf0003c7", "12f2c709768d"),
    "sugar/1/dev": ("aba734957b59", "c5fcc9e86364", "6afbe39bf7f4"),
    "sugar/1/test": ("b012b559f20d", "3619fa386a2d", "8aa0e97485ee"),
    "sugar/1/train": ("4231d67b39aa", "36c16a32a10a", "5c7758e87955"),
    "sugar/2/dev": ("0a0eb4df7c30", "78b1bfdfe850", "2532987e4924"),
    "sugar/2/test": ("ec9c308aecdb", "26adacb7ceed", "c6f6505b6636"),
    "sugar/2/train": ("4231d67b39aa", "36c16a32a10a", "12f2c709768d"),
    "sugar/3/dev": ("1e640b1dc480", "43f46a3745d5", "231084cfed34"),
    "sugar/3/test": ("8132a705dc61", "93afdb6b7691", "5226f9b76029"),
    "sugar/3/train": ("4231d67b39aa", "adc6e15af797", "5c7758e87955"),
    "sugar/4/dev": ("6cb240261077", "d74754d16904", "30d1c5ead531"),
    "sugar/4/test": ("a20267e606eb", "36f2f6868fe8", "8766c23ae59c"),
    "sugar/4/train": ("4231d67b39aa", "adc6e15af797", "b48afca8c14e"),
    "usr/topical_chat": ("d94ed40c0775", "5b19f181df1f", "6e8c90a3024d"),
}


def digest(record: Any) -> str:
    return hashlib.sha256(encode_record(record)).hexdigest()[:12]


@functools.cache
def read_once(name: str, folder: Path) -> Collection:
    """All records of a set whose bytes are the published ones; not of a corpus, which would fill the memory."""
    return collect(read_dataset(name, folder, verify=True))


@pytest.fixture(scope="module", autouse=True)
def free_memory() -> Iterator[None]:
    """The records of all sets go with the last test."""
    yield
    read_once.cache_clear()


@pytest.mark.parametrize("name", NAMES)
def test_a_published_set_has_its_count_and_its_first_tenth_and_last_record(name: str, published: Path) -> None:
    counts: Counter[str] = Counter()
    marked = []
    record = None
    for number, record in enumerate(read_dataset(name, published)):
        counts[type(record).__name__.lower() + "s"] += 1
        if number in (0, 9):
            marked.append(digest(record))
    assert counts == dict(dataset(name).counts)
    assert (*marked, digest(record)) == GOLDEN[name]


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("corpus/")])
def test_a_published_set_is_whole_and_can_be_written_and_read_back(name: str, published: Path) -> None:
    for record in read_once(name, published):
        assert from_object(orjson.loads(encode_record(record)), Place("line", 1), allow_empty=True) == record


# Table 3 of Berlot-Attwell, Rudzicz 2022, row IDK (H): Spearman with people, two decimals, the mean of three runs.
@pytest.mark.parametrize(
    ("name", "expected"), [("humod", 0.58), ("usr", 0.18), ("pdd", 0.53), ("fed-relevant", 0.24), ("fed-correct", 0.15)]
)
def test_the_published_idk_scores_give_the_published_correlation(name: str, expected: float, published: Path) -> None:
    from scipy.stats import spearmanr

    found = read_once(f"idk/{name}", published)
    scores = [found.responses[str(rating.response)].meta["idk"] for rating in found.ratings]
    assert spearmanr(scores, [r.value for r in found.ratings]).statistic == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("derived", "origin", "aspect"),
    [
        ("pdd", "pang/context", "relevance"),
        ("fed-relevant", "fed/turn", "relevant"),
        ("fed-correct", "fed/turn", "correct"),
    ],
)
def test_idk_rows_have_the_mean_of_the_original_ratings(
    derived: str, origin: str, aspect: str, published: Path
) -> None:
    values = defaultdict(list)
    for rating in read_once(origin, published).ratings:
        if rating.aspect == aspect:
            values[rating.response].append(rating.value)
    means = [rating.value for rating in read_once(f"idk/{derived}", published).ratings]
    assert [mean(v) for v in values.values()] == pytest.approx(means, abs=0.0051)


def test_scarce_adds_to_the_references_that_people_wrote(published: Path) -> None:
    human = read_once("gupta/multi", published).items
    for name, item in read_once("gupta/scarce-multi", published).items.items():
        by_source = defaultdict(list)
        for reference in item.references:
            by_source[reference.source].append(reference)
        assert tuple(by_source["human"]) == human[name].references
        assert 20 <= len(by_source["scarce"]) <= 42


@pytest.mark.parametrize("fold", range(5))
def test_the_splits_of_a_sugar_fold_are_disjoint_and_make_1760(fold: int, published: Path) -> None:
    parts = [read_once(f"sugar/{fold}/{part}", published).questions for part in ("train", "dev", "test")]
    assert sum(len(part) for part in parts) == len(set().union(*parts)) == 1760
    # Counted in the files: the distractors are graded (1, 1), (1, 2) or (2, 2), and no reference is Bad.
    assert sum(not q.meta["has_bad"] for part in parts for q in part.values()) == 167 + 101 + 8


# ---- made-up files in the formats of the published ones


def turn_row(context: str, response: str | None, values: list[Any]) -> dict[str, Any]:
    row = {"context": context, "system": "Meena ", "annotations": {"Error recovery": values}}
    return row if response is None else row | {"response": response}


def gupta_row(model: str, references: list[str], rating: str = "3.5") -> dict[str, Any]:
    row = {"model": model, "context_id": "7_1", "human_average_rating": rating, "response": f"{model} says so ."}
    return row | {"prevgt": "yes .", "all_references": references, "context": "hello .||||hi . you ?"}


def sugar_row(index: int, grades: tuple[int, int, int] = (2, 1, 0)) -> dict[str, Any]:
    row: dict[str, Any] = {
        "index": index,
        "u": "Bring tea?",
        "g": "to warm up",
        "polarity": "yes",
        "r": "Yes, with milk?",
    }
    row |= {"r.label": grades[0], "s.sents": ["It is cold.", "It is May."], "s.labels": ["environment", "date"]}
    row |= {"s.gold.sents.indices": [0], "s.expanded.gold.sents.indices": [1]}
    row |= {"s.expanded.sents": ["A dog barks.", "It is cold.", "It is May."]}
    row |= {"s.expanded.labels": ["environment", "environment", "date"]}
    row |= {f"s.expanded.dist.sents.indices.{n}": [0, 2] for n in (5, 10, 15)}
    return row | {
        "r.distractors": [{"index": 90 + i, "r": f"No {i}.", "r.label": grade} for i, grade in enumerate(grades[1:])]
    }


def usr_row() -> dict[str, Any]:
    aspects = ("Understandable", "Natural", "Maintains Context", "Engaging", "Uses Knowledge", "Overall")
    response = {"response": "fine . \n", "model": "Argmax Decoding "} | {aspect: [1, 2] for aspect in aspects}
    return {
        "context": "hi \n how are you ? \n\n",
        "fact": "a fact\n",
        "annotators": ["ab", "cd"],
        "responses": [response],
    }


def panda_row(first: Any, second: str, systems: str, choices: tuple[int, int, int]) -> dict[str, Any]:
    row = {"motivation_app": "Mail", "instruction": "Shorten.", "input": "A long one.", "cmp_key": systems, "idx": 0}
    row |= {f"annotator{i}": choice for i, choice in enumerate(choices, start=1)}
    return row | {"response1": first, "response2": second}


def json_list(*rows: Any) -> bytes:
    return json.dumps(rows).encode()


def json_lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


FED = json_list(
    turn_row("User: Hi!", "System: Hello.", [2, "N/A (no)", 1]),
    turn_row("User: Hi!\nSystem: Hello.\nUser: And?", "System: Bye.", [0, 0, 0]),
    turn_row("User: Hi!\nSystem: Hello.\nUser: And?", None, [1, "N/A (no errors)", 2]),
)
PDD = ",".join("1234512345")
IDK = '"dialogue"\t"human"\t"HUMOD_IDK"\n[CLS] how are you ? [SEP] i am well ##ish . [SEP]\t4.33\t4.5\n' + (
    "[CLS] how are you ? [SEP] blue . [SEP]\t1.00\t1.25\n[CLS] " + "so " * 507 + "[SEP] i see [SEP]\t2.00\t3.00\n"
)
TINY: dict[str, bytes] = {
    "judgements/scarce/singleref.json": json_list(gupta_row("human", ["yes ."]), gupta_row("hredf", ["yes ."])),
    "judgements/scarce/multiref.json": json_list(gupta_row("human", ["no .", "yes ."])),
    "judgements/scarce/scarce.singleref.json": json_list(gupta_row("human", ["Sure .", "", "yes ."])),
    "judgements/scarce/scarce.multiref.json": json_list(gupta_row("human", ["Sure .", "no .", "yes ."])),
    "judgements/usr/tc_usr_data.json": json_list(usr_row()),
    "judgements/fed/fed_data.json": FED,
    "judgements/pang_dd/context_data_release.csv": f'3,"What , now ?",I don \u2019 t know .,{PDD}\n'.encode(),
    "judgements/pang_dd/fluency_data_release.csv": f"8,I don't know .,{PDD}\n".encode(),
    **{f"judgements/idk/{n}.tsv": IDK.encode() for n in ("HUMOD", "USR_TC_REL", "P_DD", "FED_REL", "FED_COR")},
    **{
        f"corpora/dailydialog/dialogues_{split}.txt": b"Hello . __eou__ Hi . You ? __eou__\nSo . __eou__\n"
        for split in ("train", "validation", "test")
    },
    "judgements/multirefeval/multireftest.jsonl": json_lines(
        {
            "index": 4,
            "dialogue": [
                {"text": "Hello .", "responses": ["hi . ", " ", "hey ."]},
                {"text": "Hi .", "responses": ["so ?"]},
                {"text": "So ?"},
            ],
        }
    ),
    **{
        f"judgements/dailydialogpp/{part}.json": json_lines(
            {
                "id": 2,
                "context": ["Hello.", "Hi."],
                "positive_responses": ["How are you?"],
                "adversarial_negative_responses": ["Hello is a word."],
                "random_negative_responses": ["The bus is late."],
            }
        )
        for part in ("dev", "test")
    },
    **{
        f"judgements/sugar/cv5/{k}/tst.json": json_lines(sugar_row(2 * k), sugar_row(2 * k + 1, (2, 1, 1)))
        for k in range(5)
    },
    **{f"judgements/sugar/cv5/{k}/dev.json": json_lines(sugar_row((2 * k + 3) % 10)) for k in range(5)},
    "judgements/pandalm/testset-v1.json": json_list(
        panda_row(True, "Short.", "opt-7b_llama-7b", (0, 1, 2)), panda_row("", "Short.", "opt-7b_llama-8b", (1, 1, 1))
    ),
    "judgements/llmbar/natural.json": json_list({"input": "Sing.", "output_1": "La.", "output_2": "No.", "label": 1}),
    **{
        f"corpora/{name}.jsonl.gz": gzip.compress(
            b'{"id": "a-1", "corpus": "a", "split": "train", "turns": [{"speaker": "A", "text": "Hi ."}]}\n', mtime=0
        )
        for name in ("dialogues", "assistant", "permissive", "icsi")
    },
    "judgements/eval_via_selection/human_scores.jsonl": b"[[5, 4], [1, 1]]\n[[4, 4], [0, 1]]\n",
    "judgements/eval_via_selection/recovered_context_and_ground_truth.jsonl": json_lines(
        {"question": 1, "context": ["Hello ."], "ground_truth": "Hi ."}
    ),
}


def put(root: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return put(tmp_path, TINY)


def read_tiny(name: str, root: Path) -> Collection:
    return collect(dataset(name).read(root))


def test_every_set_has_a_made_up_file() -> None:
    assert {file.path for found in list_datasets() for file in found.files} == set(TINY)


@pytest.mark.parametrize("name", NAMES)
def test_the_made_up_file_of_a_set_gives_its_kinds_of_record_which_can_be_written_and_read_back(
    name: str, tiny: Path
) -> None:
    records = list(collect(dataset(name).read(tiny)))
    assert {type(record).__name__.lower() + "s" for record in records} == set(dataset(name).counts)
    for record in records:
        assert from_object(orjson.loads(encode_record(record)), Place("line", 1), allow_empty=True) == record


def test_gupta_gives_one_item_to_several_systems(tiny: Path) -> None:
    item = Item("7_1", (Turn("hello .", "A"), Turn("hi . you ?", "B")), (Reference("yes ."),), dialogue="test-7")
    assert list(dataset("gupta/single").read(tiny)) == [
        item,
        Response("7_1/human", "7_1", "human", "human says so ."),
        Rating("mean", "appropriate", 3.5, "7_1/human"),
        Response("7_1/hredf", "7_1", "hredf", "hredf says so ."),
        Rating("mean", "appropriate", 3.5, "7_1/hredf"),
    ]


def test_references_that_scarce_added_say_so_and_empty_ones_are_left_out(tiny: Path) -> None:
    assert read_tiny("gupta/scarce-single", tiny).items["7_1"].references == (
        Reference("Sure .", "scarce"),
        Reference("yes ."),
    )
    assert [r.source for r in read_tiny("gupta/scarce-multi", tiny).items["7_1"].references] == [
        "scarce",
        "human",
        "human",
    ]


def test_a_context_with_two_sets_of_references_is_refused(tiny: Path) -> None:
    rows = json_list(gupta_row("human", ["yes ."]), gupta_row("hredf", ["no ."]))
    put(tiny, {"judgements/scarce/singleref.json": rows})
    with pytest.raises(InputError, match=r"^singleref\.json row 2: 'context_id' 7_1 has a different context"):
        read_tiny("gupta/single", tiny)


def test_usr_has_raters_by_name_and_its_fact_as_the_situation(tiny: Path) -> None:
    found = read_tiny("usr/topical_chat", tiny)
    situation = (Statement("a fact", "fact"),)
    assert list(found.items.values()) == [Item("usr-00", (Turn("hi"), Turn("how are you ?")), situation=situation)]
    name = "usr-00/Argmax Decoding"
    assert list(found.responses.values()) == [Response(name, "usr-00", "Argmax Decoding", "fine .")]
    assert len(found.ratings) == 12
    assert found.ratings[5] == Rating("cd", "maintains-context", 2.0, name)


def test_fed_leaves_answers_that_are_no_number_out(tiny: Path) -> None:
    found = read_tiny("fed/turn", tiny)
    hi, hello, more = Turn("Hi!", "User"), Turn("Hello.", "System"), Turn("And?", "User")
    assert list(found.items.values()) == [
        Item("fed-000-0", (hi,), future=(more,), dialogue="fed-000"),
        Item("fed-000-1", (hi, hello, more), dialogue="fed-000"),
    ]
    assert [r.text for r in found.responses.values()] == ["Hello.", "Bye."]
    assert found.ratings[:2] == [
        Rating("rater-1", "error-recovery", 2.0, "fed-000-0/Meena"),
        Rating("rater-3", "error-recovery", 1.0, "fed-000-0/Meena"),
    ]


def test_fed_rates_whole_dialogues(tiny: Path) -> None:
    turns = (Turn("Hi!", "User"), Turn("Hello.", "System"), Turn("And?", "User"))
    assert list(dataset("fed/dialogue").read(tiny)) == [
        Dialogue("fed-000", turns, "fed", meta={"system": "Meena"}),
        Rating("rater-1", "error-recovery", 1.0, dialogue="fed-000"),
        Rating("rater-3", "error-recovery", 2.0, dialogue="fed-000"),
    ]


def test_pang_joins_its_two_files_by_the_letters_of_the_reply(tiny: Path) -> None:
    for part, aspect, text in (
        ("context", "relevance", "I don \u2019 t know ."),
        ("fluency", "fluency", "I don't know ."),
    ):
        found = read_tiny(f"pang/{part}", tiny)
        assert list(found.items.values()) == [Item("pang-3", (Turn("What , now ?"),))]
        assert list(found.responses.values()) == [Response("pang-3/LSTM", "pang-3", "LSTM", text)]
        assert [(r.rater, r.aspect, r.value) for r in found.ratings[:2]] == [
            ("rater-1", aspect, 1.0),
            ("rater-2", aspect, 2.0),
        ]


def test_idk_joins_word_pieces_and_marks_contexts_that_were_cut(tiny: Path) -> None:
    records = list(dataset("idk/humod").read(tiny))
    assert records[:4] == [
        Item("humod-0000", (Turn("how are you ?"),), dialogue="humod-0000"),
        Response("humod-row-0000", "humod-0000", "unknown", "i am wellish .", {"idk": 4.5}),
        Rating("mean", "relevance", 4.33, "humod-row-0000"),
        Response("humod-row-0001", "humod-0000", "unknown", "blue .", {"idk": 1.25}),
    ]
    assert isinstance(records[5], Item)
    assert records[5].meta == {"end_cut": True}


def test_dailydialog_gives_its_turns_to_two_speakers(tiny: Path) -> None:
    assert list(dataset("dailydialog/valid").read(tiny)) == [
        Dialogue("valid-0", (Turn("Hello .", "A"), Turn("Hi . You ?", "B")), "dailydialog", "valid"),
        Dialogue("valid-1", (Turn("So .", "A"),), "dailydialog", "valid"),
    ]


def test_multirefeval_keeps_the_true_next_turn_out_of_the_future(tiny: Path) -> None:
    hello, hi, so = Turn("Hello .", "A"), Turn("Hi .", "B"), Turn("So ?", "A")
    assert list(dataset("multirefeval").read(tiny)) == [
        Item("4_0", (hello,), (Reference("hi ."), Reference("hey .")), (so,), dialogue="test-4"),
        Item("4_1", (hello, hi), (Reference("so ?"),), dialogue="test-4"),
    ]


def test_dailydialogpp_grades_its_candidates(tiny: Path) -> None:
    candidates = (
        Candidate("How are you?", "positive-0", "positive"),
        Candidate("Hello is a word.", "adversarial-0", "adversarial"),
        Candidate("The bus is late.", "random-0", "random"),
    )
    assert list(dataset("dailydialogpp/dev").read(tiny)) == [
        Question("dev-2", (Turn("Hello."), Turn("Hi.")), candidates, split="valid")
    ]


def test_sugar_has_situations_grades_and_what_the_paper_leaves_out(tiny: Path) -> None:
    first, second = dataset("sugar/0/test").read(tiny)
    assert isinstance(first, Question)
    assert isinstance(second, Question)
    assert (first.id, first.split, first.context) == ("0", "test", (Turn("Bring tea?", "user"),))
    assert first.candidates == (
        Candidate("Yes, with milk?", "0", "Best", "reference"),
        Candidate("No 0.", "90", "Acceptable", "distractor"),
        Candidate("No 1.", "91", "Bad", "distractor"),
    )
    assert first.situation == (Statement("It is cold.", "environment", True), Statement("It is May.", "date", False))
    assert first.meta["distractors"]["15"] == [0, 2]
    assert [s["relevant"] for s in first.meta["expanded"]] == [False, True, False]
    assert (first.meta["has_bad"], second.meta["has_bad"]) == (True, False)


def test_the_train_split_of_sugar_is_the_rest_of_the_test_files(tiny: Path) -> None:
    # fold 1: its test file has 2 and 3, its dev file 5
    assert list(read_tiny("sugar/1/train", tiny).questions) == ["0", "1", "4", "6", "7", "8", "9"]
    assert {q.split for q in read_tiny("sugar/1/dev", tiny).questions.values()} == {"valid"}


def test_pandalm_keeps_empty_replies_and_tells_repeated_ones_apart(tiny: Path) -> None:
    found = read_tiny("pandalm", tiny)
    assert [item.context for item in found.items.values()] == [(Turn("Shorten.\n\nA long one.", "user"),)]
    assert {r.id: r.text for r in found.responses.values()} == {
        "pandalm-000/opt-7b": "True",
        "pandalm-000/llama-7b": "Short.",
        "pandalm-000/opt-7b/2": "",
        "pandalm-000/llama-8b": "Short.",
    }
    assert [p.choice for p in found.preferences] == ["tie", "first", "second", "first", "first", "first"]


def test_llmbar_has_one_agreed_preference(tiny: Path) -> None:
    assert list(dataset("llmbar/natural").read(tiny))[-1] == Preference(
        "llmbar-00", "llmbar-00/output-1", "llmbar-00/output-2", "agreed", "first"
    )


def test_the_corpus_and_chosen_are_read_as_they_stand(tiny: Path) -> None:
    assert list(dataset("corpus/dialogues").read(tiny)) == [Dialogue("a-1", (Turn("Hi .", "A"),), "a", "train")]
    assert list(dataset("chosen").read(tiny)) == [
        Question(
            "chosen-0001",
            (Turn("Hello ."),),
            (Candidate("Hi .", "0", 4.0, "ground-truth"),),
            meta={"scores": [[4, 4], [0, 1]]},
        )
    ]


# ---- damaged files


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content with one thing wrong: bytes changed, cut or doubled, or a value replaced by one of another type."""
    start = chance.randrange(len(content))
    end = min(len(content), start + chance.choice((1, 1, 2, 8, 64)))
    match chance.randrange(5):
        case 0:
            return content[:start] + bytes(chance.randrange(256) for _ in range(end - start)) + content[end:]
        case 1:
            return content[:start] + content[end:]
        case 2:
            return content[:end] + content[start:end] * chance.choice((1, 40)) + content[end:]
        case 3:
            return content[:start]
        case _:
            return otherwise(content, chance)


def otherwise(content: bytes, chance: random.Random) -> bytes:
    """JSON content with one value replaced."""
    wrong: Any = chance.choice(
        [None, True, -1, 1.5, 10**19, "", " ", "x", "nan", "1e999", [], {}, [[]], {"": 1}, ["", 2]]
    )
    try:
        rows = [json.loads(line) for line in content.splitlines()]
    except ValueError:
        return content.replace(chance.choice([b"\t", b",", b"1", b"[SEP]", b"__eou__"]), orjson.dumps(str(wrong)))
    inner = [node for row in rows for node in nodes(row) if node]
    node = chance.choice(inner)
    node[chance.choice(list(node) if isinstance(node, dict) else range(len(node)))] = wrong
    return b"\n".join(json.dumps(row).encode() for row in rows)


def nodes(value: Any) -> Iterator[Any]:
    """Every object and list inside a value."""
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from nodes(inner)


def modules_of_sets() -> list[Dataset]:
    """One set a kind of file: the folds and splits of a publication are read alike."""
    kept = {"gupta/scarce-single", "fed/turn", "fed/dialogue", "pang/context", "pang/fluency", "sugar/0/train"}
    firsts = {found.name.partition("/")[0]: found.name for found in reversed(list_datasets())}
    return [dataset(name) for name in sorted(kept | set(firsts.values()))]


@pytest.mark.parametrize("found", modules_of_sets(), ids=lambda found: found.name)
def test_a_damaged_file_gives_records_or_one_line_and_never_a_traceback(found: Dataset, tmp_path: Path) -> None:
    chance = random.Random(found.name)
    told = []
    for _ in range(150):
        file = chance.choice(found.files)
        content = TINY[file.path]
        packed = content[:2] == b"\x1f\x8b"
        if packed and chance.random() < 0.7:
            content = gzip.compress(damaged(gzip.decompress(content), chance), mtime=0)
        else:
            content = damaged(content, chance)
        put(tmp_path, {f.path: TINY[f.path] for f in found.files} | {file.path: content})
        try:
            for record in found.read(tmp_path):
                assert from_object(orjson.loads(encode_record(record)), Place("line", 1), allow_empty=True) == record
        except InputError as error:
            told.append(str(error))
    assert len(told) > 15
    assert [line for line in told if not line.isprintable()] == []


@pytest.mark.parametrize(
    ("name", "path", "content", "told"),
    [
        ("usr/topical_chat", "judgements/usr/tc_usr_data.json", b"{}", "must be a JSON list"),
        ("usr/topical_chat", "judgements/usr/tc_usr_data.json", b"[1]", "row 1: must be a JSON object, found 1"),
        (
            "usr/topical_chat",
            "judgements/usr/tc_usr_data.json",
            b'[{"context": "a"}]',
            "row 1: 'fact' must be a string, it",
        ),
        (
            "fed/turn",
            "judgements/fed/fed_data.json",
            FED.replace(b"Error recovery", b" "),
            "the name of an aspect",
        ),
        (
            "dailydialog/test",
            "corpora/dailydialog/dialogues_test.txt",
            b"a __eou__ __eou__ b\n",
            "line 1: a turn is empty",
        ),
        (
            "corpus/assistant",
            "corpora/assistant.jsonl.gz",
            b'{"id": 1, "context": []}\n',
            "dialogues only, found a item",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_told(name: str, path: str, content: bytes, told: str, tiny: Path) -> None:
    put(tiny, {path: content})
    with pytest.raises(InputError, match=told.replace("(", r"\(")):
        read_tiny(name, tiny)


# ---- the registry


def test_every_module_of_the_folder_offers_sets_under_its_own_name() -> None:
    modules = Registry("rejoinder.data.datasets", "dataset", str).names()
    assert {name.partition("/")[0] for name in NAMES} == set(modules)
    assert len(NAMES) == len(set(NAMES))
    assert set(NAMES) == set(GOLDEN)


@pytest.mark.parametrize("name", NAMES)
def test_a_set_says_all_about_itself(name: str) -> None:
    found = dataset(name)
    assert found.name == name
    assert all((found.summary, found.files, found.licence, found.notes, found.counts))
    assert any(year in found.citation + found.notes for year in map(str, range(2000, 2026)))
    for file in found.files:
        assert not Path(file.path).is_absolute()
        assert ".." not in file.path
        assert len(bytes.fromhex(file.sha256)) == 32
        assert file.size > 0
        if file.downloadable:
            assert file.commit is not None
            assert len(bytes.fromhex(file.commit)) == 20
            assert file.remote_path
            assert not file.reason
        else:
            assert file.reason


def test_one_path_means_one_file() -> None:
    files = {file for found in list_datasets() for file in found.files}
    assert len({file.path for file in files}) == len(files)


def test_the_page_is_made_from_the_sets() -> None:
    written = Path(__file__).parent.parent / "docs" / "datasets.md"
    assert written.read_text("utf-8") == render_datasets_page(), (
        "run: python -m rejoinder.data.datasets._page > docs/datasets.md"
    )


def test_an_unknown_set_is_told_the_nearest() -> None:
    with pytest.raises(SpecError, match=r"no dataset is called 'gupta/mutli'; did you mean 'gupta/multi'"):
        dataset("gupta/mutli")
    with pytest.raises(SpecError, match=r"did you mean 'pandalm'\?"):
        read_dataset("pandlm")
    with pytest.raises(SpecError, match=r"known: .*chosen"):
        datasets_under("")


def test_a_group_means_all_sets_below_it() -> None:
    assert [found.name for found in datasets_under("sugar/3")] == ["sugar/3/dev", "sugar/3/test", "sugar/3/train"]
    assert [found.name for found in datasets_under("pandalm")] == ["pandalm"]
    assert len(datasets_under("gupta")) == 4


# ---- checks before reading


def test_nothing_is_looked_at_before_the_first_record(tmp_path: Path) -> None:
    records = read_dataset("gupta/single", tmp_path / "nowhere")
    with pytest.raises(InputError):
        next(records)


def test_a_missing_file_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_DATA", str(tmp_path))
    with pytest.raises(
        InputError, match=r"singleref\.json: no such file; get it with: rejoinder data get gupta/single "
    ):
        next(read_dataset("gupta/single"))
    with pytest.raises(InputError, match=r"dialogues\.jsonl\.gz: no such file; the corpus was made for this project"):
        next(read_dataset("corpus/dialogues"))


def test_a_file_of_another_size_is_refused(tiny: Path) -> None:
    with pytest.raises(
        InputError, match=r"differs from the published file: \d+ bytes instead of 301,554; get it again"
    ):
        next(read_dataset("gupta/single", tiny))


def test_only_verify_sees_that_bytes_were_exchanged(tiny: Path) -> None:
    file = dataset("llmbar/natural").files[0]
    content = TINY[file.path]
    put(tiny, {file.path: content + b" " * (file.size - len(content))})
    assert len(list(read_dataset("llmbar/natural", tiny))) == 4
    with pytest.raises(
        InputError, match=rf"sha256 [0-9a-f]{{64}} instead of {file.sha256}; get it again with: rejoinder"
    ):
        next(read_dataset("llmbar/natural", tiny, verify=True))


def test_another_copy_of_a_file_that_cannot_be_fetched_is_read(tiny: Path) -> None:
    assert len(list(read_dataset("dailydialog/test", tiny))) == 2
    with pytest.raises(InputError, match="to read it as it is, skip the check"):
        next(read_dataset("dailydialog/test", tiny, verify=True))


def test_an_empty_reply_of_a_published_set_is_an_error_unless_it_is_allowed(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.data.datasets.read_dataset", lambda name: dataset(name).read(tiny))
    monkeypatch.setattr(Input, "_measure", lambda self: ("", 0))
    with pytest.raises(InputError, match="is empty; remove it, or keep it as a NaN"):
        list(Input("dataset:pandalm").records())
    replies = [
        record for record, _ in Input("dataset:pandalm").records(allow_empty=True) if isinstance(record, Response)
    ]
    assert any(not reply.text for reply in replies)
