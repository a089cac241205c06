"""`reproduce scarce` on made-up talks: proposals, the order of adapting, sets, tables, jobs."""

from __future__ import annotations

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

from rejoinder.augmentation.acceptance import AdaptationOutcome
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.store import CachedTails, EventTails, ValueStore, digest_parts
from rejoinder.cli import program
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError
from rejoinder.papers.loader import load_published
from rejoinder.papers.scarce import jobs as _scarce_jobs
from rejoinder.papers.scarce import measures, scarce, tables
from rejoinder.papers.scarce import sets as reference_sets
from rejoinder.papers.scarce.measures import CASES, collect_rated
from rejoinder.papers.scarce.proposals import (
    COMET,
    MATCHED,
    PART,
    RETRIEVAL,
    WIDE,
    WIDE_PART,
    ProposalPlace,
    close_punctuation,
    draw_corpus_part,
    generate_proposals,
    list_adaptations,
    restore_spelling,
    space_punctuation,
)
from rejoinder.papers.scarce.scarce import describe_adaptation
from rejoinder.papers.scarce.sets import (
    AugmentedReferences,
    combine_outcomes,
    human_references,
    merge_references,
    paraphrase_references,
    table_2_references,
)
from rejoinder.types import Dialogue, Item, Rating, Reference, Response, Turn

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


def test_common_sense_is_asked_in_plain_writing_and_answers_spaced() -> None:
    knowing = Knowing()
    [item] = restore_spelling([ITEM], {"test-7": TALK})
    [found] = generate_proposals([item], knowing)
    assert [one.text for one in found] == ["I feel sad .", "I want to help you ."]
    assert {head for head, _ in knowing.asked} == {"PersonX lost PersonX's keys."}
    assert close_punctuation(item.context)[0].text == "Hi, Tom."


def test_a_twentieth_of_a_corpus_is_always_the_same_one() -> None:
    corpus = [replace(TALK, id=str(n)) for n in range(60)]
    chosen = [one.id for one in draw_corpus_part(corpus)]
    assert chosen == [one.id for one in draw_corpus_part(corpus)]
    assert len(chosen) == 3
    assert chosen == sorted(chosen, key=int)
    assert len(draw_corpus_part(corpus[:2])) == 1


def test_the_first_proposal_of_every_item_is_adapted_before_the_second() -> None:
    many = proposals(*(f"text {n}" for n in range(20)))
    found = list_adaptations({MATCHED: [[], many], RETRIEVAL: [many, many[:1]], COMET: [many[:2], many[:2]]})
    assert found[:3] == [ProposalPlace(RETRIEVAL, 0, 0), ProposalPlace(RETRIEVAL, 1, 0), ProposalPlace(RETRIEVAL, 0, 1)]
    assert [sum(place.source == source for place in found) for source in (RETRIEVAL, COMET, MATCHED)] == [21, 4, 20]
    assert [place.source for place in found] == [RETRIEVAL] * 21 + [COMET] * 4 + [MATCHED] * 20


# Sets of references


def augmented() -> AugmentedReferences:
    """Two items; of the first all was adapted, of the second nothing was tried."""
    found = {
        RETRIEVAL: [proposals("It rains .", "Go on ."), proposals("Go on .")],
        COMET: [proposals("I feel sad .", source="commonsense/comet"), []],
        PART: [[], []],
        WIDE: [[], []],
        WIDE_PART: [[], []],
        MATCHED: [[], proposals("I want to eat .", source="commonsense/atomic")],
    }
    places = [
        ProposalPlace(RETRIEVAL, 0, 0),
        ProposalPlace(RETRIEVAL, 0, 1),
        ProposalPlace(COMET, 0, 0),
        ProposalPlace(MATCHED, 1, 0),
    ]
    outcomes = [outcome("It rains .", "It pours."), outcome("Go on ."), outcome("I feel sad .", "I am sad .")]
    return combine_outcomes(["one", "two"], found, places, outcomes)


