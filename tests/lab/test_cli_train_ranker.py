"""``rejoinder train ranker``: the whole way on a few questions, and every refusal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_rankers
from click.testing import CliRunner, Result

from rejoinder import cli
from rejoinder.data.writer import write
from rejoinder.errors import RejoinderError
from rejoinder.types import Candidate, Dialogue, Question, Turn

torch = pytest.importorskip("torch", reason="the torch extra is not installed")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tiny_rankers.questions(), tmp_path / "train.jsonl")
    write(tiny_rankers.held_out(), tmp_path / "valid.jsonl")
    equal = Question("e", (Turn("hi"),), (Candidate("x", grade="Bad"), Candidate("y", grade="Bad")))
    write([equal], tmp_path / "equal.jsonl")
    write([replace(equal, candidates=(Candidate("x"), Candidate("y")))], tmp_path / "bare.jsonl")
    write([Dialogue("d", (Turn("hi"),))], tmp_path / "talk.jsonl")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.program, ["train", "ranker", *arguments])


BOTH = ("--train", "train.jsonl", "--valid", "valid.jsonl")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--train", "train.jsonl", "-o", "new"), "no held-out files are named; name some (valid)"),
        ((*BOTH, "-o", "full"), "full: already exists and is not empty; name a new folder"),
        ((*BOTH, "-o", "train.jsonl"), "already exists and is not empty"),
        ((*BOTH, "-o", "new", "--kind", "cross", "--encoder", "minilmm"), "no folder is called 'minilmm'"),
        ((*BOTH, "-o", "new", "--kind", "cross", "--encoder", "glove-6b-50d"), "not an encoder"),
        ((*BOTH, "-o", "new", "--encoder", "hf:mpnet"), "get it with: rejoinder models get mpnet"),
        ((*BOTH, "-o", "new", "--device", "abacus"), "the device 'abacus' is not available"),
        ((*BOTH, "-o", "new", "--kind", "cross", "--input", "10"), "no expanded situation with 10 distractors"),
        (("--train", "equal.jsonl", "--valid", "valid.jsonl", "-o", "new"), "none has candidates of different"),
        (("--train", "train.jsonl", "--valid", "equal.jsonl", "-o", "new"), "none has candidates of different"),
        (("--train", "bare.jsonl", "--valid", "valid.jsonl", "-o", "new"), "candidate 1 has no grade"),
        (("--train", "talk.jsonl", "--valid", "valid.jsonl", "-o", "new"), "none has candidates of different"),
        (("--train", "train.jsonl", "--valid", "train.jsonl", "-o", "new"), "question q0 occurs twice"),
        (("--train", "none.jsonl", "--valid", "valid.jsonl", "-o", "new"), "no such file"),
        ((*BOTH, "-o", "new", "--mined", "none.tsv"), "none.tsv"),
    ],
)
def test_every_mistake_is_told_in_a_sentence(home: Path, arguments: tuple[str, ...], told: str) -> None:
    done = run(*arguments)
    assert done.exit_code != 0
    assert isinstance(done.exception, RejoinderError), done.exception
    assert told in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not (home / "new").exists()
    assert (home / "full" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "arguments", [("--kind", "listwise"), ("--input", "u+S2"), ("--goal", "1.5"), ("--epochs", "0")]
)
def test_options_say_what_they_take(home: Path, arguments: tuple[str, ...]) -> None:
    assert run(*BOTH, "-o", "new", *arguments).exit_code == 2


def test_a_ranker_is_trained_and_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder_lab.training.ranker.mining._QUESTIONS", 2)
    write(tiny_rankers.questions(0, 4), home / "train.jsonl")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    needs = [("bake", "buy flour"), ("bake", "heat the oven"), ("fly", "buy a ticket"), ("fly", "pack a bag")]
    (home / "atomic.tsv").write_text("".join(f"{goal}\txNeed\tto {need}\n" for goal, need in needs))
    said = (Turn("Please buy flour."), Turn("Can I buy a ticket?"))
    write([Dialogue(f"d{n}", said) for n in range(5)], home / "talks.jsonl")
    mined = ["--mined", "atomic.tsv", "--mined-corpus", "talks.jsonl", "--mined-steps", "1"]
    (home / "new").mkdir()
    try:
        done = run(*BOTH, "-o", "new", "--epochs", "1", "--goal", "0.5", "--device", "cpu", "--seed", "3", *mined)
    finally:
        torch.set_num_threads(before)
    assert done.exit_code == 0, f"{done.output} {done.exception}"
    assert "2 pairs mined" in done.stderr
    assert "1 steps on 2 mined pursuits" in done.stderr
    assert "3 questions to train on (0 with one grade left out), 3 held out, on cpu" in done.stderr
    assert "chooser: held-out AUC" in done.stderr
    assert "epoch 1 of 1: loss" in done.stderr
    card = json.loads((home / "new" / "ranker.json").read_text())
    assert card["about"]["recipe"]["seed"] == 3
    assert card["about"]["train"] == ["train.jsonl"]
    assert set(card["about"]["measured"]["held_out_ndcg3"]) == {"u", "u+S1", "u+S", "15"}
    asked = CliRunner().invoke(cli.program, ["rank", "valid.jsonl", "--ranker", "ranker(folder='new')"])
    assert asked.exit_code == 0, asked.output
