"""`reproduce scarce` on made-up talks: proposals, the order of adapting, sets, tables, stored scores, jobs."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from click.testing import CliRunner
from rejoinder_lab.papers.loader import load_published
from rejoinder_lab.papers.scarce import jobs as _scarce_jobs
from rejoinder_lab.papers.scarce import measures, scarce, tables
from rejoinder_lab.papers.scarce import sets as reference_sets
from rejoinder_lab.papers.scarce.measures import CASES, collect_rated
from rejoinder_lab.papers.scarce.proposals import (
    OTHER,
    PART,
    PRINTED,
    RETRIEVAL,
    SENSE,
    WIDER,
    ProposalPlace,
    close_punctuation,
    draw_corpus_part,
    list_adaptations,
    restore_spelling,
    space_punctuation,
    spell_like_rated,
    spell_plainly,
)
from rejoinder_lab.papers.scarce.released import describe_released, read_released, share_of_hits
from rejoinder_lab.papers.scarce.scarce_choice import choose, list_further, unrated_items
from rejoinder_lab.papers.scarce.selection import CHOSEN, CHOSEN_FURTHER, ReferenceSelection
from rejoinder_lab.papers.scarce.sets import (
    BACK_TRANSLATION,
    AugmentedReferences,
    PublishedReferences,
    combine_outcomes,
    human_references,
    merge_references,
    paraphrase_references,
    table_2_references,
)
from rejoinder_lab.papers.scarce.stored import PATH, StoredScarce, check_responses, read_stored, write_stored

from rejoinder.augmentation.acceptance import AdaptationOutcome
from rejoinder.augmentation.paraphrase import BackTranslation
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.store import (
    CachedParaphrases,
    CachedTails,
    EventTails,
    ValueStore,
    cached_back_translation,
    digest_parts,
)
from rejoinder.cli import program
from rejoinder.data.collection import Collection
from rejoinder.data.inputs import read
from rejoinder.errors import InputError
from rejoinder.stats.interval import Interval
from rejoinder.types import Dialogue, Item, Rating, Reference, Response, Turn

ROOT = Path(__file__).parents[2]
TALK = Dialogue(
    "test-7",
    tuple(
        Turn(text, "AB"[n % 2])
        for n, text in enumerate(["Hi , Tom .", "What's up ?", "I lost my keys .", "Oh no !", "Can you help me ?"])
    ),
)
ITEM = Item(
    "7_2",
    (Turn("hi , tom .", "A"), Turn("what 's up ?", "B"), Turn("i lost my keys .", "A")),
    (Reference("oh no !"),),
    dialogue="test-7",
)


class Knowing:
    """A generator that knows little, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        self.asked += [(head, relation) for head in heads]
        return [{"oReact": ["sad", "none"], "oWant": ["to help PersonX"]}.get(relation, [])[:n] for _ in heads]


def proposals(*texts: str, source: str = "retrieval") -> list[Proposal]:
    return [Proposal(text, source) for text in texts]


def outcome(text: str, new: str | None = None) -> AdaptationOutcome:
    if new is None:
        return AdaptationOutcome(Proposal(text, "retrieval"), "less likely")
    return AdaptationOutcome(Proposal(new, "retrieval", origin=text), "adapted", new)


# Items and proposals


def test_an_item_gets_the_spelling_and_the_future_of_its_dialogue() -> None:
    [found] = restore_spelling([ITEM], {"test-7": TALK})
    assert found.context == TALK.turns[:3]
    assert found.references == (Reference("Oh no !"),)
    assert found.future == TALK.turns[4:]
    assert (found.id, found.dialogue) == ("7_2", "test-7")


@pytest.mark.parametrize("dialogues", [{}, {"test-7": replace(TALK, turns=TALK.turns[1:])}])
def test_an_item_that_is_not_in_its_dialogue_is_an_error(dialogues: dict[str, Dialogue]) -> None:
    with pytest.raises(InputError, match="item 7_2 differs from test-7"):
        restore_spelling([ITEM], dialogues)


