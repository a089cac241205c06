"""Indexes of shards give what one index gives: the same hits, in the same order, with the same scores."""

from __future__ import annotations

import json
import shutil
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rejoinder import cli
from rejoinder.data.shards.files import Shard, shards_of
from rejoinder.data.writer import write
from rejoinder.engines.base import TaskResult, WorkerSpec
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import InputError, MissingExtraError, SpecError
from rejoinder.indexes.factory import open_index
from rejoinder.indexes.one_field.base import Passage, passages
from rejoinder.indexes.one_field.bm25 import Bm25Index
from rejoinder.indexes.one_field.dense import DenseIndex
from rejoinder.indexes.one_field.folder import MANIFEST, verify_index_files
from rejoinder.indexes.sharded import builder, vocabulary
from rejoinder.indexes.sharded.bm25 import ShardedBm25Index
from rejoinder.indexes.sharded.dense import ShardedDenseIndex
from rejoinder.indexes.sharded.dialogue_table import merge_dialogues
from rejoinder.indexes.sharded.search import MAX_OPEN_SHARDS
from rejoinder.indexes.sharded.shard import split_into_index_shards
from rejoinder.types import Dialogue, Turn
from tests.test_retrieval import BagOfWords

WORDS = [f"w{n}" for n in range(200)]
SPLITS = ("train", "test", None)


def talk(name: str, *texts: str, split: str | None = None) -> Dialogue:
    return Dialogue(name, tuple(Turn(text, "AB"[i % 2]) for i, text in enumerate(texts)), split=split)


def some_text(random: np.random.Generator) -> str:
    places = np.minimum(random.zipf(1.4, random.integers(1, 9)), len(WORDS)) - 1
    return " ".join(WORDS[place] for place in places) if random.random() < 0.97 else "..."


def corpus(size: int = 400, seed: int = 0) -> list[Dialogue]:
    """Random dialogues with many ties; one in ten copies another; ids are in no order."""
    random = np.random.default_rng(seed)
    made: list[Dialogue] = []
    for number in random.permutation(size):
        if made and random.random() < 0.1:
            texts = [turn.text for turn in made[random.integers(len(made))].turns]
        else:
            texts = [some_text(random) for _ in range(random.integers(1, 6))]
        made.append(talk(f"d{number}", *texts, split=SPLITS[random.integers(len(SPLITS))]))
    return made


def queries(n: int = 200, seed: int = 5) -> list[str]:
    random = np.random.default_rng(seed)
    return [*(some_text(random) for _ in range(n - 3)), "never said", "", "w3 w3 w3 only here"]


def files(folder: Path, dialogues: Sequence[Dialogue], pieces: int) -> list[Shard]:
    """Data files of very unequal sizes, an empty one among them where there are several."""
    random = np.random.default_rng(pieces)
    cuts = sorted(random.choice(len(dialogues), pieces - 1, replace=False).tolist()) if pieces > 1 else []
    for number, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(dialogues)], strict=True)):
        write(dialogues[begin:end], folder / f"{number}.jsonl")
    if pieces > 1:
        (folder / "empty.jsonl").write_bytes(b"")
    return shards_of(str(folder))


@pytest.fixture(autouse=True)
def encoder(monkeypatch: pytest.MonkeyPatch) -> BagOfWords:
    found = BagOfWords()
    monkeypatch.setattr("rejoinder.models.encoder.factory.load_encoder", lambda name, cache=True: found)
    return found


@pytest.fixture(scope="module")
def dialogues() -> list[Dialogue]:
    return [*corpus(), talk("zz", "only here", "w1 only here")]


def one_and_many(kind: str, dialogues: Sequence[Dialogue], shards: Sequence[Shard], folder: Path, **given: Any) -> Any:
    """The index in one piece and the one in shards."""
    if kind == "bm25":
        one: Any = Bm25Index.build(passages(dialogues), folder / "one")
        return one, ShardedBm25Index.build(shards, folder / "many", **given)
    made = {"precision": kind}
    one = DenseIndex.build(passages(dialogues), folder / "one", BagOfWords(), **made)  # type: ignore[arg-type]
    return one, ShardedDenseIndex.build(shards, folder / "many", BagOfWords(), **made, **given)  # type: ignore[arg-type]


