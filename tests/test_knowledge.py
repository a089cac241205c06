"""Knowledge files: what is read, which events an utterance is about, and what comes out for an item."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rejoinder.augmentation.commonsense.knowledge import HeadIndex, Knowledge, phrase_head, read_knowledge
from rejoinder.augmentation.commonsense.persons import resolve_second_person, resolve_third_person, retell_as_event
from rejoinder.augmentation.inference import GeneratedKnowledge, MatchedKnowledge
from rejoinder.errors import InputError, SpecError
from rejoinder.models.base import Side, TokenVectors, Vectors
from rejoinder.types import Item, Reference, Turn

ATOMIC = """\
personx~asks~persony~for~help\toreact\tneeded
personx~asks~persony~for~help\toreact\tnone
personx~asks~persony~for~help\toreact\tuseful
personx~asks~persony~for~help\toreact\tuseful
personx~asks~persony~for~help\towant\tto~help~personx
personx~asks~persony~for~help\toeffect\tgets~a~tool~and~helps~personx
personx~asks~persony~for~help\txwant\tto~say~thanks
personx~loses~personx~'s~keys\towant\tto~look~for~them
"""
CONCEPTNET = "CausesDesire\tbe hungry\teat apple\t1\nCausesDesire\tbe hungry\tfly\t0\nIsA\ttool\tobject\t1\n"


class BagOfWords:
    """An encoder that hashes words into many dimensions."""

    name, digest, dimensions, max_tokens = "bag", "d1", 512, 32

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in text.lower().replace("?", "").replace(".", "").split():
                row[zlib.crc32(word.encode()) % self.dimensions] += 1
            row /= np.linalg.norm(row) or 1
        return vectors

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        raise NotImplementedError

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)


def written(folder: Path, text: str, name: str = "k.tsv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def said(*texts: str, references: tuple[str, ...] = ()) -> Item:
    return Item("i", tuple(map(Turn, texts)), tuple(map(Reference, references)))


def test_atomic_files_give_the_three_relations_and_what_several_people_said_first(tmp_path: Path) -> None:
    found = read_knowledge(written(tmp_path, ATOMIC))
    assert (found.kind, found.source, found.broken) == ("atomic", "commonsense/atomic", 0)
    assert found.tails["personx asks persony for help"] == {
        "oReact": ("useful", "needed", "none"),
        "oWant": ("to~help~personx",),
        "oEffect": ("gets~a~tool~and~helps~personx",),
    }
    assert "personx loses personx's keys" in found.tails


def test_conceptnet_files_leave_out_what_is_labelled_untrue(tmp_path: Path) -> None:
    found = read_knowledge(written(tmp_path, CONCEPTNET))
    assert (found.kind, dict(found.tails)) == ("conceptnet", {"be hungry": {"CausesDesire": ("eat apple",)}})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("personx eats\towant", "line 9: is not a triple .found 2 cells"),
        ("personx eats\t\tto eat", "line 9: is not a triple .found an empty cell"),
        ("personx eats\t12\tto eat", "line 9: has '12' instead of a relation"),
        ("personx eats\towant\tto eat\t1", "line 9: has '1' after the triple"),
    ],
)
def test_a_broken_line_is_named_with_its_cure_or_counted(line: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"{ATOMIC}{line}\npersonx~sleeps\towant\tto~be~quiet\n")
    with pytest.raises(InputError, match=message) as caught:
        read_knowledge(path)
    assert "skip_broken=True" in str(caught.value)
    found = read_knowledge(path, skip_broken=True)
    assert found.broken == 1
    assert "personx sleeps" in found.tails


def test_files_that_hold_no_knowledge_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no known layout"):
        read_knowledge(written(tmp_path, "a b\tc d\te f\n"))
    with pytest.raises(InputError, match="no triples with the relations"):
        read_knowledge(written(tmp_path, "personx eats\txwant\tto eat\n"))
    with pytest.raises(InputError, match="no line is a triple"):
        read_knowledge(written(tmp_path, "nonsense\n"), skip_broken=True)
    with pytest.raises(InputError, match="is empty"):
        read_knowledge(written(tmp_path, ""))
    with pytest.raises(InputError, match="different layouts"):
        read_knowledge(written(tmp_path, ATOMIC), written(tmp_path, CONCEPTNET, "c.txt"))
    latin = tmp_path / "latin.tsv"
    latin.write_bytes(b"personx eats\towant\tcaf\xe9\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_knowledge(latin)
    with pytest.raises(SpecError, match="atomic"):
        read_knowledge("dataset:knowledge/atomik")
    with pytest.raises(InputError, match="no knowledge file"):
        read_knowledge()


def test_the_published_files_are_read_whole(published: Path) -> None:
    # awk counts 2,204 heads with one of the three relations; two differ from another in their spacing only.
    atomic = read_knowledge("dataset:knowledge/atomic")
    assert (len(atomic.tails), atomic.broken) == (2202, 0)
    assert read_knowledge("dataset:knowledge/conceptnet").kind == "conceptnet"


def test_heads_are_put_into_the_mouth_of_the_speaker() -> None:
    assert phrase_head("personx asks persony for help") == "I ask you for help"
    assert phrase_head("personx mails persony's ___") == "I mail your something"
    assert phrase_head("personx is sick") == "I am sick"
    assert phrase_head("be hungry") == "I am hungry"


def test_the_nearest_sentence_of_an_utterance_counts(tmp_path: Path) -> None:
    heads = HeadIndex(read_knowledge(written(tmp_path, ATOMIC)), BagOfWords())
    (found, nothing, empty) = heads.nearest(["Hello there, Tom. I ask you for help.", "Bananas.", ""], 0.6)
    assert [match.head for match in found] == ["personx asks persony for help"]
    assert found[0].score == pytest.approx(1.0)
    assert nothing == empty == []


def matched(folder: Path, each: int = 5) -> MatchedKnowledge:
    return MatchedKnowledge(read_knowledge(written(folder, ATOMIC)), BagOfWords(), each, least=0.6)


def test_inferences_are_sentences_with_their_source_score_origin_and_past(tmp_path: Path) -> None:
    (found,) = matched(tmp_path).infer([said("Hi.", "I ask you for help.")])
    assert [proposal.text for proposal in found] == [
        "I feel useful.",
        "I feel needed.",
        "I get a tool and help you.",
        "I want to help you.",
    ]
    first = found[0]
    assert (first.source, first.past) == ("commonsense/atomic", ("Hi.", "I ask you for help."))
    assert first.origin == "personx asks persony for help | oReact | useful"
    assert first.score == pytest.approx(1.0)


def test_no_more_than_so_many_of_a_relation_and_nothing_that_is_known(tmp_path: Path) -> None:
    (found,) = matched(tmp_path, each=1).infer([said("I ask you for help.", references=("i feel useful",))])
    assert [proposal.text for proposal in found] == [
        "I feel needed.",
        "I get a tool and help you.",
        "I want to help you.",
    ]
    with pytest.raises(SpecError, match="each must be at least 1"):
        matched(tmp_path, each=0)


@pytest.mark.parametrize(
    "item",
    [
        Item("i", ()),
        said("Könnten Sie mir bitte sagen, wo der nächste Bahnhof ist?"),
        said("你能帮我吗？"),
        said("..."),
        said("Purple elephants dance."),
    ],
)
def test_an_item_without_a_context_or_not_in_english_or_far_from_all_gets_nothing(item: Item, tmp_path: Path) -> None:
    assert matched(tmp_path).infer([item]) == [[]]
    if item.context and "elephants" not in item.context[0].text and item.context[0].text != "...":
        assert GeneratedKnowledge(Told()).infer([item]) == [[]]


def test_only_the_last_utterance_counts_and_items_do_not_mix(tmp_path: Path) -> None:
    items = [said("I ask you for help."), said("I ask you for help.", "Bananas.")]
    assert [len(found) for found in matched(tmp_path).infer(items)] == [4, 0]


class Told:
    """A generator that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Sequence[str], str, int]] = []

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        self.asked.append((heads, relation, n))
        told = {"oReact": ["happy", "none"], "oWant": ["to thank PersonX", "to thank PersonX"]}
        return [told.get(relation, []) for _ in heads]