def test_every_published_item_is_found_in_its_dialogue(published: Path) -> None:
    found = scarce.items_to_augment()
    assert (len(found), sum(bool(item.future) for item in found)) == (100, 75)
    assert found[0].references[0].text == "Then tell me something about your background ."


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I want to help you.", "I want to help you ."),
        ("Yes, I'm 3.5 today!", "Yes , I'm 3.5 today !"),
        ("Yes , we have .", "Yes , we have ."),
        ("Really?! No...", "Really ?! No ..."),
        ("", ""),
    ],
)
def test_punctuation_is_spaced_as_in_the_rated_replies(text: str, wanted: str) -> None:
    assert space_punctuation(text) == wanted == space_punctuation(wanted)


def test_common_sense_reads_plain_writing() -> None:
    [item] = restore_spelling([ITEM], {"test-7": TALK})
    assert close_punctuation(item.context)[0].text == "Hi, Tom."


@pytest.mark.parametrize(
    ("plain", "rated"),
    [
        ("I don't know.", "i do n't know ."),
        ("No, I'm okay, really.", "no , i 'm okay , really ."),
        ("It's Tom’s.", "it 's tom 's ."),
    ],
)
def test_a_text_is_spelled_like_the_rated_replies_and_back(plain: str, rated: str) -> None:
    assert spell_like_rated(plain) == rated == spell_like_rated(spell_plainly(rated))


def test_a_twentieth_of_a_corpus_is_always_the_same_one() -> None:
    corpus = [replace(TALK, id=str(n)) for n in range(60)]
    chosen = [one.id for one in draw_corpus_part(corpus)]
    assert chosen == [one.id for one in draw_corpus_part(corpus)]
    assert len(chosen) == 3
    assert chosen == sorted(chosen, key=int)
    assert len(draw_corpus_part(corpus[:2])) == 1


def test_the_first_proposal_of_every_item_is_adapted_before_the_second() -> None:
    many = proposals(*(f"text {n}" for n in range(20)))
    found = list_adaptations([many, many[:1]])
    assert found[:3] == [ProposalPlace(0, 0), ProposalPlace(1, 0), ProposalPlace(0, 1)]
    assert len(found) == 21


# The choice


def test_a_selection_leaves_out_what_is_long_unapt_or_alike() -> None:
    found = [
        Proposal(text, "retrieval", score)
        for text, score in [("a b c", 0.9), ("a b c d", 0.8), ("x", 0.2), ("y z", 0.6)]
    ]
    assert [one.text for one in ReferenceSelection(10).select(found)] == ["a b c", "a b c d", "x", "y z"]
    assert [one.text for one in ReferenceSelection(3, 3).select(found)] == ["a b c", "x"]
    assert [one.text for one in ReferenceSelection(10, least=0.5, alike=0.8).select(found)] == ["a b c", "y z"]
    assert str(ReferenceSelection(10, 12, 0.7, weighted=True)) == (
        "5 + 5, at most 12 words, aptness of 0.7 or more, weighted by aptness"
    )


def test_the_first_set_that_is_nearly_the_best_is_chosen() -> None:
    def cases(value: float) -> dict[str, Interval]:
        return {case: Interval(value, value - 0.1, value + 0.1, 9, 0, 3) for case in CASES}

    small, middle, large = (ReferenceSelection(size) for size in (10, 20, 40))
    assert choose({small: cases(0.1), middle: cases(0.196), large: cases(0.2)}) == middle
    assert list_further(small)[0] == large


def test_no_rated_context_helps_to_choose(published: Path) -> None:
    items, people = unrated_items()
    rated = {item.dialogue for item in scarce.items_to_augment()}
    assert len(items) == 120
    assert not rated & {item.dialogue for item in items}
    assert all(len(people[item.id]) > 1 for item in items)


def test_what_is_used_is_what_the_page_of_the_choice_names() -> None:
    page = (ROOT / "docs/results/scarce-choice.md").read_text(encoding="utf-8")
    assert f"Chosen: {CHOSEN}. Chosen beyond the paper: {CHOSEN_FURTHER}." in page


