"""What a corpus offers of speaker sets and how alike they are, against a slow, direct reckoning."""

from __future__ import annotations

import itertools
import json
import math
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rejoinder.cli import program
from rejoinder.data.writer import write
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.indexes.corpus import Corpus, group_by_corpus
from rejoinder.indexes.speaker_coverage import measure_coverage
from rejoinder.indexes.speaker_sets import CorpusSets, SetSampling
from rejoinder.indexes.speaker_similarity import (
    SpeakerSimilarity,
    Vectoriser,
    are_first_and_last_apart,
    average_word_vectors,
    is_similarity_decreasing,
    measure_similarity,
    open_vectoriser,
    tfidf_vectors,
)
from rejoinder.reports.speakers import plot_similarity, similarity_table, similarity_verdict
from rejoinder.stats.interval import mean_interval
from rejoinder.types import Dialogue, Item, Turn
from tests.test_sources import moments

WORDS = ["tea", "milk", "train", "late", "yes", "rain", "again"]
NAMES = ["Ann", "Bob", "Cem"]


@st.composite
def plays(draw: st.DrawFn) -> list[Dialogue]:
    """Dialogues of permanent speakers in two splits."""
    text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
    made = []
    for number in range(draw(st.integers(1, 7))):
        turns = draw(st.lists(st.builds(Turn, text, st.sampled_from(NAMES)), min_size=1, max_size=8))
        made.append(Dialogue(f"d{number}", tuple(turns), "plays", draw(st.sampled_from(["train", "test"]))))
    return made


def bag(texts: Sequence[str]) -> NDArray[np.float64]:
    """Counts of words, of length 1."""
    counts = np.array([[text.split().count(word) for word in WORDS] for text in texts], dtype=float)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def direct_sets(dialogues: list[Dialogue]) -> dict[str, dict[tuple[str, ...], list[str]]]:
    """Every set of every speaker, by whose it is; of texts that are the same, one."""
    sets: dict[str, dict[tuple[str, ...], list[str]]] = {
        name: defaultdict(list) for name in ("same_conversation", "same_partner", "same_speaker")
    }
    for dialogue in dialogues:
        present = {str(turn.speaker) for turn in dialogue.turns}
        for turn in dialogue.turns:
            split, speaker = str(dialogue.split), str(turn.speaker)
            keys = [("same_conversation", (dialogue.id, speaker)), ("same_speaker", (split, speaker))]
            keys += [("same_partner", (split, speaker, other)) for other in present - {speaker}]
            for name, key in keys:
                if turn.text not in sets[name][key]:
                    sets[name][key].append(turn.text)
    return sets


def direct_alike(texts: list[str]) -> tuple[float, float]:
    vectors = bag(texts)
    pairs = [float(a @ b) for a, b in itertools.permutations(vectors, 2)]
    squares = sum(float(a @ b) ** 2 for a in vectors for b in vectors)
    return sum(pairs) / len(pairs), math.sqrt(squares) / len(texts)


@given(dialogues=plays())
@settings(max_examples=30, deadline=None)
def test_similarity_is_the_mean_over_all_sets_with_two_utterances(dialogues: list[Dialogue]) -> None:
    corpus = Corpus.of(dialogues, "yes")
    found = measure_similarity(corpus, Vectoriser("bag", bag), SetSampling(10_000, 10_000), ["each set once"])[
        "each set once"
    ]
    for one in found[:-1]:
        values = [direct_alike(texts) for texts in direct_sets(dialogues)[one.of].values() if len(texts) >= 2]
        assert one.n_sets == len(values)
        if values:
            assert one.cosine.value == pytest.approx(np.mean([v[0] for v in values]))
            assert one.frobenius.value == pytest.approx(np.mean([v[1] for v in values]))