def test_both_the_text_and_what_it_was_adapted_to_are_references() -> None:
    found = augmented().added(RETRIEVAL, COMET)
    assert [one.text for one in found["one"]] == ["It rains .", "Go on .", "I feel sad .", "It pours .", "I am sad ."]
    assert found["one"][3].origin == "It rains ."
    assert [one.text for one in found["two"]] == ["Go on ."]
    plain = augmented().added(RETRIEVAL, COMET, adapted=False)
    assert [one.text for one in plain["one"]] == ["It rains .", "Go on .", "I feel sad ."]


def test_what_was_not_tried_is_told() -> None:
    assert describe_adaptation(augmented(), 3) == (
        "Adaptation: retrieval: 2 of 2 (1 accepted, 1 less likely); common sense: 1 of 1 (1 accepted); retrieval, 5% "
        "of the corpus: 0 of 0; common sense, matched: 0 of 1. Limited to the first 3 texts (--adapt 3)."
    )


def test_a_text_stands_once_in_a_set_and_the_human_one_stays_human() -> None:
    people = {"one": (Reference("Go on ."),), "two": (Reference("No ."),)}
    found = merge_references(people, augmented().added(RETRIEVAL))
    assert [(one.text, one.source) for one in found["one"]] == [
        *[("Go on .", "human"), ("It rains .", "retrieval"), ("It pours .", "retrieval")]
    ]
    rows = table_2_references(people, augmented())
    assert list(rows) == [
        "ours",
        "common sense only",
        "common sense only, from knowledge files by matching",
        "retrieval only",
        "retrieval only, 5 and 5 by BM25 as released",
        "retrieval only, 5% of the corpus",
        "without context adaptation",
        "without the wide search",
    ]
    assert list(load_published("scarce")["Table 2"]) == [list(rows)[n] for n in (0, 1, 3, 5, 6)]
    assert [one.text for one in rows[reference_sets.SENSE]["one"]] == ["Go on .", "I feel sad .", "I am sad ."]
    assert [one.text for one in rows[reference_sets.MATCHED_SENSE]["two"]] == ["No .", "I want to eat ."]
    assert all(of_set[item][0].source == "human" for of_set in rows.values() for item in people)


def test_every_reference_gets_up_to_five_paraphrases() -> None:
    text = "i think you should take the train because the bus is always late ."
    found = paraphrase_references({"one": (Reference(text), Reference("no , i do n't like it ."))})
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
        for source in (RETRIEVAL, COMET, PART, MATCHED, WIDE, WIDE_PART)
    }
    return combine_outcomes(items, found, list_adaptations(found), [])


def test_the_tables_hold_what_scipy_finds(cheap: None) -> None:
    from scipy.stats import kendalltau, spearmanr

    from rejoinder.scoring.api import score

    data = replies()
    people = human_references(data.items.values())
    given = made(data)
    found = scarce.assemble_scarce(collect_rated(data), people, people, given, 0)
    figures = {(f.table, f.row, f.column): f for f in found.figures}
    assert len(figures) == len(found.figures)

    ours = merge_references(people, given.added(RETRIEVAL, WIDE, COMET))
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
    people = human_references(data.items.values())
    found = scarce.assemble_scarce(collect_rated(data), people, people, made(data), 0)
    lower = {f.row for f in found.figures if f.table == f"Table 1: Spearman, {CASES[1]}"}
    assert lower == set(measures.OVERLAP)
    assert "retrieval: 0 of 36;" in found.notes[2]
    assert found.notes[2].endswith("Limited to the first 0 texts (--adapt 0).")
    assert found.notes[3].startswith("References per item: SINGLE 1.0, ")
    diverse = [f for f in found.figures if f.table == tables.DIVERSITY]
    assert {f.row for f in diverse} == {"ours", "paraphrase"}  # the others have no four references
    assert {f.published for f in diverse} == {0.134, 0.36, None}
    assert {"single", "retrieval", "common sense"} <= {f.row for f in found.figures if f.table == tables.QUALITY}


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
    monkeypatch.setattr(scarce, "_read_daily_dialogues", lambda split: {"train-1": other})
    monkeypatch.setattr(scarce, "match_proposals", lambda items: [proposals("I want to run .") for _ in items])


