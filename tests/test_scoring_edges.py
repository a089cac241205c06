"""Scores at their edges: folds over dialogues by hand, ranges, flags, chunks, metrics that give nonsense."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import rejoinder
from rejoinder.data.collection import collect
from rejoinder.data.datasets import dataset
from rejoinder.data.inputs import Input
from rejoinder.data.writer import write
from rejoinder.engines.base import FailureCounts, TaskResult, WorkerSpec
from rejoinder.errors import InputError, RejoinderError, RunError, SpecError
from rejoinder.metric import Metric, Row, SetMetric, parse
from rejoinder.scoring.api import default_metrics
from rejoinder.scoring.assembly import _StoredValues
from rejoinder.scoring.cache import ScoreStore, pairs_digest, score_address
from rejoinder.scoring.compute import (
    ScoreColumn,
    find_cut_pairs,
    make_score_columns,
    match_references,
    measure_pairs,
    missing_part,
    reads_whole,
    settle_set,
)
from rejoinder.scoring.flags import find_flags
from rejoinder.scoring.folder import read_run_about
from rejoinder.scoring.index import DataFile, ResponseIndex, index_inputs
from rejoinder.scoring.result import Scores, ScoresBuilder, _reduce_groups
from rejoinder.scoring.run import _available_parts
from rejoinder.scoring.run_parts import ABOUT, SHARDS, list_run_parts, merge_run_parts
from rejoinder.scoring.worker import score_pairs_with_engine
from rejoinder.table import Estimate
from rejoinder.text.language import looks_english
from rejoinder.types import Item, Pair, Record, Reference, Response, Statement, Turn

NAN = math.nan


def scored(rows: list[tuple[str, str, float]]) -> Scores:
    """A run of rows (dialogue or "", system, score) in this order."""
    records: list[Record] = []
    for i, (dialogue, system, _) in enumerate(rows):
        records += [
            Item(f"i{i}", (Turn("Well?"),), dialogue=dialogue or None),
            Response(f"r{i}", f"i{i}", system, "Yes."),
        ]
    base = rejoinder.score(collect(records), "length")
    return replace(base, values={"length": np.array([value for *_, value in rows])})


# ---- dialogues


def test_mean_lowest_and_last_turn_by_hand() -> None:
    scores = scored(
        [
            ("d", "a", 3.0),
            ("e", "a", 5.0),
            ("d", "a", 1.0),
            ("d", "b", NAN),
            ("", "a", 9.0),
            ("d", "a", 2.0),
            ("e", "a", NAN),
        ]
    )
    found = [tuple(one)[0:2] + tuple(one)[3:] for one in scores.dialogue_scores()]
    assert found[0] == ("d", "a", 2.0, 1.0, 2.0, 3)
    assert found[1] == ("e", "a", 5.0, 5.0, 5.0, 1)
    assert found[2][:2] == ("d", "b")
    assert all(math.isnan(value) for value in found[2][2:5])
    assert found[2][5] == 0
    table = scores.dialogue_table()
    assert [row[:3] for row in table.rows] == [["a", "length", 2], ["b", "length", 1]]
    cell = table.rows[0][3]
    assert isinstance(cell, Estimate)
    assert cell.value == 3.5


def test_without_dialogues_the_table_says_so() -> None:
    table = scored([("", "a", 1.0)]).dialogue_table()
    assert table.rows == []
    assert table.notes == ["No item of this run names a dialogue."]


def test_a_group_without_scores_has_none() -> None:
    mean, low, last, n = _reduce_groups(np.array([4.0, NAN, 2.0]), np.array([0, 1, 0]), 3)
    assert (mean[0], low[0], last[0]) == (3.0, 2.0, 2.0)
    assert n.tolist() == [2, 0, 0]
    for column in (mean, low, last):
        assert np.isnan(column[1:]).all()


# ---- tables


def test_systems_stand_by_their_mean_and_rows_say_what_is_whose() -> None:
    scores = scored([("", "low", 1.0), ("", "high", 3.0), ("", "low", 2.0), ("", "none", NAN)])
    assert [row[0] for row in scores.table().rows] == ["low", "high", "none"]  # length only describes
    directed = replace(scores, facts={"length": scores.facts["length"]._replace(higher_is_better=True)})
    assert directed.table().rows[0][0] == "high"
    assert {row[0]: row[1] for row in scores.table().rows} == {"high": 1, "low": 2, "none": 1}
    assert scores.mean("length", "low").value == 1.5
    assert scores.mean("length").value == 2.0
    rows = list(scores.rows())
    assert rows[1] == {"response": "r1", "item": "i1", "system": "high", "length": 3.0}
    assert any("1 of 4 responses have no score" in note for note in scores.notes())
    assert "clustered by item." in scores.notes()[0]
    assert "clustered by conversation." in scored([("d", "a", 1.0)]).notes()[0]
    assert len(scores) == 4


def test_an_interval_ends_where_the_metric_does() -> None:
    scores = scored([("", "a", 0.0), ("", "a", 1.0)])
    spec, facts = next(iter(scores.facts.items()))
    inside = replace(scores, facts={spec: facts._replace(range=(0.0, 1.0))})
    assert tuple(inside.mean(spec)) == (0.5, 0.0, 1.0)
    wide = replace(scores, facts={spec: facts._replace(range=(-99.0, 99.0))}).mean(spec)
    assert wide.low == pytest.approx(0.5 - 12.706 / 2, abs=0.001)  # t with one degree of freedom
    assert wide.high == pytest.approx(0.5 + 12.706 / 2, abs=0.001)


def test_flags_and_cut_texts_are_noted_where_there_are_any() -> None:
    scores = replace(scored([("", "a", 1.0)]), flags={"empty": 0, "near_empty": 2}, cut={"length": 1})
    notes = " ".join(scores.notes())
    assert "near_empty: 2 nearly empty replies" in notes
    assert "empty: 0" not in notes
    assert "length: 1 of 1 responses, or what they were read with, were cut" in notes
    assert "were cut" not in " ".join(replace(scores, cut={"length": 0}).notes())


def test_a_spec_is_found_as_it_was_typed_or_is_told() -> None:
    scores = rejoinder.score(["a b"], references=["a b"], metrics=["bleu(n=2)"])
    assert scores.spec("bleu( n = 2 )") == "bleu(n=2)"
    with pytest.raises(RunError, match="the run has no scores of length"):
        scores.spec("length")


# ---- flags


def pair(text: str, **item: Any) -> Pair:
    return Pair(Item("i", (Turn("Well?"),), **item), Response("r", "i", "s", text))


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("", ["empty"]),
        (" \n", ["empty"]),
        ("?!", ["near_empty"]),
        ("a!", ["near_empty"]),
        ("ok", []),
        ("." * 50 + "ok", []),
        ("." * 50 + "k", ["near_empty"]),
        ("Yes, I would like that.", []),
        ("Да, конечно, с удовольствием.", ["not_english"]),
        ("Ich weiß nicht, was das bedeuten soll, aber morgen kommen wir alle zusammen wieder.", ["not_english"]),
        ("Naïve café déjà vu, you know what I mean.", []),
        ("Moscow Москва я we the", []),
    ],
)
def test_odd_replies_are_flagged(text: str, flags: list[str]) -> None:
    assert find_flags([pair(text)]) == [flags]


def test_a_context_that_was_cut_is_flagged_beside_the_reply() -> None:
    assert find_flags([pair("?!", truncated=True), pair("ok")]) == [["near_empty", "truncated_context"], []]


def test_a_quarter_of_common_words_is_english_enough() -> None:
    assert looks_english("zwei worte")  # two words get the benefit of the doubt
    assert looks_english("the blaue katze schläft")  # one of four


# ---- chunks


def test_chunks_end_where_the_content_says_and_are_neither_small_nor_large() -> None:
    index = ResponseIndex()
    for i in range(7000):
        index.add(Response(f"r{i}", f"i{i % 5}", "s", "x"), i)
    index.close()
    index.close()  # ending twice is ending once
    expected, size = [], 0
    for i in range(7000):
        size += 1
        if (size >= 128 and zlib.crc32(f"r{i}".encode()) % 384 == 0) or size >= 2048:
            expected.append(i + 1)
            size = 0
    if expected[-1] != 7000:
        expected.append(7000)
    assert index.chunk_ends == expected
    assert index.chunks() == [range(a, b) for a, b in zip([0, *expected[:-1]], expected, strict=True)]


def test_a_chunk_without_an_end_by_content_ends_at_the_largest_size() -> None:
    index = ResponseIndex()
    same = next(name for name in map(str, range(1000)) if zlib.crc32(name.encode()) % 384)
    for i in range(5000):
        index.add(Response(same, "i", "s", "x"), i)
    index.close()
    assert index.chunk_ends == [2048, 4096, 5000]


def test_the_index_knows_dialogues_and_clusters() -> None:
    index = ResponseIndex()
    index.add(Response("r0", "j", "b", "x"), 10)  # before its item
    index.add(Item("i", (Turn("Hi."),), (Reference("a", "bm25"),), dialogue="d"), 20)
    index.add(Item("j", (Turn("Hi."),)), 30)
    index.add(Item("k", (Turn("Hi."),), dialogue="d"), 40)
    for n, item in enumerate("ikj", start=1):
        index.add(Response(f"r{n}", item, "a", "x"), 50 + n)
    index.close()
    builder = ScoresBuilder(list(index.systems), list(index.dialogues))
    for row in index.rows():
        builder.add(*row)
    scores = builder.build({}, {}, {}, {})
    assert scores.dialogue_codes.tolist() == [-1, 0, 0, -1]
    clusters = scores.clusters.tolist()
    assert clusters[1] == clusters[2] != clusters[0] == clusters[3]
    assert scores.items == ["j", "i", "k", "j"]
    assert [place[:2] for place in index.where(range(0, 2))] == [(10, 30), (51, 20)]
    assert (index.systems, index.reference_sources) == ({"b": 0, "a": 1}, {"bm25"})
    assert index.counts == {"response": 4, "item": 3}


# ---- metrics that give nonsense


@dataclass(frozen=True)
class Given(Metric):
    """A metric that gives what it was made with."""

    values: tuple[Any, ...] = ()
    needs: ClassVar[frozenset[str]] = frozenset({"references", "situation"})
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    version: ClassVar[int] = 1

    def score(self, pairs: Any) -> Any:
        if self.values == ("fails",):
            raise ZeroDivisionError("by zero")
        if self.values == ("refuses",):
            raise RunError("no such thing")
        return list(self.values)

    def match(self, pairs: Any) -> Any:
        return [7] * len(pairs)


WHOLE = pair("Yes.", references=(Reference("Yes."),), situation=(Statement("It is cold."),))


def test_what_a_pair_lacks_is_named() -> None:
    assert missing_part(Given(), WHOLE) is None
    assert missing_part(Given(), pair("Yes.", references=(Reference("Yes."),))) == "situation"
    assert missing_part(Given(), pair("Yes.")) == "references"
    assert missing_part(Given(), pair(" ")) == "reply"


def test_pairs_that_cannot_be_scored_are_left_out_and_marked() -> None:
    assert measure_pairs(Given((0.25, 1.0)), [pair("x"), WHOLE, pair(""), WHOLE]) == [None, 0.25, None, 1.0]
    assert measure_pairs(Given(()), [pair("x")]) == [None]
    assert match_references(Given(), [WHOLE, pair("x")]) == [7, None]
    assert reads_whole(Given())
    assert find_cut_pairs(Given(), [WHOLE, pair("x")]) == [False, None]


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (0.0, 0.0),
        (1.0, 1.0),
        (1 + 1e-10, 1.0),
        (-1e-10, 0.0),
        (NAN, None),
        (None, None),
        (1, 1.0),
        (np.float32(0.5), 0.5),
    ],
)
def test_a_score_is_kept_within_its_range(value: Any, kept: float | None) -> None:
    assert measure_pairs(Given((value,)), [WHOLE]) == [kept]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((1.1,), "returned 1.1, outside its range from 0.0 to 1.0"),
        ((-0.001,), "outside its range"),
        ((math.inf,), "returned inf, outside its range"),
        ((True,), "returned True; a score must be a number"),
        (("0.5",), "returned '0.5'; a score must be a number"),
        ((), "must return one value per pair, not 0 for 1"),
        ((0.1, 0.2), "must return one value per pair, not 2 for 1"),
        (("fails",), "failed: ZeroDivisionError: by zero"),
        (("refuses",), "^no such thing$"),
    ],
)
def test_nonsense_of_a_metric_is_told(values: tuple[Any, ...], told: str) -> None:
    with pytest.raises(RejoinderError, match=told):
        measure_pairs(Given(values), [WHOLE])


# ---- by an engine, and what is kept


class Backwards:
    """An engine that computes here and gives what was asked last first."""

    name = "backwards"
    counts = FailureCounts()

    def __init__(self, workers: int = 2) -> None:
        self.workers = workers
        self.tasks: list[Any] = []

    def compute(self, work: WorkerSpec, tasks: Any) -> Any:
        worker = work.worker()
        self.tasks = list(tasks)
        found = [TaskResult(number, worker.compute(task)) for number, task in enumerate(self.tasks)]
        worker.close()
        return iter(found[::-1])


def many_pairs(n: int) -> list[Pair]:
    items = [Item(f"i{i}", (Turn("Well?"),)) for i in range(0, n, 2)]
    texts = ["word " * (1 + i % 7) if i % 5 else "" for i in range(n)]
    return [Pair(items[i // 2], Response(f"r{i}", items[i // 2].id, "s", text)) for i, text in enumerate(texts)]


@pytest.mark.parametrize("n", [512, 513, 1300])
def test_an_engine_gives_the_scores_that_are_computed_here_in_the_order_of_the_pairs(n: int) -> None:
    pairs, engine = many_pairs(n), Backwards()
    metric = parse("length")
    expected = [len(pair.response.text.split()) or NAN for pair in pairs]
    found = score_pairs_with_engine(engine, metric, pairs)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(score_pairs_with_engine(None, metric, pairs), expected)
    sizes = [sum(len(responses) for _, responses in task) for task in engine.tasks]
    assert sizes == {512: [], 513: [512, 1], 1300: [512, 512, 276]}[n]
    if engine.tasks:
        assert len(engine.tasks[0]) == 256  # two replies share an item, which is sent once
    alone = Backwards(workers=1)
    score_pairs_with_engine(alone, metric, pairs)
    assert alone.tasks == []


def test_the_cache_gives_back_what_was_kept_whole_and_nothing_else(tmp_path: Path) -> None:
    store = ScoreStore(tmp_path)
    where = score_address("signature", "content")
    assert store.get(where) is None
    store.put(where, [1.5, None, "x"])
    assert store.get(where) == [1.5, None, "x"]
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    raw = file.read_bytes()
    for torn in (raw[:-1], raw[:20], b"", raw[:16] + b"[]", bytes([raw[0] ^ 1]) + raw[1:]):
        file.write_bytes(torn)
        assert store.get(where) is None
    assert score_address("signature", "content") != score_address("signature2", "content")
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="scores cannot be stored there"):
        ScoreStore(tmp_path / "file").put(where, [1])


def test_the_address_of_a_chunk_is_of_what_is_read_and_not_of_ids() -> None:
    item = Item("i", (Turn("Well?"),), (Reference("Yes."),))
    pairs = [Pair(item, Response("r", "i", "s", "Yes.")), Pair(item, Response("q", "i", "s", "No."))]
    renamed = [Pair(replace(item, id="j"), Response("x", "j", "t", pair.response.text)) for pair in pairs]
    assert pairs_digest(pairs, {"references"}) == pairs_digest(renamed, {"references"})
    other = [Pair(replace(item, references=()), pair.response) for pair in pairs]
    assert pairs_digest(pairs, {"references"}) != pairs_digest(other, {"references"})
    assert pairs_digest(pairs, {"context"}) == pairs_digest(other, {"context"})
    assert pairs_digest(pairs, ()) != pairs_digest(pairs[::-1], ())
    # by hand: blake2b over each text, and over what of the item is read, by name, each behind its length
    by_hand = hashlib.blake2b(digest_size=20)
    for pair in pairs:
        context = b'[[{"text":"Well?","speaker":null}],'
        references = b'[{"text":"Yes.","source":"human","score":null,"origin":null}]]'
        for raw in (context + references, pair.response.text.encode()):
            by_hand.update(len(raw).to_bytes(8, "little") + raw)
    assert pairs_digest(pairs, {"references", "context"}) == by_hand.hexdigest()
    joined = [Pair(item, Response("r", "i", "s", "Yes.N")), Pair(item, Response("q", "i", "s", "o."))]
    assert pairs_digest(pairs, ()) != pairs_digest(joined, ())


def test_columns_are_scores_matches_cuts_and_flags() -> None:
    assert [column.kind for column in make_score_columns(["length", "bleu"])] == ["score", "score", "flags"]
    assert [column.kind for column in make_score_columns(["length", "bleu"], True)] == [
        "score",
        "score",
        "match",
        "flags",
    ]
    assert ScoreColumn("flags").needs == {"truncated"}
    assert ScoreColumn("flags").signature.startswith("flags|flags|version:1|rejoinder:")


def test_runs_over_parts_add_up() -> None:
    def part(name: str, signature: str, n: int) -> dict[str, Any]:
        metric = {"spec": "m", "signature": signature, "n": n, "missing": 1, "range": [0, 1]}
        counts = {"item": n, "response": n}
        return {
            "id": name,
            "inputs": [name],
            "metrics": [metric],
            "counts": counts,
            "systems": {"s": n},
            "flags": {"empty": 0},
        }

    found = merge_run_parts([part("a", "m|1", 2), part("b", "m|1", 3)])
    assert (found["counts"], found["systems"], found["flags"]) == ({"item": 5, "response": 5}, {"s": 5}, {"empty": 0})
    assert found["metrics"] == [{"spec": "m", "signature": "m|1", "n": 5, "missing": 2, "range": [0, 1]}]
    assert (found["inputs"], found["shards"]) == (["a", "b"], 2)
    assert found["id"] == hashlib.sha256(b"ab").hexdigest()[:16]
    three = merge_run_parts([part("a", "m|1", 2), part("b", "m|2", 3), part("c", "m|3", 3)])
    assert three["metrics"][0]["signature"] == "m|1 (and 2 more in other shards)"


def test_a_run_over_parts_that_is_damaged_is_told(tmp_path: Path) -> None:
    assert list_run_parts(tmp_path) == [tmp_path]
    for raw, told in (
        (b"{", "cannot be read"),
        (b'{"shards": []}', "lists no shards with replies"),
        (b'{"shards": [{"address": "x", "responses": 0}]}', "lists no shards with replies"),
        (b'{"shards": [{"address": "x", "responses": 2}]}', r"the scores of 1 of 1 shards are missing \(first x\)"),
    ):
        (tmp_path / ABOUT).write_bytes(raw)
        with pytest.raises(RunError, match=told):
            list_run_parts(tmp_path)
    (tmp_path / SHARDS / "x").mkdir(parents=True)
    assert list_run_parts(tmp_path) == [tmp_path / SHARDS / "x"]


def test_a_folder_that_is_no_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such run folder; make one with: rejoinder score FILE -o"):
        read_run_about(tmp_path / "nothing")
    with pytest.raises(RunError, match="is a remote address; copy the run to this machine first"):
        read_run_about(Path("s3://bucket/run"))
    with pytest.raises(RunError, match=r"holds no finished run \(no run\.json\)"):
        read_run_about(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        read_run_about(tmp_path)
    for other in ("[]", '{"format": 0}'):
        (tmp_path / "run.json").write_text(other)
        with pytest.raises(RunError, match="was written by another version of rejoinder"):
            read_run_about(tmp_path)


def test_what_is_named_wrongly_is_told() -> None:
    with pytest.raises(SpecError, match="no metric was named"):
        rejoinder.score(["a"], metrics=[])
    with pytest.raises(InputError, match="no responses to score"):
        rejoinder.score([])
    with pytest.raises(InputError, match="are for a plain list of replies"):
        rejoinder.score(collect([]), "length", references=["a"])
    assert list(rejoinder.score(["a"], ["length", "length"]).facts) == ["length"]


def test_the_metrics_that_are_used_where_none_is_named() -> None:
    assert default_metrics(True, True) == ["aptness", "bleu", "rouge_l", "meteor", "chrf"]
    assert default_metrics(False, True) == ["bleu", "rouge_l", "meteor", "chrf"]
    assert default_metrics(True, False) == ["aptness", "context_overlap", "distinct", "length"]
    assert default_metrics(False, False) == ["context_overlap", "distinct", "length"]


def test_an_input_knows_its_name_and_whether_it_is_a_chat_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Yes."}]}\n')
    ours = tmp_path / "a.jsonl.gz"
    line = {"kind": "item", "id": "i", "context": [{"text": "Hi."}], "meta": {"messages": []}}
    ours.write_bytes(gzip.compress(json.dumps(line).encode() + b"\n"))
    read = Input(log)
    assert [type(record).__name__ for record, _ in read.records()] == ["Item", "Response"]
    assert (read.imported_as, read.stem, read.name) == ("openai", "log", "log.jsonl")
    assert read.digest == hashlib.sha256(log.read_bytes()).hexdigest()
    assert read.size == log.stat().st_size
    other = Input(ours)
    assert [type(record).__name__ for record, _ in other.records()] == ["Item"]
    assert (other.imported_as, other.stem) == (None, "a")
    assert [item.id for item in other.first_items()] == ["i"]
    named = Input("dataset:gupta/multi")
    assert (named.stem, named.name) == ("gupta-multi", "dataset:gupta/multi")
    assert named.size == sum(file.size for file in dataset("gupta/multi").files)


@pytest.mark.parametrize(
    ("text", "english"), [("Ich weiß", True), ("Ich weiß nicht", False), ("Je ne sais pas", False)]
)
def test_three_words_are_enough_to_tell_a_language(text: str, english: bool) -> None:
    assert looks_english(text) is english


def test_pairs_are_read_by_position_each_with_its_own_item(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    records: list[Record] = [
        Item(
            "i",
            (Turn("Hi.", "a"),),
            (Reference("x", "bm25", 0.5), Reference("y")),
            (Turn("So."),),
            (Statement("s", "date", True),),
            "d",
            True,
            {"n": 1},
        ),
        Item("j", (Turn("Ho."),)),
        *(Response(f"r{n}", item, "s", f"text {n}", {"m": n}) for n, item in enumerate("iijji")),
    ]
    write(records, path)
    index = index_inputs([Input(path)], tmp_path / "data.jsonl", False)
    data = DataFile(tmp_path / "data.jsonl")
    found = data.pairs(index.where(range(5)))
    data.close()
    assert [pair.item.id for pair in found] == list("iijji")
    assert [pair.response for pair in found] == records[2:]
    assert [found[0].item, found[2].item] == records[:2]
    with pytest.raises(ValueError, match="closed"):
        data.pairs(index.where(range(1)))
    write(records[:2], tmp_path / "more.jsonl")
    again = index_inputs([Input(path), Input(tmp_path / "more.jsonl")], tmp_path / "b.jsonl", False)
    assert again.counts == {"item": 2, "response": 5}  # the same items in another file count once
    with pytest.raises(InputError, match=r"more\.jsonl: no responses to score \(found 2 items\)"):
        index_inputs([Input(tmp_path / "more.jsonl")], tmp_path / "c.jsonl", False)


def test_a_column_of_scores_is_had_by_its_spec() -> None:
    scores = rejoinder.score(["one", "one two"], "length")
    assert scores["length"].tolist() == [1.0, 2.0]


def test_a_metric_says_of_itself_that_it_is_used_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    from rejoinder.metrics.self_bleu import SelfBleu

    monkeypatch.setattr(SelfBleu, "default_for", ("no references", 2))
    assert default_metrics(False, False) == ["context_overlap", "distinct", "self_bleu", "length"]


@dataclass(frozen=True)
class Forgetful(SetMetric):
    """Settles one score less than there are rows."""

    def statistic(self, pairs: Any) -> list[Any]:
        return [1.0] * len(pairs)

    def settle(self, rows: Any) -> list[float]:
        return [0.5] * (len(rows) - 1)


def test_a_set_metric_that_settles_too_few_scores_is_told() -> None:
    rows = [Row(f"r{i}", f"i{i}", "bot", 1.0) for i in range(3)]
    with pytest.raises(RejoinderError, match="must return one value per pair, not 2 for 3"):
        settle_set(Forgetful(), rows)


def test_one_item_with_a_context_is_enough_for_metrics_that_read_contexts(tmp_path: Path) -> None:
    for name, contexts in (("last", ([], ["Hi."])), ("first", (["Hi."], []))):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(json.dumps({"id": f"q{i}", "context": one}) for i, one in enumerate(contexts)))
        assert _available_parts([Input(path)]) == (True, False)


def test_a_chunk_that_vanished_from_the_cache_is_told(tmp_path: Path) -> None:
    column = SimpleNamespace(address="00" * 16)
    values = _StoredValues(ScoreStore(tmp_path), [SimpleNamespace(columns=[column])], 0)  # type: ignore[list-item]
    with pytest.raises(RunError, match="the score cache was changed during the run"):
        list(values)