@given(dialogues=plays(), seed=st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_matched_sets_are_of_one_conversation_and_of_one_size(dialogues: list[Dialogue], seed: int) -> None:
    from rejoinder.indexes.speaker_sets import DESIGNS

    corpus = Corpus.of(dialogues, "yes")
    drawn = list(DESIGNS["matched"](CorpusSets(corpus), SetSampling(1000, 4, seed)))
    for four in zip(*[iter(drawn)] * 4, strict=True):
        assert [one.of for one in four] == ["same_conversation", "same_partner", "same_speaker", "random"]
        assert len({one.speaker for one in four}) == 1
        sizes = {len(one.turns) for one in four}
        assert len(sizes) == 1
        assert min(sizes) >= 2
        conversation, with_partner, anywhere, others = (one.turns for one in four)
        speaker = four[0].speaker
        assert len(set(corpus.dialogue[conversation])) == 1
        assert (corpus.speaker[np.concatenate([conversation, with_partner, anywhere])] == speaker).all()
        assert (corpus.speaker[others] != speaker).all()
        splits = {corpus.split(int(turn)) for one in four for turn in one.turns}
        assert len(splits) == 1
        for one in four:
            assert len(set(corpus.text_codes[one.turns])) == len(one.turns)


def test_the_steps_of_matched_sets_are_paired() -> None:
    lines = [("Ann", "Bob", "tea milk"), ("Ann", "Bob", "train late"), ("Ann", "Cem", "rain again")]
    dialogues = [
        Dialogue(f"d{i}{j}", tuple(Turn(f"{text} {w}", (a, b)[k % 2]) for k, w in enumerate(WORDS)), "plays")
        for i, (a, b, text) in enumerate(lines)
        for j in range(3)
    ]
    dialogues += [Dialogue("x", (Turn("no", "Cem"), Turn("yes", "Bob"), Turn("yes rain", "Bob")), "plays")]
    found = measure_similarity(Corpus.of(dialogues), Vectoriser("bag", bag), SetSampling(100, 4), ["matched"])[
        "matched"
    ]
    assert found[0].step is None
    for before, one in itertools.pairwise(found):
        assert one.step is not None
        assert one.step.value == pytest.approx(before.cosine.value - one.cosine.value)
    assert is_similarity_decreasing(found)


@given(dialogues=plays())
@settings(max_examples=20, deadline=None)
def test_coverage_counts_what_the_sources_would_propose(dialogues: list[Dialogue]) -> None:
    from tests.test_sources import direct

    found = measure_coverage(Corpus.of(dialogues, "yes"))
    assert found.moments == len(moments(dialogues))
    assert found.turns == sum(len(d.turns) for d in dialogues)
    for offer in found.offers:
        spec = offer.of.name + ("(exclusive=True)" if offer.of.exclusive else "")
        having = [direct(spec, dialogues, moment) for moment in moments(dialogues)]
        assert offer.moments == sum(map(bool, having))
        assert offer.largest_size >= max(map(len, having), default=0)


def test_coverage_tells_who_has_too_little() -> None:
    dialogues = [
        Dialogue("one", (Turn("a", "Ann"), Turn("b", "Bob"), Turn("c", "Ann")), "plays"),
        Dialogue("two", (Turn("d", "Bob"), Turn("e", "Cem"), Turn("f"), Turn("g", "Bob")), "plays"),
        Dialogue("three", (Turn("h", "Dan"), Turn("i", "Dan")), "plays"),
        Dialogue("four", (Turn("j", "A"), Turn("k", "B"), Turn("l", "A")), "logs"),
    ]
    found = measure_coverage(Corpus.of(dialogues))
    assert (found.dialogues, found.turns, found.moments) == (4, 12, 8)
    assert found.speakers == 4
    assert found.one_dialogue == 3  # Ann, Cem, Dan
    assert found.one_partner == 1  # Ann; Bob and Cem have the one without a name beside each other
    assert found.without_label == 1
    assert found.not_lasting == 2
    assert found.without_partner == 1


def test_labels_without_a_meaning_leave_the_middle_sets_empty() -> None:
    turns = tuple(Turn(f"{word} {i}", "AB"[i % 2]) for i, word in enumerate(WORDS))
    corpus = Corpus.of([Dialogue(f"d{i}", turns, "logs") for i in range(3)])
    shares = {(o.of.name, o.of.exclusive): o.moments for o in measure_coverage(corpus).offers}
    assert shares["same_conversation", False] == 12
    assert not any(n for (name, _), n in shares.items() if name in ("same_partner", "same_speaker"))
    found = measure_similarity(corpus, Vectoriser("bag", tfidf_vectors), SetSampling(), ["matched", "each set once"])
    assert not any(one.n_sets for one in found["matched"])
    assert [one.n_sets > 0 for one in found["each set once"]] == [True, False, False, True]
    assert "there is no same partner and no same speaker" in similarity_verdict(found["each set once"])
    assert similarity_verdict(found["matched"]) == "No set has two utterances with different texts."


def test_tfidf_is_that_of_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.feature_extraction.text")
    texts = ["the train is late", "late again the the", "tea", "milk and tea", "the rain"]
    theirs = sklearn.TfidfVectorizer(token_pattern=r"\w+").fit_transform(texts)
    ours = tfidf_vectors(texts)
    assert (ours @ ours.T).toarray() == pytest.approx((theirs @ theirs.T).toarray())
    assert tfidf_vectors(["tea", "?!"]).toarray().tolist() == [[1.0], [0.0]]


class TwoWords:
    """Word vectors of two words."""

    name, digest, dimensions = "two", "0", 2

    def vectors(self, words: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        known = {"tea": (3.0, 0.0), "milk": (0.0, 4.0)}
        found = np.array([known.get(w, (0.0, 0.0)) for w in words], np.float32).reshape(-1, 2)
        return found, np.array([w in known for w in words], dtype=bool)


def test_averaged_word_vectors_pass_over_unknown_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.models.word_vectors.model.load_word_vectors", lambda name: TwoWords())
    found = average_word_vectors(["Tea, please", "tea milk", "nothing", "?"], "two")
    assert found == pytest.approx(np.array([[1, 0], [0.6, 0.8], [0, 0], [0, 0]]))


def test_a_text_without_a_vector_is_left_out_of_its_set() -> None:
    turns = tuple(Turn(text, "Ann") for text in ("tea", "tea milk", "unknown"))
    corpus = Corpus.of([Dialogue("d", turns, "plays")])

    def vectors(texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([[{"tea": 1.0, "tea milk": 0.6}.get(t, 0.0), {"tea milk": 0.8}.get(t, 0.0)] for t in texts])

    found = measure_similarity(corpus, Vectoriser("two", vectors), SetSampling(), ["each set once"])["each set once"]
    assert found[0].cosine.value == pytest.approx(0.6)
    assert found[0].frobenius.value == pytest.approx(math.sqrt(2 + 2 * 0.36) / 2)


def test_copies_can_be_counted() -> None:
    turns = tuple(Turn(text, "Ann") for text in ("tea", "tea", "milk"))
    corpus = Corpus.of([Dialogue("d", turns, "plays")])
    for copies, expected in ((False, 0.0), (True, 1 / 3)):
        found = measure_similarity(corpus, Vectoriser("bag", bag), SetSampling(copies=copies), ["each set once"])[
            "each set once"
        ]
        assert found[0].cosine.value == pytest.approx(expected)


def test_an_encoder_is_named_rightly() -> None:
    assert open_vectoriser("tfidf").name == "tfidf"
    with pytest.raises(SpecError, match="cannot turn texts into vectors"):
        open_vectoriser("smollm2-135m")
    with pytest.raises(SpecError, match="no encoder and no folder is called 'tfidff'"):
        open_vectoriser("tfidff")


def test_corpora_are_told_apart_by_name() -> None:
    dialogues = [Dialogue(f"d{i}", (Turn("x", "Ann"),), "ab"[i % 2]) for i in range(5)]
    assert {name: len(one.ids) for name, one in group_by_corpus(dialogues).items()} == {"a": 3, "b": 2}


def made(values: Sequence[float]) -> list[SpeakerSimilarity]:
    kinds = ("same_conversation", "same_partner", "same_speaker", "random")
    return [
        SpeakerSimilarity(kind, 3, 3, 2.0, mean_interval([v - 0.01, v, v + 0.01]), mean_interval([v, v, v]))  # type: ignore[arg-type]
        for kind, v in zip(kinds, values, strict=True)
    ]


def test_the_verdict_says_whether_similarity_falls() -> None:
    assert similarity_verdict(made([0.9, 0.6, 0.5, 0.2])).startswith(
        "The mean cosine falls from set to set; the interval of the first"
    )
    assert "lies above that of the last" in similarity_verdict(made([0.9, 0.6, 0.5, 0.2]))
    assert "does not fall" in similarity_verdict(made([0.9, 0.5, 0.6, 0.2]))
    assert not are_first_and_last_apart(made([0.5, 0.5, 0.5, 0.5]))
    table = similarity_table(made([0.9, 0.6, 0.5, 0.2]), "matched", "plays", "tfidf")
    assert [row[0] for row in table.rows] == ["same conversation", "same partner", "same speaker", "random"]


def test_the_drawing_is_well_formed_and_holds_every_set() -> None:
    drawn = plot_similarity({"plays & <logs>": made([0.9, 0.6, 0.5, 0.2]), "nothing": []}, "tfidf")
    root = ElementTree.fromstring(drawn)
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in root.iter(f"{space}text")]
    assert "plays & <logs>" in texts
    dots = [float(dot.get("cx", "nan")) for dot in root.iter(f"{space}circle")]
    assert dots == sorted(dots, reverse=True)
    assert len(dots) == 4


@pytest.fixture
def corpus_file(tmp_path: Path) -> Path:
    lines = [("Ann", "Bob"), ("Ann", "Bob"), ("Ann", "Cem"), ("Bob", "Cem")]
    dialogues = [
        Dialogue(f"d{i}", tuple(Turn(f"{WORDS[i]} {w}", two[k % 2]) for k, w in enumerate(WORDS)), "plays", "train")
        for i, two in enumerate(lines)
    ]
    dialogues.append(Dialogue("log", (Turn("one", "A"), Turn("two", "B"), Turn("three", "A")), "logs", "test"))
    write([*dialogues, Item("i", (Turn("x"),))], tmp_path / "corpus.jsonl.gz")
    return tmp_path / "corpus.jsonl.gz"


def test_the_command_prints_tables_and_draws(corpus_file: Path, tmp_path: Path) -> None:
    drawing = tmp_path / "speakers.svg"
    done = CliRunner().invoke(program, ["speakers", str(corpus_file), "-o", str(drawing), "--format", "json"])
    assert done.exit_code == 0, done.output
    tables = json.loads(done.stdout)
    assert [table["title"].partition(":")[0] for table in tables] == ["plays"] * 3 + ["logs"] * 3
    offers = {row["set"]: row["moments with it"] for row in tables[0]["rows"]}
    assert offers["random"] == 24
    ElementTree.parse(drawing)
    again = tmp_path / "again.svg"
    CliRunner().invoke(program, ["speakers", str(corpus_file), "-o", str(again)])
    assert again.read_bytes() == drawing.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--corpus", "play"], "has no corpus 'play'; did you mean 'plays'?"),
        (["--split", "trian"], "has no split 'trian'; did you mean 'train'?"),
        (["--corpus", "plays", "--split", "test"], "has no dialogues of that corpus and split"),
        (["--encoder", "minilm"], "rejoinder models get minilm"),
    ],
)
def test_the_command_says_what_is_wrong(corpus_file: Path, arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(program, ["speakers", str(corpus_file), *arguments])
    assert isinstance(done.exception, RejoinderError)
    assert message in str(done.exception)


def test_similarity_falls_on_published_corpora(published: Path) -> None:
    from rejoinder.data.datasets import read_dataset

    wanted = {"cornell", "friends", "irc_ubuntu", "mrda"}
    corpora = group_by_corpus(
        record
        for record in read_dataset("corpus/dialogues", published)
        if isinstance(record, Dialogue) and record.corpus in wanted and record.split == "train"
    )
    assert set(corpora) == wanted
    for corpus in corpora.values():
        found = measure_similarity(corpus, open_vectoriser("tfidf"), SetSampling(2000), ["matched"])["matched"]
        assert are_first_and_last_apart(found)
        values = [one.cosine.value for one in found]
        # Same partner and same speaker are too near each other on Friends and MRDA to be told apart by so few sets.
        assert values[0] > max(values[1:3]) >= min(values[1:3]) > values[3]