KINDS = pytest.mark.parametrize("kind", ["bm25", "float32", "float16", "int8"])


@KINDS
@pytest.mark.parametrize("pieces", [1, 3, 7])
def test_shards_find_what_one_index_finds_with_the_same_scores(
    kind: str, pieces: int, dialogues: list[Dialogue], tmp_path: Path
) -> None:
    one, many = one_and_many(kind, dialogues, files(tmp_path / "data", dialogues, pieces), tmp_path)
    assert (many.shards, len(many), many.kind) == (pieces, len(one), one.kind)
    asked = queries()
    for k in (1, 5, 40):
        assert many.search(asked, k) == one.search(asked, k)
    assert many.search(asked[:3], 10_000) == one.search(asked[:3], 10_000)
    if kind == "bm25":
        for query in asked[:20]:
            np.testing.assert_array_equal(np.concatenate(list(many.scores(query))), one.scores(query))


@KINDS
def test_filters_and_copies_work_across_shards(kind: str, dialogues: list[Dialogue], tmp_path: Path) -> None:
    one, many = one_and_many(kind, dialogues, files(tmp_path / "data", dialogues, 7), tmp_path)
    random, ids = np.random.default_rng(1), [dialogue.id for dialogue in dialogues]
    asked = queries(30)
    for split in SPLITS:
        for only in (None, [*random.choice(ids, 60).tolist(), "unknown"], [], ["zz"]):
            out = [[*random.choice(ids, random.integers(0, 9)).tolist(), "unknown"] for _ in asked]
            given = {"split": split, "only_dialogues": only, "exclude_dialogues": out}
            assert many.search(asked, 7, **given) == one.search(asked, 7, **given)
    with pytest.raises(SpecError, match="did you mean 'train'"):
        many.search(["w1"], split="tarin")
    with pytest.raises(InputError, match="k must be"):
        many.search(["w1"], 0)


def test_an_exact_copy_in_another_shard_is_left_out_too(tmp_path: Path) -> None:
    write([talk("a", "red cat", "yes"), talk("b", "red dog")], tmp_path / "data" / "1.jsonl")
    write([talk("c", "red cat", "yes"), talk("d", "red bird")], tmp_path / "data" / "2.jsonl")
    index = ShardedBm25Index.build(shards_of(str(tmp_path / "data")), tmp_path / "index")
    assert [hit.id for hit in index.search(["cat"], exclude_dialogues=[["b"]])[0]] == ["a/0", "c/0"]
    assert index.search(["cat"], exclude_dialogues=[["c"]]) == [[]]


def test_ties_go_to_the_smaller_dialogue_whichever_shard_it_is_in(tmp_path: Path) -> None:
    for number, names in enumerate(["ca", "bd", "ef"]):
        write([talk(name, "yes", "no yes", "yes") for name in names], tmp_path / "data" / f"{number}.jsonl")
    index = ShardedBm25Index.build(shards_of(str(tmp_path / "data")), tmp_path / "index", k1=0)
    found = [hit.id for hit in index.search(["no"], 4)[0]]
    assert found == ["a/1", "b/1", "c/1", "d/1"]


def test_one_passage_is_an_index(tmp_path: Path) -> None:
    data = files(tmp_path / "data", [talk("a", "cat")], 1)
    index = ShardedBm25Index.build(data, tmp_path / "index")
    assert (len(index), index.search(["cat"])) == (1, [[]])  # a word that every passage has is worth nothing
    dense = ShardedDenseIndex.build(data, tmp_path / "dense", BagOfWords())
    assert [hit.id for hit in dense.search(["cat"])[0]] == ["a/0"]


def test_passages_without_any_word_make_a_shard(tmp_path: Path) -> None:
    write([talk("a", "...", "?!")], tmp_path / "data" / "1.jsonl")
    write([talk("b", "red cat", "dog")], tmp_path / "data" / "2.jsonl")
    index = ShardedBm25Index.build(shards_of(str(tmp_path / "data")), tmp_path / "index")
    assert [hit.id for hit in index.search(["cat ..."])[0]] == ["b/0"]


def test_a_data_file_becomes_several_shards_where_it_is_long(dialogues: list[Dialogue], tmp_path: Path) -> None:
    data = files(tmp_path / "data", dialogues, 1)
    one, many = one_and_many("bm25", dialogues, data, tmp_path, turns=100)
    assert many.shards == len(many.manifest.folders(many.folder, "weights")) > 8
    assert many.search(queries(), 5) == one.search(queries(), 5)