def test_the_authors_lists_are_counted(published: Path) -> None:
    lists = read_released()
    assert describe_released(list(lists.values())) == (
        "1,000 retrieved references, 49 of them changed by adaptation; common-sense references per item: 22 for 52 "
        "items, 13 for 1 item, 12 for 24 items, 0 for 23 items"
    )
    assert share_of_hits([["a", "b", "a"]], [proposals("b", "c", "d", "e", "f", "a")]) == 0.5


def test_the_form_of_the_annotators_is_a_project() -> None:
    """Section 3: appropriate, neutral or not appropriate, by two annotators."""
    from rejoinder.annotation.project_file import read_project

    project = read_project(ROOT / "examples/annotation/references.toml")
    assert (project.form, project.raters_per_unit) == ("references", 2)


# Sets of references


def augmented() -> AugmentedReferences:
    """Two items; of the first all was adapted, of the second nothing was tried."""
    found = {
        RETRIEVAL: [proposals("It rains .", "Go on ."), proposals("Go on .")],
        SENSE: [proposals("i feel sad", source="commonsense/atomic"), []],
        **{source: [[], []] for source in (PART, PRINTED, OTHER, WIDER)},
    }
    places = [ProposalPlace(0, 0), ProposalPlace(0, 1), ProposalPlace(1, 0)]
    return combine_outcomes(["one", "two"], found, places, [outcome("It rains .", "It pours."), outcome("Go on .")])


def test_both_the_text_and_what_it_was_adapted_to_are_references() -> None:
    found = augmented().added(RETRIEVAL, SENSE)
    assert [one.text for one in found["one"]] == ["It rains .", "Go on .", "i feel sad", "It pours ."]
    assert found["one"][3].origin == "It rains ."
    assert [one.text for one in found["two"]] == ["Go on ."]
    plain = augmented().added(RETRIEVAL, SENSE, adapted=False)
    assert [one.text for one in plain["one"]] == ["It rains .", "Go on .", "i feel sad"]
    assert augmented().verdicts == {"adapted": 1, "less likely": 1, "not tried": 1}


def test_a_text_stands_once_in_a_set_and_the_human_one_stays_human() -> None:
    people = {"one": (Reference("Go on ."),), "two": (Reference("No ."),)}
    found = merge_references(people, augmented().added(RETRIEVAL))
    assert [(one.text, one.source) for one in found["one"]] == [
        *[("Go on .", "human"), ("It rains .", "retrieval"), ("It pours .", "retrieval")]
    ]
    rows = table_2_references(people, augmented())
    assert list(load_published("scarce")["Table 2"]) == list(rows)[:5]
    assert [one.text for one in rows[reference_sets.SENSE_ONLY]["one"]] == ["Go on .", "i feel sad"]
    assert all(of_set[item][0].source == "human" for of_set in rows.values() for item in people)


def test_every_reference_gets_up_to_five_paraphrases() -> None:
    text = "i think you should take the train because the bus is always late ."
    found = paraphrase_references({"one": (Reference(text), Reference("no , i do n't like it ."))}, "rewording")
    assert 5 < len(found["one"]) <= 10
    assert {one.source for one in found["one"]} == {"paraphrase"}
    assert text not in {one.text for one in found["one"]}


# Figures


