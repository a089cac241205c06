"""Augmenting items: what they get, what stays as it was, and what odd corpora and items come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from rejoinder.augmentation import sources
from rejoinder.augmentation.acceptance import AdaptationOutcome
from rejoinder.augmentation.augment import augment, augment_records
from rejoinder.augmentation.augmenter import to_references
from rejoinder.augmentation.plan import AugmentationPlan, parse_retrieval
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.retrieval import Retrieval
from rejoinder.augmentation.summary import AugmentationTally
from rejoinder.data.objects import to_object
from rejoinder.data.schema import Place, from_object
from rejoinder.errors import InputError, RejoinderError, SpecError
from rejoinder.types import Dialogue, Item, Record, Reference, Response, Turn

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"
ATOMIC = "personx asks persony for help\toWant\tto help personx\npersonx asks persony for help\toReact\tuseful\n"
SAID = [
    ("Can you help me with the boxes?", "Sure, where shall they go?", "Into the cellar, please."),
    ("Can you help me with the homework?", "Yes, which part is it?", "The fractions."),
    ("Is there any soup left?", "A little, it is in the blue pot.", "Thank you, I am starving."),
    ("Where is the train station?", "Behind the church, on the left.", "Is it far from here?"),
]


def dialogues(*said: Sequence[str]) -> list[Dialogue]:
    return [Dialogue(f"d{i}", tuple(map(Turn, texts))) for i, texts in enumerate(said)]


def corpus(folder: Path, *said: Sequence[str]) -> str:
    rejoinder.write(dialogues(*said), folder / "corpus.jsonl")
    return str(folder / "corpus.jsonl")


ITEM = Item(
    "i",
    (Turn("Hello."), Turn("I ask you for help. Can you help me with the sofa?")),
    (Reference("Of course, where shall it go?"), Reference("Not now.", "friend")),
    (Turn("Into the hall, please."),),
)


def plan(**given: Any) -> AugmentationPlan:
    return AugmentationPlan(**{"comet": False, "least_aptness": None, **given})


def test_the_examples_get_at_least_fifteen_references_each_with_where_it_came_from() -> None:
    before = list(rejoinder.read(CHATS).items.values())
    after = list(augment(before, plan()))
    assert [item.id for item in after] == [item.id for item in before]
    for old, new in zip(before, after, strict=True):
        assert new.references[: len(old.references)] == old.references
        assert replace(new, references=old.references) == old
        assert len(new.references) >= 15
        assert len({reference.text.lower() for reference in new.references}) == len(new.references)
        for reference in new.references[len(old.references) :]:
            assert reference.source == "retrieval"
            assert reference.score is not None
        assert from_object(to_object(new), Place("x", 1)) == new
    assert list(augment(before, plan())) == after


def test_a_reference_carries_its_source_score_and_origin() -> None:
    made = to_references([Proposal("a", "retrieval", 1.23456789), Proposal("b", "s/t", float("nan"), "o", ("p",))])
    assert made == (Reference("a", "retrieval", 1.2346), Reference("b", "s/t", None, "o"))


def test_every_source_of_a_plan_gives_its_share(tmp_path: Path) -> None:
    (tmp_path / "k.tsv").write_text(ATOMIC)
    tally = AugmentationTally()
    wanted = plan(corpus=corpus(tmp_path, *SAID), knowledge=(str(tmp_path / "k.tsv"),), paraphrase="rewording", k=6)
    (item,) = augment([ITEM], wanted, tally=tally)
    kinds = [reference.source for reference in item.references]
    assert kinds[:2] == ["human", "friend"]
    assert [kind.partition("/")[0] for kind in kinds[2:5]] == ["retrieval", "commonsense", "paraphrase"]
    origins = {reference.source: reference.origin for reference in item.references}
    assert origins["commonsense/atomic"] in (
        "personx asks persony for help | oReact | useful",
        "personx asks persony for help | oWant | to help personx",
    )
    assert origins["paraphrase"] in ("Of course, where shall it go?", "Not now.")
    assert sum(tally.references.values()) == len(kinds) - 2 == 6
    assert not tally.short


def test_other_records_go_through_in_their_places(tmp_path: Path) -> None:
    records: list[Record] = []
    for i in range(70):  # more than two batches
        records += [replace(ITEM, id=f"i{i}"), Response(f"r{i}", f"i{i}", "s", "Yes.")]
    found = list(augment_records(records, plan(corpus=corpus(tmp_path, *SAID))))
    assert [record.id for record in found] == [record.id for record in records]  # type: ignore[union-attr]
    assert found[1::2] == records[1::2]
    assert {len(item.references) for item in found[::2] if isinstance(item, Item)} == {2 + 12}


def test_nothing_is_asked_where_no_reference_is_wanted() -> None:
    assert list(augment([ITEM], plan(k=0, corpus="no such file"))) == [ITEM]


def test_items_are_read_as_they_are_needed(tmp_path: Path) -> None:
    read = []

    def items() -> Any:
        for i in range(200):
            read.append(i)
            yield replace(ITEM, id=str(i))

    next(augment(items(), plan(corpus=corpus(tmp_path, *SAID))))
    assert len(read) < 100


def test_what_an_item_has_from_us_already_is_not_paraphrased() -> None:
    old = replace(ITEM, references=(Reference("Of course, I can do that for you."), Reference("Oh well.", "retrieval")))
    (item,) = augment([old], plan(retrieval=None, paraphrase="rewording"))
    assert {r.origin for r in item.references[2:]} == {"Of course, I can do that for you."}


# Odd corpora and items.


def test_a_corpus_without_futures_and_one_of_single_turns_are_searched_by_what_they_have(tmp_path: Path) -> None:
    short = corpus(tmp_path, *(texts[:2] for texts in SAID))
    (item,) = augment([ITEM], plan(corpus=short, k=3))
    assert "Sure, where shall they go?" in [r.text for r in item.references]
    single = corpus(tmp_path, *([texts[1]] for texts in SAID))
    (item,) = augment([ITEM], plan(corpus=single, k=3))
    assert item.references[2].text == "Sure, where shall they go?"


def test_a_corpus_that_holds_the_items_own_dialogue_does_not_give_it_away(tmp_path: Path) -> None:
    own = [*(turn.text for turn in ITEM.context), ITEM.references[0].text.upper(), "Into the hall, please."]
    (item,) = augment([ITEM], plan(corpus=corpus(tmp_path, own, *SAID)))
    said = {reference.text for reference in item.references[2:]}
    assert said
    assert not said & set(own)


def test_a_corpus_without_dialogues_is_an_error(tmp_path: Path) -> None:
    rejoinder.write([Response("r", "i", "s", "Yes.")], tmp_path / "r.jsonl")
    with pytest.raises(InputError, match=r"r\.jsonl: has neither dialogues nor items"):
        list(augment([ITEM], plan(corpus=str(tmp_path / "r.jsonl"))))
    with pytest.raises(InputError, match="have no turns to retrieve from"):
        list(augment([Item("bare", ())], plan()))
    with pytest.raises(InputError, match="no source of references is left"):
        list(augment([ITEM], plan(retrieval=None)))


def test_an_item_of_which_nothing_is_known_gets_nothing_and_that_is_said(tmp_path: Path) -> None:
    bare, tally = Item("bare", ()), AugmentationTally()
    assert list(augment([bare], plan(corpus=corpus(tmp_path, *SAID)), tally=tally)) == [bare]
    assert "1 got fewer: they have no context, no reference and no future" in str(tally.table(20))


def test_an_empty_reference_in_memory_harms_nothing(tmp_path: Path) -> None:
    empty = replace(ITEM, references=(Reference(""),))
    (item,) = augment([empty], plan(corpus=corpus(tmp_path, *SAID), paraphrase="rewording", k=3))
    assert item.references[0] == Reference("")
    assert [r.source for r in item.references[1:]] == ["retrieval"] * 3


def test_an_item_in_another_language_is_retrieved_for_but_has_no_common_sense(tmp_path: Path) -> None:
    (tmp_path / "k.tsv").write_text(ATOMIC)
    german = Item("g", (Turn("Kannst du mir bitte mit den schweren Kisten helfen?"),), (Reference("Ja, gerne."),))
    said = ("Kannst du mir bitte mit dem Sofa helfen?", "Natürlich, wohin soll es?", "In den Flur.")
    tally = AugmentationTally()
    wanted = plan(corpus=corpus(tmp_path, said), knowledge=(str(tmp_path / "k.tsv"),), k=5)
    (item,) = augment([german], wanted, tally=tally)
    assert item.references[1].text == "Natürlich, wohin soll es?"
    assert {r.source for r in item.references[1:]} == {"retrieval"}
    assert "do not look like English" in str(tally.table(5))


def test_a_broken_line_of_a_knowledge_file_is_an_error_or_counted(tmp_path: Path) -> None:
    (tmp_path / "k.tsv").write_text(ATOMIC + "personx gives up\toWant\n")
    given = plan(retrieval=None, knowledge=(str(tmp_path / "k.tsv"),))
    with pytest.raises(InputError, match=r"k\.tsv line 3: is not a triple .*--skip-broken"):
        list(augment([ITEM], given))
    notes: list[str] = []
    (item,) = augment([ITEM], replace(given, skip_broken=True), notes.append)
    assert len(item.references) == 4
    assert notes == ["k.tsv: 1 unreadable line was left out"]


def test_what_is_too_little_apt_is_left_out_and_that_is_the_reason(tmp_path: Path) -> None:
    tally = AugmentationTally()
    wanted = plan(corpus=corpus(tmp_path, *SAID), k=5, least_aptness=1.0)
    assert list(augment([ITEM], wanted, tally=tally)) == [ITEM]
    assert "0 of 1 items got 5 references." in tally.table(5).notes
    assert "1 got fewer: too few of their proposals have an aptness of at least 1." in tally.table(5).notes


# COMET and adaptation, with what stands in for the models.


def test_comet_is_left_out_where_its_model_is_not_here_and_the_command_is_said(tmp_path: Path) -> None:
    notes: list[str] = []
    list(augment([ITEM], AugmentationPlan(corpus=corpus(tmp_path, *SAID)), notes.append))
    assert len(notes) == 1
    assert notes[0].startswith("comet was left out: it needs ")
    assert "pip install" in notes[0] or "rejoinder models get smollm2-135m" in notes[0]
    with pytest.raises(RejoinderError, match=r"smollm2-135m|torch"):
        list(augment([ITEM], AugmentationPlan(retrieval=None, comet=True)))


class FakeComet:
    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        return [
            {"oWant": ["to help personx", "to rest"], "oReact": ["glad", "useful"]}.get(relation, []) for _ in heads
        ]


def test_comet_gives_references_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_open_tail_generator", lambda name: FakeComet())
    (item,) = augment([ITEM], AugmentationPlan(retrieval=None, comet=True, least_aptness=None))
    assert {r.source for r in item.references[2:]} == {"commonsense/comet"}
    found = [r.text for r in item.references[2:]]
    assert set(found[:2]) == {"I feel glad.", "I want to help you."}  # the first of each relation
    assert set(found[2:]) == {"I feel useful.", "I want to rest."}


class FakeAdapting:
    """Adapts a text by an exclamation mark, or by what is said already; remembers which texts it knows."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    def adapt(self, pairs: Any, *settings: object, model: str, most: int | None = None) -> list[AdaptationOutcome]:
        missing = [p.text for _, p in pairs if p.text not in self.known]
        self.known |= set(missing if most is None else missing[:most])
        return [self._outcome(p) for _, p in pairs]

    def _outcome(self, proposal: Proposal) -> AdaptationOutcome:
        if proposal.text not in self.known:
            return AdaptationOutcome(proposal, "not tried")
        text = "not now" if "soup" in proposal.text else f"Well, {proposal.text}"
        return AdaptationOutcome(replace(proposal, text=text, origin=proposal.text), "adapted")