def test_a_shard_ends_with_a_whole_dialogue() -> None:
    made = [talk("a", "1", "2", "3"), talk("b", "4"), talk("c", "5", "6")]
    cut = [[passage.id for passage in some] for some in split_into_index_shards(passages(made), 2)]
    assert cut == [["a/0", "a/1", "a/2"], ["b/0", "c/0", "c/1"]]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_same_bytes_come_of_any_number_of_workers(dialogues: list[Dialogue], tmp_path: Path) -> None:
    data = files(tmp_path / "data", dialogues, 3)
    for workers in (1, 2):
        ShardedBm25Index.build(data, tmp_path / str(workers), engine=LocalEngine(workers))
    found = bytes_of(tmp_path / "1")
    assert found == bytes_of(tmp_path / "2")
    assert not [name for name in found if name.startswith((".", "building"))]


class Stopped(Exception):
    pass


class StoppingEngine(LocalEngine):
    """An engine that computes so many tasks and is then stopped."""

    after: int = 2

    def compute(self, work: WorkerSpec, tasks: Any) -> Iterator[TaskResult]:
        for number, outcome in enumerate(super().compute(work, tasks)):
            if number == self.after:
                raise Stopped
            yield outcome


class StoppedWhileWeighing(LocalEngine):
    """An engine that is stopped when all shards are there but not all are weighed."""

    def compute(self, work: WorkerSpec, tasks: Any) -> Iterator[TaskResult]:
        engine = StoppingEngine() if work.factory.endswith("Weigher") else LocalEngine()
        yield from engine.compute(work, tasks)


