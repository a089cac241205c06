"""``rejoinder augment``: the command on the example file, its review by people, and what it says of odd files."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rejoinder
from rejoinder import cli
from rejoinder.augmentation.plan import AugmentationPlan
from rejoinder.cli.augment import command
from rejoinder.reports.output import render_report
from rejoinder.scoring.run import Plan, run
from rejoinder.types import Item, Reference, Response, Turn

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"
ITEMS = [
    Item(
        "=1",
        (Turn("Is it cold?", "Ann"),),
        (
            Reference("Yes."),
            Reference("-5 degrees, they say.", "retrieval", 2.5),
            Reference("I feel cold.", "commonsense/atomic", 0.5, "it is cold | oReact | cold"),
        ),
    ),
    Item(
        "two", (Turn("And, well,\nnow?"),), (Reference('\'Tis done; "all" of it.', "paraphrase", None, "It is done."),)
    ),
]
Call = Callable[..., str]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """The command in a folder of its own; what it printed, or its one line of error."""
    monkeypatch.chdir(tmp_path)

    def called(*given: str, fails: bool = False) -> str:
        floor = [] if "--least-aptness" in given else ["--least-aptness", "0"]  # aptness of every text takes a minute
        monkeypatch.setattr(sys, "argv", ["rejoinder", "augment", *given, *floor])
        if not fails:
            cli.main()
            found = capsys.readouterr()
            return found.out + found.err
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 2
        said = capsys.readouterr().err
        assert "Traceback" not in said
        return said.splitlines()[-1]

    return called


def items(path: str) -> dict[str, Item]:
    return rejoinder.read(path).items


def test_the_example_file_gets_references_without_torch_network_or_corpus(call: Call) -> None:
    said = call(str(CHATS), "-o", "out.jsonl", "--no-comet", "--paraphrase", "rewording")
    before, after = rejoinder.read(CHATS), rejoinder.read("out.jsonl")
    assert "48 of 48 items got 20 references." in said
    assert "17 dialogues of the file itself are searched" in said
    assert after.responses == before.responses
    assert after.ratings == before.ratings
    for name, item in after.items.items():
        old = before.items[name].references
        assert item.references[: len(old)] == old
        assert len(item.references) >= 15
        assert {r.source for r in item.references[len(old) :]} == {"retrieval", "paraphrase"}
        assert all(r.origin for r in item.references if r.source == "paraphrase")
    first = Path("out.jsonl").read_bytes()
    call(str(CHATS), "-o", "out.jsonl", "--no-comet", "--paraphrase", "rewording")
    assert Path("out.jsonl").read_bytes() == first


def test_what_was_left_out_is_said_with_the_command_that_brings_it(call: Call) -> None:
    said = call(str(CHATS), "-o", "out.jsonl", "-k", "3")
    assert "comet was left out: it needs" in said


def test_the_report_says_which_reference_was_matched_and_where_it_came_from(call: Call, tmp_path: Path) -> None:
    rejoinder.write(
        [*ITEMS, Response("r", "=1", "bot", "I feel so cold."), Response("s", "two", "bot", "It is done.")], "x.jsonl"
    )
    finished = run(["x.jsonl"], Plan.of(["bleu(n=1)"], matched=True), tmp_path / "run")
    page = render_report(finished.folder, "html")
    assert "nearest reference <small>(commonsense/atomic, from: <bdi>it is cold | oReact | cold</bdi>)" in page
    assert "Where the matched references come from" in page
    text = render_report(finished.folder, "csv")
    assert "bleu(n=1),1,1" in text
    plain = run(["x.jsonl"], Plan.of(["bleu(n=1)"]), tmp_path / "plain")
    assert "nearest reference" not in render_report(plain.folder, "html")
    assert "matched references" not in render_report(plain.folder, "csv")


# Reviews.


@pytest.fixture
def review(call: Call) -> Callable[..., None]:
    """A review file of the items, filled in by decisions (and edits) in order."""
    rejoinder.write(ITEMS, "items.jsonl")
    call("items.jsonl", "-k", "0", "--review", "review.csv", "-o", "copy.jsonl")
    assert items("copy.jsonl") == items("items.jsonl")

    def filled(*decisions: str | tuple[str, str], change: Callable[[list[dict[str, str]]], None] | None = None) -> None:
        with Path("review.csv").open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        for row, one in zip(rows, decisions, strict=True):
            row["decision"], row["edited"] = one if isinstance(one, tuple) else (one, "")
        if change is not None:
            change(rows)
        text = io.StringIO()
        table = csv.DictWriter(text, rows[0])
        table.writeheader()
        table.writerows(rows)
        Path("review.csv").write_text(text.getvalue(), encoding="utf-8", newline="")

    return filled


def test_a_review_has_one_row_a_reference_that_no_person_wrote(review: Callable[..., None]) -> None:
    with Path("review.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["item"], row["reference"], row["source"]) for row in rows] == [
        ("'=1", "2", "retrieval"),
        ("'=1", "3", "commonsense/atomic"),
        ("two", "1", "paraphrase"),
    ]
    assert rows[0]["text"] == "'-5 degrees, they say."  # else a spreadsheet computes it
    assert rows[0]["context"] == "Ann: Is it cold?"
    assert rows[1]["origin"] == "it is cold | oReact | cold"
    assert {row["decision"] + row["edited"] for row in rows} == {""}


def test_what_people_decided_is_done(call: Call, review: Callable[..., None]) -> None:
    review("Accept ", "reject", ("edit", "'Tis all done."))
    said = call("items.jsonl", "--reviewed", "review.csv", "-o", "final.jsonl")
    assert "1 references accepted, 1 edited, 1 rejected" in said
    found = items("final.jsonl")
    assert found["=1"].references == ITEMS[0].references[:2]
    assert found["two"].references == (Reference("'Tis all done.", "human-edited", None, ITEMS[1].references[0].text),)


def test_a_spreadsheet_may_write_semicolons_and_other_line_ends(call: Call, review: Callable[..., None]) -> None:
    review("accept", "accept", "accept")
    with Path("review.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    with Path("review.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=";", lineterminator="\r\n").writerows([*rows, [""] * len(rows[0])])
    call("items.jsonl", "--reviewed", "review.csv", "-o", "final.jsonl")
    assert items("final.jsonl") == items("items.jsonl")


@pytest.mark.parametrize(
    ("decisions", "change", "error"),
    [
        (
            ["accept", "maybe", "accept"],
            None,
            "review.csv line 3: has the decision 'maybe'; known: accept, edit, reject",
        ),
        (["accept", "acept", "accept"], None, "line 3: has the decision 'acept'; did you mean 'accept'"),
        (["accept", "", "accept"], None, "line 3: has no decision; write accept, edit or reject"),
        (["accept", "edit", "accept"], None, "line 3: has the decision edit but no text under 'edited'"),
        (["accept", ("reject", "x"), "accept"], None, "line 3: has the decision reject but also a text under 'edited'"),
        (["accept"] * 3, lambda rows: rows.pop(1), "review.csv: has no row for reference 3 of item '=1' ('I feel"),
        (["accept"] * 3, lambda rows: rows.append(rows[0]), "reference 2 of item '=1' already has a decision in"),
        (
            ["accept"] * 3,
            lambda rows: rows.append({**rows[0], "item": "three"}),
            "the input has no generated reference 2 of item 'three'",
        ),
        (
            ["accept"] * 3,
            lambda rows: rows.append({**rows[0], "reference": "1"}),  # a person wrote that one
            "the input has no generated reference 1 of item '=1'",
        ),
        (
            ["accept"] * 3,
            lambda rows: rows[1].update(text="I am cold."),
            "is 'I feel cold.', not 'I am cold.'; restore 'text' and write the new text under 'edited'",
        ),
        (["accept"] * 3, lambda rows: rows[1].update(reference="x"), "has 'x' instead of the number of a reference"),
        (
            ["accept"] * 3,
            lambda rows: [row.pop("decision") for row in rows],
            "line 1: the header must have the column 'decision' once",
        ),
    ],
)
def test_an_odd_review_is_an_error_that_says_what_to_do(
    call: Call,
    review: Callable[..., None],
    decisions: list[str],
    change: Callable[[list[dict[str, str]]], None] | None,
    error: str,
) -> None:
    review(*decisions, change=change)
    assert error in call("items.jsonl", "--reviewed", "review.csv", "-o", "final.jsonl", fails=True)
    assert not Path("final.jsonl").exists()


def test_a_review_that_is_no_csv_in_utf_8_is_an_error(call: Call) -> None:
    rejoinder.write(ITEMS, "items.jsonl")
    for content, error in (
        (b"", "review.csv: is empty"),
        ("item,text\n\xe9".encode("latin-1"), "review.csv: not UTF-8 at byte 11; save it as CSV UTF-8"),
        (b'item,reference,text,decision,edited\nx,"1,a', "review.csv line 2: cannot be read as a row"),
        (b"item,reference,text,decision,edited\nx,1", "line 2: has 2 cells, but the header has 5"),
    ):
        Path("review.csv").write_bytes(content)
        assert error in call("items.jsonl", "--reviewed", "review.csv", "-o", "final.jsonl", fails=True)
    assert "review.csv: no such file" not in call("items.jsonl", "--reviewed", "review.csv", "-o", "o", fails=True)
    assert "none.csv: no such file" in call("items.jsonl", "--reviewed", "none.csv", "-o", "o", fails=True)


# Odd inputs.


def test_options_that_cannot_go_together_are_errors(call: Call) -> None:
    rejoinder.write(ITEMS, "items.jsonl")
    said = call("items.jsonl", "--reviewed", "r.csv", "--paraphrase", "rewording", fails=True)
    assert "--reviewed proposes nothing" in said
    assert "cannot both be written to 'x'" in call("items.jsonl", "--review", "x", "-o", "x", fails=True)
    assert "did you mean 'rewording'" in call("items.jsonl", "--paraphrase", "rewordin", "-o", "o", fails=True)
    assert "did you mean 'dense'" in call("items.jsonl", "--retrieval", "dens", "-o", "o", fails=True)


def test_a_file_without_items_and_one_with_an_empty_reference_are_errors(call: Call) -> None:
    Path("d.jsonl").write_text('{"id": "d", "turns": ["Hello."]}\n')
    assert "d.jsonl: has no items; make some" in call("d.jsonl", "-o", "out.jsonl", fails=True)
    Path("e.jsonl").write_text('{"id": "i", "context": ["Hello."], "references": [""]}\n')
    assert "e.jsonl line 1: 'text' of a reference is empty" in call("e.jsonl", "-o", "out.jsonl", fails=True)
    assert not Path("out.jsonl").exists()


def test_a_corpus_and_a_broken_knowledge_file_by_name(call: Call) -> None:
    rejoinder.write(ITEMS, "items.jsonl")
    Path("d.jsonl").write_text(
        '{"id": "d", "turns": ["Is it very cold?", "It is freezing.", "Oh."], "split": "train"}\n'
    )
    Path("k.tsv").write_text("personx is cold\toWant\tto get warm\nbroken\n")
    given = ("items.jsonl", "-o", "out.jsonl", "--corpus", "d.jsonl", "--no-comet", "--knowledge", "k.tsv")
    assert "k.tsv line 2: is not a triple" in call(*given, fails=True)
    said = call(*given, "--skip-broken", "--split", "train")
    assert "k.tsv: 1 unreadable line was left out" in said
    assert "0 of 2 items got 20 references." in said
    assert "got fewer: the sources have no more proposals for them." in said
    assert "It is freezing." in [r.text for r in items("out.jsonl")["=1"].references]
    said = call(*given, "--skip-broken", "--split", "test", fails=True)
    assert "no passage of the index belongs to the split 'test'; known: train" in said


def test_a_text_that_is_not_apt_is_no_reference_unless_asked_for(call: Call, tmp_path: Path) -> None:
    said = [
        "Is the pool open today?",
        "Yes, it opens at seven.",
        "My cat eats purple numbers.",
        "Seven is early for me.",
    ]
    turns = [{"speaker": "AB"[i % 2], "text": text} for i, text in enumerate(said)]
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"kind": "dialogue", "id": "d", "turns": turns}) + "\n")
    item = {"kind": "item", "id": "i", "context": [{"speaker": "A", "text": "When does the pool open today?"}]}
    (tmp_path / "items.jsonl").write_text(json.dumps(item) + "\n")
    given = ("items.jsonl", "-o", "out.jsonl", "--corpus", "corpus.jsonl", "--no-comet", "-k", "4")
    shown = call(*given, "--least-aptness", "0")
    assert "dropped" not in shown
    everything = {r.text for r in items("out.jsonl")["i"].references}
    assert "My cat eats purple numbers." in everything
    shown = call(*given, "--least-aptness", "0.5")  # the default, as the help says
    remaining = {r.text for r in items("out.jsonl")["i"].references}
    assert "My cat eats purple numbers." not in remaining
    assert "Yes, it opens at seven." in remaining
    n = len(everything) - len(remaining)
    assert f"{n} proposals were dropped, since their aptness is below 0.5; --least-aptness 0 keeps all." in shown
    default = next(one for one in command.params if one.name == "least_aptness").default
    assert default == AugmentationPlan().least_aptness == 0.5


def test_it_works_where_there_is_no_torch(call: Call) -> None:
    hide = "import sys; sys.modules.update(torch=None, transformers=None); sys.argv[0] = 'rejoinder'"
    code = f"{hide}; import rejoinder.cli; rejoinder.cli.main()"
    given = [sys.executable, "-c", code, "augment", str(CHATS), "-o", "out.jsonl", "-k", "15", "--least-aptness", "0"]
    done = subprocess.run(given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'comet was left out: it needs torch; install it with: pip install "rejoinder[torch]"' in done.stderr
    assert "48 of 48 items got 15 references." in done.stdout
    for option in (["--comet"], ["--adapt", "3"]):
        failed = subprocess.run([*given, *option], capture_output=True, text=True, check=False)
        assert failed.returncode == 2, failed.stderr
        assert "Traceback" not in failed.stderr
