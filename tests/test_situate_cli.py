"""``rejoinder situate``: the commands from end to end, with the embedded encoder."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result
from situated_seeds import seeds

from rejoinder.cli import program
from rejoinder.data.collection import read_files
from rejoinder.data.inputs.seeds import read_seeds, write_seeds
from rejoinder.data.writer import write
from rejoinder.types import Rating


def run(*words: object) -> Result:
    return CliRunner().invoke(program, ["situate", *map(str, words)])


@pytest.fixture
def given(tmp_path: Path) -> Path:
    write_seeds(seeds(10, "yes"), tmp_path / "seeds.jsonl")
    return tmp_path / "seeds.jsonl"


def test_seeds_become_a_graded_set(given: Path, tmp_path: Path) -> None:
    made = run("build", given, "-o", tmp_path / "set.jsonl", "--similarity", "0.95", "--folds", "3")
    assert made.exit_code == 0, made.output
    assert "questions" in made.output
    questions = list(read_files([tmp_path / "set.jsonl"]).questions.values())
    assert len(questions) == 10
    card = orjson.loads((tmp_path / "set.card.json").read_bytes())
    assert card["inputs"][0]["name"] == "seeds.jsonl"
    assert card["encoder"].startswith("aptness ")
    assert len(card["rounds"]) == 3
    first = (tmp_path / "set.jsonl").read_bytes()
    run("build", given, "-o", tmp_path / "set.jsonl", "--similarity", "0.95", "--folds", "3")
    assert (tmp_path / "set.jsonl").read_bytes() == first

    asked = run(
        "project", "grade", tmp_path / "set.jsonl", "-o", tmp_path / "p.toml", "--write-csv", tmp_path / "s.csv"
    )
    assert asked.exit_code == 0, asked.output
    assert "0 is Bad, 1 Acceptable, 2 Best" in asked.output
    values = {"reference": 2.0, "distractor": 0.0}
    said = [
        Rating(rater, "grade", values[str(one.source)], f"{question.id}/{one.id}")
        for question in questions[1:]
        for one in question.candidates
        for rater in ("ann", "bob", "cem")
    ]
    write(said, tmp_path / "ratings.jsonl")
    graded = run(
        "grade", tmp_path / "set.jsonl", "--people", tmp_path / "ratings.jsonl", "-o", tmp_path / "graded.jsonl"
    )
    assert graded.exit_code == 0, graded.output
    assert "1 questions need more ratings (too few, or all grades equal): s0" in graded.output
    assert len(read_files([tmp_path / "graded.jsonl"]).questions) == 9
    page = (tmp_path / "graded.card.md").read_text()
    assert "graded by people (minimax_entropy_ordinal)" in page
    assert "27 ratings" not in page  # 9 questions, 3 candidates, 3 raters
    assert "81 ratings by 3 raters; Krippendorff's alpha (ordinal) 1.000" in page


def test_a_set_is_taken_apart_into_seeds(given: Path, tmp_path: Path) -> None:
    run("build", given, "-o", tmp_path / "set.jsonl", "--similarity", "0.95", "--rounds", "0")
    apart = run("seeds", tmp_path / "set.jsonl", "-o", tmp_path / "again.jsonl")
    assert apart.exit_code == 0, apart.output
    assert [(seed.id, seed.reply) for seed in read_seeds(tmp_path / "again.jsonl")] == [
        (seed.id, seed.reply) for seed in seeds(10, "yes")
    ]


def test_what_cannot_be_done_is_said_in_one_sentence(given: Path, tmp_path: Path) -> None:
    write_seeds(seeds(1), tmp_path / "one.jsonl")
    cases = [
        (("build", tmp_path / "one.jsonl", "-o", tmp_path / "x.jsonl"), "there is only one seed"),
        (("build", "-", "-o", tmp_path / "x.jsonl"), "cannot be built from standard input"),
        (("build", given, "-o", tmp_path / "x.jsonl", "--similarity", "0.01"), "seeds has a distractor"),
        (("grade", given, "--people", given, "-o", tmp_path / "x.jsonl"), "cannot tell what kind of record"),
        (
            ("statements", given, "--category", "mood", "--writer", tmp_path),
            "no sequence model",
        ),
    ]
    for words, message in cases:
        assert message in str(run(*words).exception), words
    sheet = run("project", "write", given, "-o", tmp_path / "p.toml", "--write-csv", tmp_path / "s.csv")
    assert "--write-csv is for the step grade only" in sheet.output