@pytest.mark.parametrize("kind", ["bm25", "float16"])
def test_a_build_that_was_stopped_goes_on_with_what_is_missing(
    kind: str, dialogues: list[Dialogue], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = files(tmp_path / "data", dialogues, 7)
    one, whole = one_and_many(kind, dialogues, data, tmp_path)
    again = tmp_path / "again"
    cls, given = (ShardedBm25Index, ()) if kind == "bm25" else (ShardedDenseIndex, (BagOfWords(),))
    with pytest.raises(Stopped):
        cls.build(data, again, *given, engine=StoppingEngine())
    with pytest.raises(InputError, match="holds no index"):
        open_index(again)
    kept = {path.name: path.stat().st_ino for path in again.iterdir() if path.name.startswith("passages-")}
    assert 0 < len(kept) < 7
    shutil.rmtree(again / ".passages.left", ignore_errors=True)
    (again / ".passages.left").mkdir()  # what a killed worker leaves
    resumed = cls.build(data, again, *given)
    assert {name: (again / name).stat().st_ino for name in kept} == kept
    assert bytes_of(again) == bytes_of(whole.folder)
    assert resumed.search(queries(), 5) == one.search(queries(), 5)
    with pytest.raises(InputError, match="already exists"):
        cls.build(data, again, *given)


def test_a_build_that_was_stopped_while_weighing_goes_on(
    dialogues: list[Dialogue], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = files(tmp_path / "data", dialogues, 7)
    whole = ShardedBm25Index.build(data, tmp_path / "whole")
    with pytest.raises(Stopped):
        ShardedBm25Index.build(data, tmp_path / "again", engine=StoppedWhileWeighing())
    monkeypatch.setattr("rejoinder.indexes.sharded.bm25.Bm25Shards.write", None)  # no shard is counted again
    ShardedBm25Index.build(data, tmp_path / "again")
    assert bytes_of(tmp_path / "again") == bytes_of(whole.folder)


def test_more_shards_than_stay_open_are_searched(dialogues: list[Dialogue], tmp_path: Path) -> None:
    data = files(tmp_path / "data", dialogues, 1)
    one, many = one_and_many("bm25", dialogues, data, tmp_path, turns=6)
    assert many.shards > MAX_OPEN_SHARDS
    out = [[dialogue.id] for dialogue in dialogues[:20]]
    assert many.search(queries(20), 5, exclude_dialogues=out) == one.search(queries(20), 5, exclude_dialogues=out)


def test_a_part_that_is_lost_while_building_is_written_again(dialogues: list[Dialogue], tmp_path: Path) -> None:
    data = files(tmp_path / "data", dialogues, 3)
    with pytest.raises(Stopped):
        ShardedBm25Index.build(data, tmp_path / "index", engine=StoppingEngine())
    shutil.rmtree(next((tmp_path / "index").glob("postings-*")))
    index = ShardedBm25Index.build(data, tmp_path / "index")
    one = Bm25Index.build(passages(dialogues), tmp_path / "one")
    assert index.search(queries(), 5) == one.search(queries(), 5)


@pytest.mark.parametrize("kind", ["bm25", "float16"])
def test_an_index_that_grew_finds_what_one_built_at_once_finds(
    kind: str, dialogues: list[Dialogue], tmp_path: Path
) -> None:
    data = files(tmp_path / "data", dialogues[:200], 3)
    _, many = one_and_many(kind, dialogues[:200], data, tmp_path)
    shutil.rmtree(tmp_path / "one")
    grown = many.append(passages(dialogues[200:]))
    fresh = tmp_path / "fresh"
    one, _ = one_and_many(kind, dialogues, files(fresh, dialogues, 1), fresh)
    assert (grown.shards, len(grown)) == (4, len(one))
    assert grown.search(queries(), 5) == one.search(queries(), 5)
    verify_index_files(grown.folder)
    before = bytes_of(grown.folder)
    with pytest.raises(InputError, match="'d3' occurs twice"):
        grown.append(passages([talk("new", "cat"), talk("d3", "cat")]))
    assert bytes_of(grown.folder) == before


def test_a_dialogue_that_two_data_files_have_is_refused(tmp_path: Path) -> None:
    write([talk("a", "cat")], tmp_path / "data" / "1.jsonl")
    write([talk("b", "dog"), talk("a", "bird")], tmp_path / "data" / "2.jsonl")
    with pytest.raises(InputError, match="the dialogue 'a' occurs twice"):
        ShardedBm25Index.build(shards_of(str(tmp_path / "data")), tmp_path / "index")


def test_dialogues_are_merged_in_ranges_of_hashes(
    dialogues: list[Dialogue], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ShardedBm25Index.build(files(tmp_path / "data", dialogues, 3), tmp_path / "index")
    monkeypatch.setattr("rejoinder.indexes.sharded.dialogue_table._AT_A_TIME", 50)
    (tmp_path / "again").mkdir()
    merge_dialogues(whole.manifest.folders(whole.folder, "passages"), tmp_path / "again")
    assert bytes_of(tmp_path / "again") == bytes_of(whole.manifest.folders(whole.folder, "dialogues")[0])


def test_words_are_found_by_halving_whatever_their_script(tmp_path: Path) -> None:
    words = ["zebra", "apple", "épée", "日本", "ab", "abc", "𝔘nder"]
    write([talk("a", *words, "apple abc")], tmp_path / "data" / "1.jsonl")
    write([talk("b", "abc", "mère")], tmp_path / "data" / "2.jsonl")
    index = ShardedBm25Index.build(shards_of(str(tmp_path / "data")), tmp_path / "index")
    found = vocabulary.WordIndex(index.manifest.folders(index.folder, "vocabulary")[0])
    lines = (index.manifest.folders(index.folder, "vocabulary")[0] / "words.txt").read_text().split()
    assert lines == sorted(lines)
    assert [found.find(word) for word in lines] == list(range(len(lines)))
    assert found.frequencies[found.find("abc")] == 3
    assert [found.find(word) for word in ("", "a", "zz", "～")] == [None] * 4


@KINDS
def test_a_damaged_shard_is_told_in_one_sentence(kind: str, dialogues: list[Dialogue], tmp_path: Path) -> None:
    _, many = one_and_many(kind, dialogues[:50], files(tmp_path / "data", dialogues[:50], 3), tmp_path)
    for path in sorted(many.folder.rglob("*")):
        if path.is_file() and path.name != MANIFEST:
            content = path.read_bytes()
            path.write_bytes(content[:-1])
            with pytest.raises(InputError, match="is damaged"):
                open_index(many.folder).search(["w1"])
            path.write_bytes(content)


def test_whole_numbers_score_as_127ths_of_the_largest_number(dialogues: list[Dialogue], tmp_path: Path) -> None:
    data = files(tmp_path / "data", dialogues, 3)
    index = ShardedDenseIndex.build(data, tmp_path / "index", BagOfWords(), precision="int8")
    texts = [turn.text for dialogue in dialogues for turn in dialogue.turns]
    vectors, query = BagOfWords().encode(texts), BagOfWords().encode(["w1 w2 w5"])[0]
    scales = np.abs(vectors).max(axis=1, keepdims=True) / np.float32(127)
    kept = np.rint(vectors / np.where(scales > 0, scales, 1)).astype(np.float64) * scales
    best = np.sort(kept @ query.astype(np.float64))[::-1][:50]
    np.testing.assert_allclose([hit.score for hit in index.search(["w1 w2 w5"], 50)[0]], best, rtol=1e-12)
    assert np.abs(kept - vectors).max() < 1 / 250


class Spread(BagOfWords):
    """An encoder whose vectors are all different."""

    name, dimensions = "spread", 48

    def encode(self, texts: Sequence[str], cut: Any = "right") -> Any:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in text.split():
                row += np.random.default_rng(zlib.crc32(word.encode())).standard_normal(self.dimensions)
            row /= np.linalg.norm(row) or 1
        return vectors


def test_an_approximate_index_finds_nearly_all_with_their_true_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("usearch")
    from rejoinder.indexes.sharded.graph import GraphIndex

    found = Spread()
    monkeypatch.setattr("rejoinder.models.encoder.factory.load_encoder", lambda name, cache=True: found)
    random = np.random.default_rng(0)
    made = [
        talk(f"d{n}", *(" ".join(random.choice(WORDS, 8)) for _ in range(3)), split=SPLITS[n % 2]) for n in range(900)
    ]
    data, asked = files(tmp_path / "data", made, 3), [" ".join(random.choice(WORDS, 8)) for _ in range(100)]
    exact = ShardedDenseIndex.build(data, tmp_path / "exact", found, precision="float16")
    index = GraphIndex.build(data, tmp_path / "graph", found, precision="float16")
    again = GraphIndex.build(data, tmp_path / "again", found, precision="float16")
    assert bytes_of(index.folder) == bytes_of(again.folder)
    index = open_index(index.folder)
    assert (index.kind, len(index)) == ("approximate dense", 2700)
    for given in ({}, {"split": "test"}, {"exclude_dialogues": [[f"d{n}"] for n in range(100)]}):
        true, seen = exact.search(asked, 10, **given), index.search(asked, 10, **given)
        assert all(len(hits) == 10 for hits in seen)
        assert np.mean([len(set(a) & set(b)) for a, b in zip(true, seen, strict=True)]) > 9.5
    few = {"only_dialogues": ["d1", "d500", "d899"]}  # fewer than a walk proposes: all are looked at
    assert index.search(asked, 10, **few) == exact.search(asked, 10, **few)
    assert index.search(asked[:2], 2000) == exact.search(asked[:2], 2000)
    grown = index.append(passages([talk("new", asked[0])]))
    assert grown.search(asked[:1], 1)[0][0].id == "new/0"


def test_an_approximate_index_is_not_lost_among_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("usearch")
    from rejoinder.indexes.sharded.graph import GraphIndex

    found = Spread()
    monkeypatch.setattr("rejoinder.models.encoder.factory.load_encoder", lambda name, cache=True: found)
    random = np.random.default_rng(0)
    said = [" ".join(random.choice(WORDS, 6)) for _ in range(600)]
    common = np.minimum(random.zipf(1.3, 4000), len(said)) - 1  # the first is said some 1,000 times
    made = [talk(f"d{n}", said[place]) for n, place in enumerate([*common, *range(len(said))])]
    data = files(tmp_path / "data", made, 1)
    exact = ShardedDenseIndex.build(data, tmp_path / "exact", found, precision="int8")
    index = GraphIndex.build(data, tmp_path / "graph", found, precision="int8")
    true, seen = exact.search(said[:200], 10), index.search(said[:200], 10)
    assert np.mean([len(set(a) & set(b)) for a, b in zip(true, seen, strict=True)]) > 9.8
    assert seen[0] == true[0]


def test_without_usearch_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rejoinder.indexes.sharded.graph import GraphIndex

    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(MissingExtraError, match=r'pip install "rejoinder\[ann\]"'):
        GraphIndex.build(files(tmp_path / "data", [talk("a", "cat")], 1), tmp_path / "index", BagOfWords())


class Ran:
    """A command: its status and what it said."""

    def __init__(self, capfd: pytest.CaptureFixture[str], *argv: object) -> None:
        before, sys.argv = sys.argv, ["rejoinder", "index", *map(str, argv)]
        try:
            self.status: Any = cli.main()
        except SystemExit as done:
            self.status = done.code
        finally:
            sys.argv = before
        self.out, self.err = capfd.readouterr()


@pytest.mark.parametrize("kind", ["bm25", "dense"])
def test_the_commands_build_search_add_and_check(
    kind: str, dialogues: list[Dialogue], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files(tmp_path / "data", dialogues, 3)
    folder, same = tmp_path / "index", tmp_path / "same"
    write(dialogues, tmp_path / "all.jsonl.gz")
    built = Ran(capfd, "build", tmp_path / "data", "-o", folder, "--kind", kind, "--processes", 1)
    assert "turns of 3 shards" in built.err
    assert not built.out
    cut = Ran(capfd, "build", tmp_path / "all.jsonl.gz", "-o", same, "--kind", kind, "--shards", 5, "--processes", 1)
    assert "turns of 5 shards" in cut.err
    shown = [Ran(capfd, "search", place, "w4 w9", "-k", 9, "--format", "json").out for place in (folder, same)]
    assert len(json.loads(shown[0])["rows"]) == 9
    assert shown[0] == shown[1]
    write([talk("new", "w4 w9 w4 w9")], tmp_path / "more" / "1.jsonl")
    write([talk("newer", "w7")], tmp_path / "more" / "2.jsonl.gz")
    assert "1 turns added" in Ran(capfd, "add", folder, tmp_path / "more" / "1.jsonl").err
    assert "2 turns added" in Ran(capfd, "add", same, tmp_path / "more").err
    assert "new/0" in Ran(capfd, "search", folder, "w4 w9", "--format", "csv").out
    assert "intact" in Ran(capfd, "check", folder).out


def test_the_commands_say_what_is_wrong_in_one_line(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "items").mkdir()
    (tmp_path / "items" / "1.jsonl").write_text('{"kind": "item", "id": "i", "context": ["hello"]}\n')
    write([talk("a", "cat")], tmp_path / "talks" / "1.jsonl")
    for argv, message in [
        (["build", tmp_path / "items", "-o", tmp_path / "x"], "dialogues only"),
        (["build", tmp_path / "talks", "-o", tmp_path / "y", "--split", "tarin"], "check the name of the split"),
        (["build", tmp_path / "talks", "-o", tmp_path / "z", "--shards", 2], "leave out shards"),
        (["build", tmp_path / "talks" / "1.jsonl", "-o", tmp_path / "z", "--engine", "ray"], "--shards"),
        (["build", tmp_path / "talks", "-o", tmp_path / "z", "--approximate"], "set kind to dense"),
    ]:
        done = Ran(capfd, *argv, *([] if "--engine" in argv else ["--processes", 1]))
        assert (done.status, done.out) == (2, "")
        assert message in done.err
        assert len(done.err.splitlines()) == 1


def test_dealt_out_dialogues_are_all_there(dialogues: list[Dialogue], tmp_path: Path) -> None:
    builder.create_index_folder(tmp_path / "index")
    found = builder.split_dialogues(iter(dialogues), 4, tmp_path / "index")
    assert [shard.name for shard in found] == ["00000.jsonl", "00001.jsonl", "00002.jsonl", "00003.jsonl"]
    assert sum(Path(shard.where).read_text().count("\n") for shard in found) == len(dialogues)


def test_a_passage_is_the_same_in_a_shard(tmp_path: Path) -> None:
    made = [Passage("a", 3, "cat", "A", "train")]
    write([Dialogue("a", (Turn("x"), Turn("cat", "A")), split="train")], tmp_path / "data" / "1.jsonl")
    index = ShardedBm25Index.build(shards_of(str(tmp_path / "data")), tmp_path / "index")
    hit = index.search(["cat"])[0][0]
    assert (hit.id, hit.text, hit.speaker, hit.split) == ("a/1", made[0].text, made[0].speaker, made[0].split)
