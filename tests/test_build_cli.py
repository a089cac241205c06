"""``rejoinder build``: from files to a set with its cards, to people and back, the same bytes twice."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

import rejoinder
from rejoinder.data.questions import find_right_candidates
from rejoinder.selection.card import card_paths
from rejoinder.selection.inputs import BuildInput, read_context_records, read_repository, read_training_records
from rejoinder.types import Dialogue, Item, Question, Rating, Response, Turn

BM25 = ["--source", "bm25(query='reply')", "--judge-with", "none"]
TOWNS = ("Rome", "Bonn", "York", "Oslo", "Kiel", "Bern", "Cork", "Lyon")
VERBS = ("reached", "missed", "blocked", "passed", "served", "crossed", "shook", "woke")


KINDS = ("slow", "long", "royal", "mail", "night", "ghost", "steam", "toy")


def talks(n: int = 6, split: str = "test") -> list[Dialogue]:
    made = []
    for k in range(n):
        said = [f"Where were you on day {k}?", "Far away.", f"Say it, number {k}.", f"My train stopped in {TOWNS[k]}."]
        turns = tuple(Turn(text, "AB"[i % 2]) for i, text in enumerate([*said, "I see."]))
        made.append(Dialogue(f"{split}-{k}", turns, "talks", split))
    return made


def utterances() -> list[str]:
    both = list(zip(KINDS, VERBS, TOWNS, strict=True))
    trains = [f"A {kind} train {verb} the {town} road." for kind, verb, town in both]
    return [*trains, *(f"Nobody {verb} us." for verb in VERBS), *(f"She {verb} {town}." for _, verb, town in both)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rejoinder.write(talks(), tmp_path / "talks.jsonl")
    (tmp_path / "said.txt").write_text("\n".join(utterances()) + "\n", "utf-8")
    return tmp_path


def run(folder: Path, *words: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "rejoinder", "build", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == (2 if fails else 0), done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_without_word_vectors_the_embedded_encoder_is_taken_and_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REJOINDER_CACHE", str(folder / "cache"))
    words = ["--from", "talks.jsonl", "--repository", "said.txt", "--judge-with", "none"]
    done = run(folder, "set.jsonl", *words)
    assert "rejoinder models get glove-6b-50d" in done.stderr
    card = orjson.loads((folder / "set.card.json").read_bytes())
    assert card["settings"]["sources"] == ["bm25(query='reply')", "dense(query='reply')"]
    refused = run(folder, "two.jsonl", *words, "--source", "sif(query='reply')", fails=True)
    assert "glove-6b-50d" in refused.stderr


def test_a_set_with_its_cards_the_same_bytes_twice(folder: Path) -> None:
    words = ["--from", "talks.jsonl", "--repository", "said.txt", *BM25]
    shown = run(folder, "one/set.jsonl", *words)
    assert "What happened at each step" in shown.stdout
    assert "written: one/set.jsonl, set.card.json and set.card.md" in shown.stderr
    run(folder, "two/set.jsonl", *words)
    for name in ("set.jsonl", "set.card.json", "set.card.md"):
        assert (folder / "one" / name).read_bytes() == (folder / "two" / name).read_bytes()
    questions = list(rejoinder.stream(folder / "one" / "set.jsonl"))
    assert len(questions) == 6
    for question in questions:
        assert isinstance(question, Question)
        assert len(question.candidates) == 4
        assert len(find_right_candidates(question)) == 1
        assert question.split == "test"
    card = orjson.loads((folder / "one" / "set.card.json").read_bytes())
    assert card["questions"] == 6
    assert card["inputs"][0]["name"] == "talks.jsonl"
    assert card["inputs"][1]["licence"] == "not known"
    page = (folder / "one" / "set.card.md").read_text()
    assert "by nobody: some of them may be acceptable" in page
    assert "| bm25(query='reply') |" in page
    other = folder / "three.jsonl"
    run(folder, other.name, *words, "--seed", "5")
    assert other.read_bytes() != (folder / "one" / "set.jsonl").read_bytes()


def test_several_workers_build_the_same_bytes(folder: Path) -> None:
    given = ["--from", "talks.jsonl", "--repository", "said.txt", *BM25]
    for name, more in (("one", []), ("two", ["--processes", "2"])):
        run(folder, f"{name}.jsonl", *given, *more)
    for kind in (".jsonl", ".card.json"):
        one, two = ((folder / f"{name}{kind}").read_bytes() for name in ("one", "two"))
        assert one == two


def test_a_random_set_of_the_same_questions(folder: Path) -> None:
    run(folder, "chosen.jsonl", "--from", "talks.jsonl", "--repository", "said.txt", *BM25)
    run(folder, "random.jsonl", "--from", "chosen.jsonl", "--repository", "said.txt", "--random", "--seed", "3")
    chosen, drawn = ([*rejoinder.stream(folder / name)] for name in ("chosen.jsonl", "random.jsonl"))
    for first, second in zip(chosen, drawn, strict=True):
        assert isinstance(first, Question)
        assert isinstance(second, Question)
        assert (first.id, first.context) == (second.id, second.context)
        truths = {one.candidates[min(find_right_candidates(one))].text for one in (first, second)}
        assert len(truths) == 1
        assert {one.source for one in second.candidates} == {"human", "random"}


def score(path: Path, truths: set[str]) -> None:
    """Everybody gives truths 5 and the rest 1, but for what has a toy in it."""
    rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    for row in rows[1:]:
        row[4:9] = ["5" if row[3] in truths or "toy" in row[3] else "1"] * 5
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    path.write_text(out.getvalue(), "utf-8")


def test_to_people_on_a_sheet_and_back(folder: Path) -> None:
    words = ["--from", "talks.jsonl", "--repository", "said.txt", *BM25]
    told = run(folder, "set.jsonl", *words, "--write-csv", "sheet.csv").stderr
    assert "next: rejoinder build -o set.jsonl --pools set.pools.jsonl --people FILE" in told
    assert not (folder / "set.jsonl").exists()
    score(folder / "sheet.csv", {talk.turns[3].text for talk in talks()})
    run(folder, "set.jsonl", "--pools", "set.pools.jsonl", "--people", "sheet.csv", "--judge-with", "none")
    card = orjson.loads((folder / "set.card.json").read_bytes())
    assert card["judged by"] == "people"
    assert card["people"]["kappa of six classes"]["value"] == 1.0
    assert card["settings"]["sources"] == ["bm25(query='reply')"]
    assert card["counts"]["second questions"] >= 1  # what has a toy in it became a truth
    assert card["dialogues"]["dialogues"] == 6
    first = (folder / "set.jsonl").read_bytes()
    run(folder, "again.jsonl", *words, "--people", "sheet.csv")  # found anew instead of read
    assert (folder / "again.jsonl").read_bytes() == first
    assert "Agreement between people" in (folder / "set.card.md").read_text()


def test_to_the_annotation_page_and_back_as_ratings(folder: Path) -> None:
    words = ["--from", "talks.jsonl", "--repository", "said.txt", *BM25]
    run(folder, "set.jsonl", *words, "--write-project", "project.toml")
    assert 'form = "candidates"' in (folder / "project.toml").read_text()
    pools = [one for one in rejoinder.stream(folder / "set.pools.jsonl") if isinstance(one, Question)]
    ratings = [
        Rating(f"r{n}", "appropriate", 5.0 if one.grade == "true" else 1.0, f"{pool.id}/{one.id}")
        for pool in pools
        for one in pool.candidates
        for n in range(5)
    ]
    rejoinder.write(ratings, folder / "ratings.jsonl")
    run(folder, "set.jsonl", "--pools", "set.pools.jsonl", "--people", "ratings.jsonl", "--judge-with", "none")
    assert len(list(rejoinder.stream(folder / "set.jsonl"))) == 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name dialogues with --from"),
        (["--from", "-", "--repository", "said.txt", *BM25], "cannot be built from standard input"),
        (["--from", "talks.jsonl"], "with --repository"),
        (["--from", "talks.jsonl", "--repository", "nowhere.txt", *BM25], "nowhere.txt: no such file"),
        (["--from", "said.txt", "--repository", "said.txt", *BM25], "is a text of single utterances"),
        (["--from", "talks.jsonl@train", "--repository", "said.txt", *BM25], "has no records of the split train"),
        (["--from", "talks.jsonl", "--repository", "said.txt", "--judge-with", "bleu"], "cannot judge whether"),
        (["--from", "talks.jsonl", "--repository", "said.txt", "--judge-with", "idk"], "has no measured threshold"),
        (["--from", "talks.jsonl", "--repository", "said.txt", "--source", "bm52"], "did you mean 'bm25'"),
        (["--pools", "p.jsonl", "--from", "talks.jsonl"], "--pools has all candidates"),
        (
            ["--from", "talks.jsonl", "--repository", "said.txt", "--people", "p", "--random"],
            "a random set has no judges",
        ),
        (["--from", "talks.jsonl", "--repository", "said.txt", "--position", "soon"], "no position is called 'soon'"),
    ],
)
def test_what_cannot_be_meant_is_told_in_one_line(folder: Path, words: list[str], message: str) -> None:
    told = run(folder, "set.jsonl", *words, fails=True).stderr
    assert message in told
    assert len(told.strip().splitlines()) == 1


def test_what_is_named_on_the_command_line(folder: Path) -> None:
    both = frozenset({"valid", "test"})
    assert BuildInput.parse("dataset:corpus/dialogues@valid+test") == BuildInput("dataset:corpus/dialogues", both)
    assert BuildInput.parse("dataset:dailydialog/test") == BuildInput("dataset:dailydialog/test")
    (folder / "me@home.jsonl").write_bytes((folder / "talks.jsonl").read_bytes())
    assert BuildInput.parse(str(folder / "me@home.jsonl")).splits == frozenset()
    assert len(list(read_context_records([BuildInput.parse(f"{folder}/talks.jsonl@test+valid")]))) == 6
    zipped = folder / "said.txt.gz"
    zipped.write_bytes(gzip.compress((folder / "said.txt").read_bytes()))
    assert [one.turns[0].text for one in read_repository([BuildInput(str(zipped))])] == utterances()
    rejoinder.write([Item("i", (Turn("Well?"),)), Response("r", "i", "bot", "A reply.")], folder / "chats.jsonl")
    assert [one.turns[0].text for one in read_repository([BuildInput(str(folder / "chats.jsonl"))])] == ["A reply."]
    assert len(list(read_training_records([BuildInput(str(folder / "chats.jsonl"))]))) == 2


def test_the_cards_stand_beside_the_set() -> None:
    assert [path.name for path in card_paths("a/set.jsonl.gz")] == ["set.card.json", "set.card.md"]