def test_a_generator_is_asked_about_the_event_once_and_its_tails_become_sentences() -> None:
    generator = Told()
    item = said("I lost your keys!")
    first, second = GeneratedKnowledge(generator).infer([item, item])
    assert [p.text for p in first] == [p.text for p in second] == ["I feel happy.", "I want to thank you."]
    assert {p.source for p in first} == {"commonsense/comet"}
    assert len(generator.asked) == 5
    assert generator.asked[0] == (["PersonX lost PersonY's keys!"], "oReact", 5)


def test_people_are_those_of_the_dialogue() -> None:
    assert resolve_second_person(said("Can you help me?")).subject == "I"
    assert resolve_second_person(said("I called Tom yesterday.")).subject == "Tom"
    assert resolve_second_person(said("Thanks , Tom .")).subject == "I"
    assert resolve_second_person(said("See you on Monday.")).subject == "I"
    assert resolve_third_person(said("I met Anna.", "Really?")).object == "Anna"
    assert resolve_third_person(said("Really?")).object == "someone"
    assert retell_as_event("I need my keys.") == "PersonX needs PersonX's keys."
    assert retell_as_event("I'm sure you try.") == "PersonX is sure PersonY tries."


def test_knowledge_is_the_same_whatever_the_order_of_its_lines(tmp_path: Path) -> None:
    lines = ATOMIC.splitlines()
    other = written(tmp_path, "\n".join([*lines[6:], *lines[:6]]) + "\n", "other.tsv")
    found: Knowledge = read_knowledge(other)
    assert found.tails == read_knowledge(written(tmp_path, ATOMIC)).tails
