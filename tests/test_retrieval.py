"""Indexes find what a comparison with every passage finds, however they were built, opened, extended and filtered."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rejoinder import cli
from rejoinder.data.reader import stream
from rejoinder.errors import InputError, RejoinderError, SpecError
from rejoinder.indexes.factory import open_index
from rejoinder.indexes.one_field import posting_weights
from rejoinder.indexes.one_field.base import Hit, Index, Passage, passages
from rejoinder.indexes.one_field.bm25 import Bm25Index
from rejoinder.indexes.one_field.dense import DenseIndex
from rejoinder.indexes.one_field.filter import score_lower_bound
from rejoinder.indexes.one_field.folder import verify_index_files
from rejoinder.models.base import Side, TokenVectors
from rejoinder.text.tokens import tokenize
from rejoinder.types import Dialogue, Turn

WORDS = "the cat sat on a mat while it rained and nobody minded".split()
SPLITS = ("train", "valid", "test", None)


class BagOfWords:
    """An encoder that hashes words into a few dimensions."""

    name = "bag"
    dimensions = 16
    max_tokens = 32

    def __init__(self, digest: str = "d1") -> None:
        self.digest = digest

    def encode(self, texts: Sequence[str], cut: Side = "right") -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            words = tokenize(text, "words")
            for word in words[: self.max_tokens] if cut == "right" else words[-self.max_tokens :]:
                row[zlib.crc32(word.encode()) % self.dimensions] += 1
            row /= np.linalg.norm(row) or 1
        return vectors

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        raise NotImplementedError

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [len(tokenize(text, "words")) > self.max_tokens for text in texts]


def make_bm25(found: Iterator[Passage], folder: Path) -> Bm25Index:
    return Bm25Index.build(found, folder)


def make_dense(found: Iterator[Passage], folder: Path) -> DenseIndex:
    return DenseIndex.build(found, folder, BagOfWords())


def make_half(found: Iterator[Passage], folder: Path) -> DenseIndex:
    return DenseIndex.build(found, folder, BagOfWords(), precision="float16")


Make = Callable[[Iterator[Passage], Path], Any]
EVERY_KIND = pytest.mark.parametrize("make", [make_bm25, make_dense, make_half], ids=["bm25", "dense", "half"])


def talk(name: str, *texts: str, split: str | None = None) -> Dialogue:
    return Dialogue(name, tuple(Turn(text, "AB"[i % 2]) for i, text in enumerate(texts)), split=split)


def some_text(random: np.random.Generator) -> str:
    return " ".join(random.choice(WORDS, random.integers(1, 9))) if random.random() < 0.95 else "..."


def corpus(seed: int, size: int = 30) -> list[Dialogue]:
    """Random dialogues of few words, so that scores tie; some are copies of others; ids are not in order."""
    random = np.random.default_rng(seed)
    made: list[Dialogue] = []
    for number in random.permutation(size):
        if made and random.random() < 0.2:
            texts = [turn.text for turn in made[random.integers(len(made))].turns]
        else:
            texts = [some_text(random) for _ in range(random.integers(1, 6))]
        made.append(talk(f"d{number}", *texts, split=SPLITS[random.integers(len(SPLITS))]))
    return made


def all_scores(index: Bm25Index | DenseIndex, dialogues: Sequence[Dialogue], query: str) -> list[float]:
    """The score of every passage."""
    if isinstance(index, Bm25Index):
        return index.scores(query).tolist()
    vectors = index.encoder.encode([turn.text for d in dialogues for turn in d.turns])
    vector = index.encoder.encode([query], "left")[0].astype(np.float64)
    kept = vectors.astype(index.manifest.settings["precision"]).astype(np.float64)
    return [float((row * vector).sum()) for row in kept]


def brute_force(
    index: Bm25Index | DenseIndex,
    dialogues: Sequence[Dialogue],
    query: str,
    k: int,
    split: str | None,
    excluded: Collection[str],
    only: Collection[str] | None,
) -> list[Hit]:
    """What a search must give, by looking at everything."""
    scores = iter(all_scores(index, dialogues, query))
    unwanted = {d.turns for d in dialogues if d.id in excluded}
    found = []
    for dialogue in dialogues:
        here = (split is None or dialogue.split == split) and (only is None or dialogue.id in only)
        for number, turn in enumerate(dialogue.turns):
            score = next(scores)
            if here and dialogue.turns not in unwanted and (index.kind == "dense" or score > 0):
                passage = f"{dialogue.id}/{number}"
                found.append(Hit(passage, dialogue.id, number, turn.text, score, turn.speaker, dialogue.split))
    return sorted(found, key=lambda hit: (-hit.score, hit.dialogue, hit.turn))[:k]


@EVERY_KIND
@pytest.mark.parametrize("seed", range(12))
def test_a_search_under_any_filter_finds_what_looking_at_everything_finds(
    make: Make, seed: int, tmp_path: Path
) -> None:
    dialogues, random = corpus(seed), np.random.default_rng(seed + 1000)
    index = make(passages(dialogues), tmp_path / "index")
    ids = [d.id for d in dialogues]
    for split in SPLITS:
        only = None if random.random() < 0.5 else [*random.choice(ids, random.integers(0, 12)).tolist(), "unknown"]
        k = int(random.integers(1, 12))
        queries = [some_text(random) for _ in range(6)] + ["never said", ""]
        excluded = [[*random.choice(ids, random.integers(0, 4)).tolist(), "unknown"] for _ in queries]
        found = index.search(queries, k, split=split, exclude_dialogues=excluded, only_dialogues=only)
        for query, without, hits in zip(queries, excluded, found, strict=True):
            assert hits == brute_force(index, dialogues, query, k, split, without, only)


@EVERY_KIND
def test_an_index_of_thousands_finds_the_same_as_looking_at_everything(make: Make, tmp_path: Path) -> None:
    dialogues = corpus(99, 1500)
    index = make(passages(dialogues), tmp_path / "index")
    assert len(index) > 4000  # so that groups of scores are looked at
    queries = ["the cat sat", "nobody minded while it rained on a mat", "mat"]
    for k in (1, 5, 300, 10_000):
        for query, hits in zip(queries, index.search(queries, k), strict=True):
            assert hits == brute_force(index, dialogues, query, k, None, (), None)


@pytest.mark.parametrize("look_up", [0, 16, 10**9])
@pytest.mark.parametrize("light", [0.0, 0.1, 0.5, 0.9])
def test_light_words_count_however_they_are_added(
    light: float, look_up: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting_weights, "_LIGHT", light)
    monkeypatch.setattr(posting_weights, "_LOOK_UP", look_up)
    random = np.random.default_rng(7)
    ranks = (200 ** random.random((1_500, 8))).astype(int)  # few words are common, most are rare
    dialogues = [Dialogue(f"d{i:04}", (Turn(" ".join(f"w{r}" for r in row)),)) for i, row in enumerate(ranks.tolist())]
    index = Bm25Index.build(passages(dialogues), tmp_path / "index")
    queries = [
        "w1",
        "w1 w2 w150",
        "w1 w1 w2 w3 w40 w41",
        "w190 w191 w3",
        dialogues[3].turns[0].text,
        "w1 w2 w3 unknown",
    ]
    for k in (1, 5, 100, 2_000):
        without = [["d0003", "d0010"]] * len(queries)
        found = index.search(queries, k, exclude_dialogues=without)
        for query, hits in zip(queries, found, strict=True):
            assert hits == brute_force(index, dialogues, query, k, None, without[0], None)


@pytest.mark.parametrize("k", [1, 2, 7, 100, 4000])
def test_the_first_cut_lets_the_best_k_through(k: int) -> None:
    random = np.random.default_rng(k)
    for size in (1, 1024, 3000, 50_000):
        scores = random.random(size).astype(np.float32)
        scores[random.random(size) < 0.3] = -np.inf
        floor = score_lower_bound(scores, k)
        best = np.sort(scores)[::-1]
        assert floor <= (best[k - 1] if k <= size else -np.inf)
    assert (
        np.count_nonzero(random.random(50_000) >= score_lower_bound(random.random(50_000).astype(np.float32), 5)) < 100
    )


def direct(texts: Sequence[str], query: str, k1: float = 0.5, b: float = 0.7) -> list[float]:
    """SCARCE, Appendix C, as it is printed."""
    documents = [text.lower().split() for text in texts]
    average = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in query.lower().split():
            frequency = sum(word in other for other in documents)
            often = document.count(word)
            if often:
                below = k1 * ((1 - b) + b * len(document) / average) + often
                score += math.log(len(documents) / frequency) * (k1 + 1) * often / below
        scores.append(score)
    return scores


@pytest.mark.parametrize(("k1", "b"), [(0.5, 0.7), (1.2, 0.75), (0.0, 0.0), (3.0, 1.0)])
def test_bm25_scores_are_those_of_the_formula(k1: float, b: float, tmp_path: Path) -> None:
    for seed in range(5):
        random = np.random.default_rng(seed)
        texts = [" ".join(random.choice(WORDS, random.integers(1, 30))) for _ in range(50)]
        index = Bm25Index.build(passages([talk("d", *texts)]), tmp_path / str(seed), k1=k1, b=b)
        for query in ("the cat", "The MAT the mat rained", "unheard of", "nobody sat on a mat and minded it"):
            np.testing.assert_allclose(index.scores(query), direct(texts, query, k1, b), rtol=1e-5, atol=0)


def test_a_score_worked_out_by_hand(tmp_path: Path) -> None:
    index = Bm25Index.build(passages([talk("d", "Red, red wine!", "White wine", "Beer")]), tmp_path / "index")
    # "red": N = 3, df = 1, tf = 2, dl = 3, avdl = 2: ln 3 * 1.5 * 2 / (0.5 * (0.3 + 0.7 * 3 / 2) + 2)
    [[hit]] = index.search(["red"])
    assert hit.id == "d/0"
    assert hit.score == pytest.approx(math.log(3) * 3 / 2.675, rel=1e-6)
    # "white wine" is of average length: ln 3 * 1.5 / (0.5 + 1) + ln 1.5 * 1.5 / (0.5 + 1).
    assert index.search(["white wine"])[0][0].score == pytest.approx(math.log(3) + math.log(1.5), rel=1e-6)


def test_bm25s_itself_opens_the_folder_and_weighs_the_same(tmp_path: Path) -> None:
    import bm25s

    dialogues = corpus(3)
    index = Bm25Index.build(passages(dialogues), tmp_path / "index")
    opened = bm25s.BM25.load(next((tmp_path / "index").glob("postings-*")))
    fresh = bm25s.BM25(method="atire", k1=0.5, b=0.7)
    tokens = [list(tokenize(turn.text, "words")) for d in dialogues for turn in d.turns]
    fresh.index(tokens, show_progress=False)
    for query in ("the cat", "a mat on a mat"):
        for model in (opened, fresh):
            np.testing.assert_allclose(model.get_scores(query.split()), index.scores(query), rtol=1e-5, atol=1e-7)


def test_real_turns_score_as_the_formula_says(published: Path, tmp_path: Path) -> None:
    dialogues = [d for d in islice(stream(published / "corpora" / "dialogues.jsonl.gz"), 40) if isinstance(d, Dialogue)]
    index = Bm25Index.build(passages(dialogues), tmp_path / "index")
    texts = [turn.text for dialogue in dialogues for turn in dialogue.turns]
    spaced = [" ".join(tokenize(text, "words")) for text in texts]
    for text in spaced[::61]:
        expected = direct(spaced, text)
        np.testing.assert_allclose(index.scores(text), expected, rtol=1e-5)
        assert index.search([text], 1)[0][0].score == pytest.approx(max(expected), rel=1e-5)


@EVERY_KIND
@pytest.mark.parametrize("cuts", [(10,), (1, 2, 29)])
def test_an_index_that_grew_is_the_same_as_one_built_at_once(make: Make, cuts: tuple[int, ...], tmp_path: Path) -> None:
    dialogues = corpus(5)
    whole = make(passages(dialogues), tmp_path / "whole")
    bounds = [0, *cuts, len(dialogues)]
    grown = make(passages(dialogues[: cuts[0]]), tmp_path / "grown")
    for begin, end in pairwise(bounds[1:]):
        grown = grown.append(passages(dialogues[begin:end]))
    queries = ["the cat sat on a mat", "it rained", "nobody"]
    everything = {"k": 1000, "split": "train", "exclude_dialogues": [["d1"], ["d2", "d3"], []]}
    assert len(grown) == len(whole)
    assert grown.manifest.counts == whole.manifest.counts
    assert grown.search(queries, 1000) == whole.search(queries, 1000)
    assert grown.search(queries, **everything) == whole.search(queries, **everything)
    assert verify_index_files(tmp_path / "grown") == grown.manifest
    if isinstance(whole, Bm25Index):
        [one], [other] = ([p for p in index.manifest.parts if p.role == "postings"] for index in (whole, grown))
        assert one == other  # to the last byte
        assert len(list((tmp_path / "grown").glob("postings-*"))) == 1  # the old weights are gone


@EVERY_KIND
def test_the_same_passages_give_the_same_bytes(make: Make, tmp_path: Path) -> None:
    for name in ("one", "two"):
        make(passages(corpus(8)), tmp_path / name)
    assert (tmp_path / "one" / "manifest.json").read_bytes() == (tmp_path / "two" / "manifest.json").read_bytes()
    verify_index_files(tmp_path / "one")
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".pkl", ".pickle")]


@EVERY_KIND
def test_an_index_opened_again_is_the_one_that_was_built(make: Make, tmp_path: Path) -> None:
    built = make(passages(corpus(4)), tmp_path / "index")
    opened: Index = open_index(tmp_path / "index", BagOfWords())
    queries = ["cat", "it rained on the mat"]
    assert opened.kind == built.kind
    assert opened.search(queries, 50) == built.search(queries, 50)


@EVERY_KIND
def test_queries_together_find_what_each_finds_alone(make: Make, tmp_path: Path) -> None:
    index = make(passages(corpus(6)), tmp_path / "index")
    queries = [f"{a} {b}" for a in WORDS for b in WORDS] * 2  # more than are compared at a time
    together = index.search(queries, 3, exclude_dialogues=[[f"d{i % 30}"] for i in range(len(queries))])
    for i in range(0, len(queries), 17):
        assert index.search([queries[i]], 3, exclude_dialogues=[[f"d{i % 30}"]])[0] == together[i]
    assert index.search([]) == []


def test_the_same_texts_can_be_added_under_other_names(tmp_path: Path) -> None:
    index = make_dense(passages([talk("a", "cat", "mat")]), tmp_path / "index")
    index = index.append(passages([talk("b", "cat", "mat")]))
    assert [hit.id for hit in index.search(["cat"], 2)[0]] == ["a/0", "b/0"]
    assert index.search(["cat"], exclude_dialogues=[["a"]]) == [[]]  # the other is an exact copy


def test_ties_go_to_the_smaller_dialogue_then_the_earlier_turn(tmp_path: Path) -> None:
    dialogues = [talk("z", "tea"), talk("m", *["tea"] * 12), talk("b", "coffee", "tea")]
    index = Bm25Index.build(passages(dialogues), tmp_path / "index")
    expected = ["b/1", *(f"m/{turn}" for turn in range(12)), "z/0"]
    assert [hit.id for hit in index.search(["tea"], 14)[0]] == expected
    assert [hit.id for hit in index.search(["tea"], 4)[0]] == expected[:4]


def test_only_what_shares_a_word_is_found_by_words(tmp_path: Path) -> None:
    index = Bm25Index.build(passages([talk("d", "all cats", "all dogs", "all")]), tmp_path / "index")
    assert [hit.id for hit in index.search(["all dogs"])[0]] == ["d/1"]  # "all" is worth nothing: everyone says it
    assert index.search(["all", "fish", ""]) == [[], [], []]


def test_stop_words_count_neither_as_words_nor_for_length(tmp_path: Path) -> None:
    texts = ["the cat", "a dog and the cat", "a bird"]
    index = Bm25Index.build(passages([talk("d", *texts)]), tmp_path / "index", stop_words=["the", "a", "and"])
    assert index.manifest.settings["stop_words"] == ["a", "and", "the"]
    bare = ["cat", "dog cat", "bird"]
    np.testing.assert_allclose(Bm25Index.open(tmp_path / "index").scores("the cat"), direct(bare, "cat"), rtol=1e-5)


def test_a_passage_without_words_is_kept_but_never_found_by_words(tmp_path: Path) -> None:
    index = Bm25Index.build(passages([talk("d", "...", "?!")]), tmp_path / "index")
    assert len(index) == 2
    assert index.search(["anything"]) == [[]]
    assert len(index.append(passages([talk("e", "now words", "more")])).search(["words"])[0]) == 1


def test_an_index_can_compare_with_something_else_than_the_text(tmp_path: Path) -> None:
    found = [Passage("d", 1, "Yes.", key="do you like tea"), Passage("d", 3, "No.", key="do you like coffee")]
    index = Bm25Index.build(iter(found), tmp_path / "index")
    [[hit]] = index.search(["coffee"])
    assert (hit.id, hit.turn, hit.text) == ("d/3", 3, "No.")


@pytest.mark.parametrize("precision", ["float16", "float32"])
def test_a_long_query_loses_its_beginning_and_vectors_are_kept_as_asked(precision: Any, tmp_path: Path) -> None:
    index = DenseIndex.build(passages([talk("d", "cat", "mat")]), tmp_path / "index", BagOfWords(), precision=precision)
    assert index.search(["cat " * 50 + "mat " * 32], 1)[0][0].id == "d/1"
    assert np.load(next((tmp_path / "index").glob("vectors-*/vectors.npy"))).dtype == precision


def test_another_encoder_than_the_one_it_was_made_with_is_refused(tmp_path: Path) -> None:
    make_dense(passages(corpus(1)), tmp_path / "index")
    with pytest.raises(SpecError, match="built with the encoder 'bag'"):
        DenseIndex.open(tmp_path / "index", BagOfWords("d2"))
    with pytest.raises(SpecError, match="is a 'dense' index"):
        Bm25Index.open(tmp_path / "index")


@pytest.mark.parametrize("value", [2.0, math.nan])
def test_vectors_that_are_not_of_length_one_are_refused(value: float, tmp_path: Path) -> None:
    class Wrong(BagOfWords):
        def encode(self, texts: Sequence[str], cut: Side = "right") -> NDArray[np.float32]:
            return np.full((len(texts), self.dimensions), value, np.float32)

    with pytest.raises(InputError, match=r"vector of length (8|nan)"):
        DenseIndex.build(passages(corpus(1)), tmp_path / "index", Wrong())
    assert not list(tmp_path.iterdir())


@EVERY_KIND
def test_a_dialogue_that_comes_twice_is_refused_and_changes_nothing(make: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'d' occurs twice"):
        make(passages([talk("d", "x"), talk("e", "y"), talk("d", "z")]), tmp_path / "never")
    assert not list(tmp_path.iterdir())
    index = make(passages([talk("d", "cat")]), tmp_path / "index")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="'d' occurs twice"):
        index.append(passages([talk("e", "cat"), talk("d", "mat")]))
    assert sorted(tmp_path.rglob("*")) == before


def interrupted() -> Iterator[Passage]:
    yield Passage("new", 0, "cat")
    raise KeyboardInterrupt


@EVERY_KIND
def test_whoever_is_interrupted_leaves_everything_as_it_was(make: Make, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        make(interrupted(), tmp_path / "never")
    index = make(passages([talk("d", "cat")]), tmp_path / "index")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(KeyboardInterrupt):
        index.append(interrupted())
    assert sorted(tmp_path.rglob("*")) == before


def test_two_who_add_at_once_do_not_undo_each_other(tmp_path: Path) -> None:
    mine = make_bm25(passages([talk("a", "cat")]), tmp_path / "index")
    yours = Bm25Index.open(tmp_path / "index")
    mine.append(passages([talk("b", "mat")]))
    with pytest.raises(InputError, match="changed by another process"):
        yours.append(passages([talk("c", "hat")]))
    assert len(Bm25Index.open(tmp_path / "index")) == 2
    assert len(list((tmp_path / "index").iterdir())) == 4  # two parts of passages, one of postings, the manifest


def test_what_cannot_be_meant_is_told(tmp_path: Path) -> None:
    index = Bm25Index.build(passages([talk("d", "cat", split="train")]), tmp_path / "index")
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: index.search("cat"), "must be a list"),
        (lambda: index.search(["cat"], 0), "at least 1"),
        (lambda: index.search(["cat"], split="trian"), "did you mean 'train'"),
        (lambda: index.search(["cat"], exclude_dialogues=[]), "0 entries but there are 1 queries"),
        (lambda: index.search(["cat"], exclude_dialogues=["d"]), "a collection of ids for each query"),
        (lambda: Bm25Index.build(iter(()), tmp_path / "other"), "no passage to index"),
        (lambda: Bm25Index.build(passages([talk("d", "x")]), tmp_path / "index"), "already exists"),
        (lambda: Bm25Index.build(passages([talk("d", "x")]), tmp_path / "other", b=2), "b between 0 and 1"),
        (lambda: Bm25Index.build(iter([Passage("d", 1, "x"), Passage("d", 1, "y")]), tmp_path / "other"), "in order"),
        (lambda: Bm25Index.build(iter([Passage("d", 1, "\ud800")]), tmp_path / "other"), "written as JSON"),
        (lambda: Bm25Index.open(tmp_path), "holds no index"),
        (lambda: Bm25Index.open(tmp_path / "nowhere"), "holds no index"),
    ]
    for do, message in wrong:
        with pytest.raises(RejoinderError, match=message):
            do()
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@EVERY_KIND
def test_a_damaged_folder_is_told_in_one_sentence(make: Make, tmp_path: Path) -> None:
    make(passages(corpus(2)), tmp_path / "index")
    harm: dict[str, Callable[[Path], object]] = {
        "missing": lambda path: path.unlink(),
        "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
        "empty": lambda path: os.truncate(path, 0),
    }
    for path in files_of(tmp_path / "index"):
        for do in harm.values():
            copy = tmp_path / "copy"
            shutil.copytree(tmp_path / "index", copy)
            do(copy / path.relative_to(tmp_path / "index"))
            with pytest.raises(InputError, match=r"damaged|holds no index"):
                open_index(copy, BagOfWords())
            shutil.rmtree(copy)


@EVERY_KIND
def test_a_changed_byte_is_found_by_checking(make: Make, tmp_path: Path) -> None:
    make(passages(corpus(2)), tmp_path / "index")
    for path in files_of(tmp_path / "index"):
        if path.name != "manifest.json":
            raw = bytearray(path.read_bytes())
            raw[-1] ^= 1
            path.write_bytes(raw)
            with pytest.raises(InputError, match="sha256"):
                verify_index_files(tmp_path / "index")
            raw[-1] ^= 1
            path.write_bytes(raw)
    verify_index_files(tmp_path / "index")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "layout 99"),
        ({"kind": "sparse"}, "unknown kind 'sparse'"),
        ({"parts": []}, "names no passages"),
        ({"parts": [{"role": 1}]}, "damaged"),
        ({"parts": [{"role": "passages", "name": "..", "files": {"x": [1, "0"]}}]}, "outside the folder"),
        ({"parts": [{"role": "passages", "name": "../a", "files": {"x": [1, "0"]}}]}, "outside the folder"),
        ({"settings": None}, "damaged"),
        ({"settings": {}}, "damaged"),
    ],
)
def test_a_manifest_that_cannot_be_followed_is_told(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    make_bm25(passages(corpus(2)), tmp_path / "index")
    path = tmp_path / "index" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=message):
        open_index(tmp_path / "index", BagOfWords())


class Ran:
    """How a command ended."""

    def __init__(self, capfd: pytest.CaptureFixture[str], *argv: object) -> None:
        before, sys.argv = sys.argv, ["rejoinder", "index", *map(str, argv)]
        self.status = 0
        try:
            cli.main()
        except SystemExit as stop:
            self.status = int(stop.code or 0)
        finally:
            sys.argv = before
        self.out, self.err = capfd.readouterr()


def write_dialogues(path: Path, dialogues: Sequence[Dialogue]) -> Path:
    from rejoinder.data.writer import write

    write(dialogues, path)
    return path


@pytest.mark.parametrize("kind", ["bm25", "dense"])
def test_the_commands_build_add_search_and_check(
    kind: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.models.encoder.factory.load_encoder", lambda name, cache=True: BagOfWords())
    first = write_dialogues(
        tmp_path / "first.jsonl.gz", [talk("a", "a red cat", "a mat", split="train"), talk("t", "red", split="test")]
    )
    second = write_dialogues(tmp_path / "second.jsonl", [talk("b", "one more red cat", split="train")])
    folder = tmp_path / "index"
    built = Ran(capfd, "build", first, "-o", folder, "--kind", kind, "--split", "train")
    assert (built.status, built.out) == (0, "")
    assert "2 turns indexed" in built.err
    assert "1 turns added, 3 in total" in Ran(capfd, "add", folder, second).err
    shown = Ran(capfd, "search", folder, "red cat", "-k", 2, "--format", "json")
    assert [row["turn"] for row in json.loads(shown.out)["rows"]] == ["a/0", "b/0"]
    left = Ran(capfd, "search", folder, "red cat", "-k", 1, "--exclude", "a", "--format", "csv")
    assert left.out.splitlines()[1].split(",")[1] == "b/0"
    assert "intact" in Ran(capfd, "check", folder).out


def test_the_commands_say_what_is_wrong_in_one_line(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"kind": "item", "id": "i", "context": ["hello"]}\n')
    talks = write_dialogues(tmp_path / "talks.jsonl", [talk("a", "cat")])
    for argv, message in [
        (["build", tmp_path / "items.jsonl", "-o", tmp_path / "x"], "dialogues only"),
        (["build", talks, "-o", tmp_path / "x", "--split", "tarin"], "check the name of the split"),
        (["build", tmp_path / "none.jsonl", "-o", tmp_path / "x"], "no such file"),
        (["search", tmp_path, "cat"], "holds no index"),
        (["check", tmp_path / "nowhere"], "holds no index"),
    ]:
        done = Ran(capfd, *argv)
        assert (done.status, done.out) == (2, "")
        assert message in done.err
        assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "x").exists()


def test_word_counts_survive_growing_by_new_words(tmp_path: Path) -> None:
    index = Bm25Index.build(passages([talk("a", "one two two")]), tmp_path / "index")
    index = index.append(passages([talk("b", "two three", "four")]))
    counts = Counter("one two two two three four".split())
    assert index.manifest.counts == {"passages": 3, "words": len(counts), "postings": 5, "tokens": sum(counts.values())}