def test_the_jobs_are_plain_and_in_their_order(small: None) -> None:
    found = orjson.loads(orjson.dumps(_scarce_jobs.list_scarce_jobs()))
    kinds = [job["kind"] for job in found]
    assert kinds[:5] == ["tails"] * 5
    assert kinds[-1] == "adapt"
    assert found[-1]["text"] == "I want to run ."
    first = found[5]
    assert (first["kind"], first["text"]) == ("adapt", "Oh no ! That is bad .")
    assert first["context"][0] == ["A", "Hi , Tom ."]
    [inferring] = [job for job in found if job["kind"] == "infer"]
    assert inferring["questions"][0] == ["oReact", 3, "PersonX lost PersonX's keys."]


def test_what_another_machine_did_is_not_done_again(
    small: None, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import tiny_language_model

    from rejoinder.augmentation import adaptation as adapting
    from rejoinder.models.delorean.settings import DeloreanSettings

    knowing = Knowing()

    def kept() -> CachedTails:
        return CachedTails(lambda: knowing, "one", _scarce_jobs.cache_home() / "tails" / "comet.jsonl")

    for module in (scarce, _scarce_jobs):
        monkeypatch.setattr(module, "cached_comet", kept)
    monkeypatch.setattr(adapting, "DeloreanSettings", lambda: DeloreanSettings(iterations=1, updates=1, extra=2))
    jobs, out = tmp_path / "jobs.jsonl", tmp_path / "out.jsonl"
    invoke(["dump", str(jobs)])
    assert not knowing.asked

    there = tmp_path / "there"
    tiny_language_model.install(there)
    tiny_language_model.install(own_cache)
    monkeypatch.setenv("REJOINDER_CACHE", str(there))
    invoke(["run", str(jobs), str(out)])
    asked = len(knowing.asked)
    assert asked == 5

    monkeypatch.setenv("REJOINDER_CACHE", str(own_cache))
    assert "5 new lines in tails/comet.jsonl" in invoke(["load", str(out)])
    assert "0 new lines in tails/comet.jsonl" in invoke(["load", str(out)])
    monkeypatch.setattr(adapting, "_open_model", lambda *_: pytest.fail("the language model was opened"))
    from rejoinder.papers.scarce.scarce import adapt_first

    items = scarce.items_to_augment()
    found = adapt_first(items, scarce.propose_from_sources(items, kept()))
    assert len(knowing.asked) == asked
    assert all("not tried" not in verdicts for verdicts in found.verdicts.values())
    assert sum(found.verdicts[COMET].values()) == 2
    assert "the first 9 of 9 texts are adapted" in invoke(["known"])
    assert adapt_first(items, scarce.propose_from_sources(items, kept()), 1).verdicts[COMET] == {"not tried": 2}


def invoke(arguments: Sequence[str]) -> str:
    done = CliRunner().invoke(_scarce_jobs.program, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_result_cannot_name_a_file_outside_the_caches(own_cache: Path) -> None:
    for name in ("../x.jsonl", "scores/x.jsonl", "tails/../x.jsonl", "tails/x.txt"):
        with pytest.raises(InputError, match="is not a file of the caches"):
            _scarce_jobs.fill_caches([{"file": name, "line": {}}])


def test_the_jobs_can_be_run_where_little_is_installed() -> None:
    code = "import sys, rejoinder.papers.scarce.jobs; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    absent = {"bm25s", "sacrebleu", "onnxruntime", "py3langid", "rapidfuzz", "snowballstemmer", "rich", "nltk", "scipy"}
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
    monkeypatch.setattr("rejoinder.papers.list_missing_parts", lambda name: [])
    for given in ([], ["--adapt", "0"], ["--adapt", "50"]):
        done = CliRunner().invoke(program, ["reproduce", "scarce", "--out", str(tmp_path), *given])
        assert done.exit_code == 0, done.output
    assert seen == [None, 0, 50]