def test_at_most_so_many_texts_are_adapted_over_all_items(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake, tally = FakeAdapting(), AugmentationTally()
    monkeypatch.setattr("rejoinder.augmentation.adaptation.adapt", fake.adapt)
    items = [replace(ITEM, id=str(i), context=(*ITEM.context, Turn(f"Well, {i}?"))) for i in range(40)]
    wanted = plan(corpus=corpus(tmp_path, *SAID), k=4, adapt=3)
    found = list(augment(items, wanted, tally=tally))
    assert len(fake.known) == 3
    assert tally.adapted["adapted"] > 0 < tally.adapted["not tried"]
    for reference in found[0].references[2:]:
        assert reference.origin is None or reference.text == f"Well, {reference.origin}"
    again = list(augment(items, replace(wanted, adapt=0)))
    assert again == found


def test_an_adapted_text_that_says_what_is_said_already_stays_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("rejoinder.augmentation.adaptation.adapt", FakeAdapting().adapt)
    (item,) = augment([ITEM], plan(corpus=corpus(tmp_path, *SAID), adapt=100))
    texts = [reference.text for reference in item.references]
    assert "Is there any soup left?" in texts
    assert "not now" not in texts


def test_a_plan_that_cannot_be_is_an_error() -> None:
    with pytest.raises(SpecError, match="k must be at least 0, found -1"):
        AugmentationPlan(k=-1)
    with pytest.raises(SpecError, match="from 0 to 1, not 3"):
        AugmentationPlan(least_aptness=3)
    with pytest.raises(SpecError, match="comet is off"):
        AugmentationPlan(comet=False, comet_model="comet")
    assert parse_retrieval("none") is None
    assert parse_retrieval("hybrid(k1=0.9)") == Retrieval(kind="hybrid", k1=0.9)
    with pytest.raises(SpecError, match="did you mean 'bm25'"):
        parse_retrieval("bm52")