def test_the_published_tables_agree_with_the_authors_logs() -> None:
    """The logs have four decimals (scarce_overlap, scarce_embedding), the paper's Table 4 three and Table 1 two."""
    published = load_published("scarce")
    logs = {
        (row, column): cell
        for row, cells in published["Table 1, result logs"].items()
        for column, cell in cells.items()
    }
    assert len(logs) == 37
    for (row, column), log in logs.items():
        cell = published["Table 1"][row][column.replace("SCARCE", "OURS")]
        assert (cell["spearman"], cell["kendall"]) == pytest.approx((log["spearman"], log["kendall"]), abs=0.0051), row
        assert cell["spearman"] == pytest.approx(log["spearman"], abs=0.00051), (row, column)


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics without models."""
    rows = dict.fromkeys(measures.CASELESS, "chrf") | {"METEOR": "meteor"}
    monkeypatch.setattr(measures, "CASELESS", rows)
    monkeypatch.setattr(tables, "_QUALITY", "context_overlap")


WORDS = "it rains here we go on home now and then".split()


def replies(n: int = 12) -> Collection:
    """Items with three systems' replies, and ratings that are nobody's."""
    random, data = np.random.default_rng(3), Collection()
    for number in range(n):
        name = f"i{number}"
        data.add(Item(name, (Turn("What now ?"),), (Reference(" ".join(random.choice(WORDS, 5))),)))
        for system in ("a", "b", "c"):
            data.add(Response(f"{name}/{system}", name, system, " ".join(random.choice(WORDS, 6))))
            data.add(Rating("r", "appropriate", float(random.integers(1, 6)), f"{name}/{system}"))
    return data


def made(data: Collection) -> AugmentedReferences:
    random = np.random.default_rng(4)
    items = list(data.items)
    found = {
        source: [proposals(*(" ".join(random.choice(WORDS, 7)).capitalize() for _ in range(6))) for _ in items]
        for source in (RETRIEVAL, SENSE, PART, PRINTED, OTHER, WIDER)
    }
    return combine_outcomes(items, found, list_adaptations(found[RETRIEVAL]), [])


def stored(data: Collection) -> StoredScarce:
    people = human_references(data.items.values())
    every = PublishedReferences(people, people, people, people)
    return scarce.score_sets(collect_rated(data), list(data.items.values()), every, made(data), "rewording")


def test_the_tables_hold_what_scipy_finds(cheap: None) -> None:
    from scipy.stats import kendalltau, spearmanr

    from rejoinder.scoring.api import score

    data = replies()
    people = human_references(data.items.values())
    given = made(data)
    found = scarce.assemble_scarce(collect_rated(data), stored(data))
    figures = {(f.table, f.row, f.column): f for f in found.figures}
    assert len(figures) == len(found.figures)

    ours = merge_references(people, given.added(RETRIEVAL, SENSE))
    items = {name: replace(item, references=ours[name]) for name, item in data.items.items()}
    spec = "bleu(smoothing='epsilon', tokenizer='whitespace')"  # lower-casing is the default
    scores = score(Collection(items=items, responses=data.responses), spec)
    ratings = [rating.value for rating in data.ratings]
    rho, tau = spearmanr(scores[spec], ratings), kendalltau(scores[spec], ratings)
    at = "BLEU-4", reference_sets.OURS_SINGLE
    assert figures[(f"Table 1: Spearman, {CASES[1]}", *at)].measured == pytest.approx(rho.statistic)
    assert figures[(f"Table 1: Kendall, {CASES[1]}", *at)].measured == pytest.approx(tau.statistic)
    assert figures[(f"Table 4: p of Spearman, {CASES[1]}", *at)].measured == pytest.approx(rho.pvalue)
    inside = [spearmanr(scores[spec][n::3], ratings[n::3]).statistic for n in range(3)]
    assert figures[(f"Table 1: Spearman within systems, {CASES[1]}", *at)].measured == pytest.approx(np.mean(inside))

    def within(column: str) -> float:
        return figures[f"Table 1: Spearman within systems, {CASES[0]}", "BLEU-2", column].measured

    gain = figures["Gain of OURS-SINGLE over SINGLE", "BLEU-2", f"Spearman within systems, {CASES[0]}"]
    assert gain.measured == pytest.approx(within(reference_sets.OURS_SINGLE) - within(reference_sets.SINGLE))
    assert gain.low is not None
    assert gain.low <= gain.measured
    whole = figures[f"Table 2: Spearman, {CASES[1]}", reference_sets.WHOLE, "BLEU-4"]
    assert whole.measured == figures[(f"Table 1: Spearman, {CASES[1]}", *at)].measured
    assert figures[("Table 1: Kendall, case as published", *at)].published == 0.21


def test_case_changes_overlap_alone_and_the_notes_say_what_was_not_adapted(cheap: None) -> None:
    data = replies(6)
    found = scarce.assemble_scarce(collect_rated(data), stored(data))
    lower = {f.row for f in found.figures if f.table == f"Table 1: Spearman, {CASES[1]}"}
    assert lower == set(measures.OVERLAP)
    notes = "\n".join(found.notes)
    assert "Adaptation: none of the retrieved texts was adapted" in notes
    assert "References per item: SINGLE 1.0, " in notes
    diverse = [f for f in found.figures if f.table == tables.DIVERSITY]
    assert {f.row for f in diverse} == {
        "ours",
        "paraphrase",
        "paraphrase by rewording",
    }  # others have no four references
    assert {f.published for f in diverse} == {0.134, 0.36, None}
    assert {"single", "retrieval", "common sense"} <= {f.row for f in found.figures if f.table == tables.QUALITY}


def test_stored_scores_give_the_same_tables(cheap: None, tmp_path: Path) -> None:
    data, path = replies(6), tmp_path / "stored.json.gz"
    fresh = stored(data)
    write_stored(fresh, path)
    again = read_stored(path)
    assert scarce.assemble_scarce(collect_rated(data), again) == scarce.assemble_scarce(collect_rated(data), fresh)
    check_responses(again, list(data.responses))
    with pytest.raises(InputError, match="not those whose scores are stored"):
        check_responses(again, list(data.responses)[1:])
    assert b"rains here" not in gzip.decompress(path.read_bytes())


def test_paraphrases_can_be_added_to_what_is_stored(cheap: None, monkeypatch: pytest.MonkeyPatch) -> None:
    data = replies(6)
    people = human_references(data.items.values())
    monkeypatch.setattr(
        scarce, "read_published_references", lambda: PublishedReferences(people, people, people, people)
    )
    whole = stored(data)
    paraphrases = {reference_sets.PARAPHRASE_SINGLE, reference_sets.PARAPHRASE_MULTI}
    without = replace(
        whole,
        columns={name: one for name, one in whole.columns.items() if name not in paraphrases},
        rows={name: one for name, one in whole.rows.items() if name != reference_sets.TRANSLATED},
        appendix=[one for one in whole.appendix if one.row != scarce.PARAPHRASE],
    )
    rated = collect_rated(data)
    before = scarce.assemble_scarce(rated, without)
    assert "Not measured for this page: PARAPHRASE-SINGLE, PARAPHRASE-MULTI, paraphrase by" in "\n".join(before.notes)
    added = scarce.add_paraphrases(scarce.add_paraphrases(without, rated, "rewording"), rated, "rewording")
    after = scarce.assemble_scarce(rated, added)
    fresh = scarce.assemble_scarce(rated, whole)
    assert sorted(map(str, after.figures)) == sorted(map(str, fresh.figures))
    assert list(added.columns) == list(whole.columns)
    assert sum("PARAPHRASE produces little or no improvement" in note for note in after.notes) == 1
    assert len(after.notes) == len(fresh.notes) + 1  # how many paraphrases there are, said once


def test_the_page_is_what_the_stored_scores_give(published: Path) -> None:
    written = json.loads((ROOT / "docs/results/scarce.json").read_text(encoding="utf-8"))
    cells = {(one["table"], one["row"], one["column"]): one for one in written}
    rebuilt = list(tables.scarce_table_2(collect_rated(read("dataset:gupta/single")), read_stored(PATH).rows))
    assert rebuilt
    for figure in rebuilt:
        cell = cells[figure.table, figure.row, figure.column]
        assert (figure.measured, figure.low, figure.high) == pytest.approx(
            (cell["measured"], cell["low"], cell["high"]), abs=2e-6
        )


def test_all_missing_models_are_named_before_any_work(published: Path, own_cache: Path) -> None:
    with pytest.raises(InputError, match="needs smollm2-135m, opus-mt-fr, minilm, glove-6b-50d; get each with"):
        scarce.reproduce(adapt=0)


def test_self_bleu_of_equal_references_is_one_and_of_different_ones_nearly_zero() -> None:
    same = {ITEM.id: (Reference("we all go home now"),) * 4}
    apart = {ITEM.id: tuple(Reference(f"{c} " * 6) for c in "abcd")}
    found = list(tables.diversity_figures({ITEM.id: ITEM}, {"ours": same, "paraphrase": apart}))
    values = {(f.row, f.column): f.measured for f in found}
    assert values["ours", CASES[0]] == pytest.approx(1, abs=1e-6)
    assert values["paraphrase", CASES[0]] == pytest.approx(0, abs=1e-3)


# What is kept


def test_tails_are_asked_for_once_and_survive_a_torn_line(tmp_path: Path) -> None:
    knowing, path = Knowing(), tmp_path / "tails.jsonl"
    heads = [f"event {n}" for n in range(20)]
    first = CachedTails(lambda: knowing, "one", path).tails(heads, "oReact", 2)
    assert first == [["sad", "none"]] * 20
    assert len(knowing.asked) == 20
    again = CachedTails(lambda: pytest.fail("opened"), "one", path)
    assert again.tails(heads[::-1], "oReact", 2) == first
    path.write_bytes(path.read_bytes()[:-9])
    CachedTails(lambda: knowing, "one", path).tails(heads, "oReact", 2)
    assert len(knowing.asked) == 21
    CachedTails(lambda: knowing, "two", path).tails(heads[:1], "oReact", 2)  # another model
    CachedTails(lambda: knowing, "one", path).tails(heads[:1], "oReact", 1)  # another number of beams
    assert len(knowing.asked) == 23


def test_paraphrases_are_written_once(tmp_path: Path) -> None:
    class Writer:
        asked = 0

        def write(self, texts: Sequence[str], count: int) -> list[list[str]]:
            self.asked += len(texts)
            return [[f"{text} {n}" for n in range(count)] for text in texts]

    writer, path = Writer(), tmp_path / "paraphrases.jsonl"
    first = CachedParaphrases(lambda: writer, "one", path).write(["a", "b"], 2)
    assert first == [["a 0", "a 1"], ["b 0", "b 1"]]
    assert CachedParaphrases(lambda: pytest.fail("opened"), "one", path).write(["b", "a"], 2) == first[::-1]
    assert writer.asked == 2


def test_a_store_passes_over_what_it_cannot_read(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "own.jsonl", tmp_path / "other.jsonl"
    path.write_bytes(b'{"key": "a", "tails": ["x"]}\n{"key": "b"}\n[1]\n{"no\n\xff\n')
    elsewhere.write_bytes(b'{"key": "a", "tails": ["older"]}\n{"key": "c", "tails": []}\n')

    def store() -> ValueStore[EventTails]:
        return ValueStore(lambda fields: EventTails(**fields), "tails", path, elsewhere)

    assert store().get("a") == EventTails(["x"])
    assert store().get("b") is None
    assert store().get("c") == EventTails([])
    store().put([("d", EventTails(["y"]))])
    assert store().get("d") == EventTails(["y"])
    assert digest_parts(["half \ud800"]) != digest_parts(["half \ud801"])


# The jobs


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One item and a corpus of two dialogues, no published set."""
    [item] = restore_spelling([ITEM], {"test-7": TALK})
    other = Dialogue("train-1", tuple(map(Turn, ["I lost my bag .", "Oh no ! That is bad .", "Help me , please ."])))
    monkeypatch.setattr(scarce, "items_to_augment", lambda: [item])
    monkeypatch.setattr(scarce, "read_daily_dialogues", lambda split: {"train-1": other})


def test_the_jobs_are_plain_and_in_their_order(small: None) -> None:
    found = orjson.loads(orjson.dumps(_scarce_jobs.list_scarce_jobs("adaptations")))
    assert found[0]["text"] == "Oh no ! That is bad ."
    assert found[0]["context"][0] == ["A", "Hi , Tom ."]


def test_what_another_machine_did_is_not_done_again(
    small: None, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import tiny_language_model

    from rejoinder.augmentation import adaptation as adapting
    from rejoinder.models.delorean.settings import DeloreanSettings

    monkeypatch.setattr(adapting, "DeloreanSettings", lambda: DeloreanSettings(iterations=1, updates=1, extra=2))
    jobs, out = tmp_path / "jobs.jsonl", tmp_path / "out.jsonl"
    invoke(["dump", str(jobs), "--only", "adaptations"])
    there = tmp_path / "there"
    tiny_language_model.install(there)
    tiny_language_model.install(own_cache)
    monkeypatch.setenv("REJOINDER_CACHE", str(there))
    invoke(["run", str(jobs), str(out)])

    monkeypatch.setenv("REJOINDER_CACHE", str(own_cache))
    assert "1 new lines in adaptations/" in invoke(["load", str(out)])
    assert "0 new lines in adaptations/" in invoke(["load", str(out)])
    monkeypatch.setattr(adapting, "_open_model", lambda *_: pytest.fail("the language model was opened"))
    items = scarce.items_to_augment()
    retrieved = {RETRIEVAL: scarce.retrieve_chosen(items)}
    assert "not tried" not in scarce.adapt_first(items, retrieved).verdicts
    assert "the first 1 of 1 texts are adapted" in invoke(["known"])
    assert scarce.adapt_first(items, retrieved, 0).verdicts == {"not tried": 1}


def test_paraphrases_of_another_machine_are_not_written_again(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, four = {"1": (Reference("i 'm fine ."),)}, {"1": (Reference("i 'm fine ."), Reference("not so well ."))}
    monkeypatch.setattr(scarce, "read_published_references", lambda: PublishedReferences(one, four, one, four))
    monkeypatch.setattr(BackTranslation, "write", lambda _, texts, count: [[f"{text} Really."] for text in texts])
    jobs, out = tmp_path / "jobs.jsonl", tmp_path / "out.jsonl"
    assert "2 jobs" in invoke(["dump", str(jobs), "--only", "paraphrases"])
    monkeypatch.setenv("REJOINDER_CACHE", str(tmp_path / "there"))
    assert "2 texts paraphrased" in invoke(["run", str(jobs), str(out)])
    monkeypatch.setenv("REJOINDER_CACHE", str(own_cache))
    assert "2 new lines in paraphrases/" in invoke(["load", str(out)])
    monkeypatch.setattr(BackTranslation, "write", lambda *_: pytest.fail("translated again"))
    found = paraphrase_references(four, cached_back_translation(BACK_TRANSLATION))
    assert [reference.text for reference in found["1"]] == ["i 'm fine . really .", "not so well . really ."]


def invoke(arguments: Sequence[str]) -> str:
    done = CliRunner().invoke(_scarce_jobs.program, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_result_cannot_name_a_file_outside_the_caches(own_cache: Path) -> None:
    for name in ("../x.jsonl", "scores/x.jsonl", "adaptations/../x.jsonl", "adaptations/x.txt"):
        with pytest.raises(InputError, match="is not a file of the caches"):
            _scarce_jobs.fill_caches([{"file": name, "line": {}}])


def test_the_jobs_can_be_run_where_little_is_installed() -> None:
    code = "import sys, rejoinder_lab.papers.scarce.jobs; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    absent = {"bm25s", "sacrebleu", "onnxruntime", "py3langid", "rapidfuzz", "snowballstemmer", "nltk", "scipy"}
    assert not absent & set(done.stdout.split())


# The command


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["reproduce", "scarce", "--adapt", "-1"], "-1 is not in the range x>=0"),
        (
            ["reproduce", "scarce-overlap", "--adapt", "5"],
            "scarce-overlap adapts no texts; leave out the parameter adapt",
        ),
        (["reproduce", "scarce", "-m", "bleu"], "measures only the metrics of its paper"),
    ],
)
def test_a_wrong_call_is_told(arguments: list[str], told: str) -> None:
    done = CliRunner().invoke(program, arguments)
    assert done.exit_code != 0
    assert told in done.output + str(done.exception)


def test_the_command_hands_on_how_many_to_adapt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Any] = []

    def reproduce(adapt: int | None = None) -> Any:
        seen.append(adapt)
        return scarce.Reproduction("scarce", "t", [], [])

    monkeypatch.setattr(scarce, "reproduce", reproduce)
    monkeypatch.setattr("rejoinder_lab.papers.list_missing_parts", lambda name: [])
    for given in ([], ["--adapt", "0"], ["--adapt", "50"]):
        done = CliRunner().invoke(program, ["reproduce", "scarce", "--output", str(tmp_path), *given])
        assert done.exit_code == 0, done.output
    assert seen == [None, 0, 50]
