"""Small valid inputs for every command that reads a file; their texts are made up here."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from rejoinder import cli
from rejoinder.data.inputs.seeds import Seed, write_seeds
from rejoinder.data.writer import write
from rejoinder.types import (
    Candidate,
    Dialogue,
    Item,
    Preference,
    Question,
    Rating,
    Record,
    Reference,
    Response,
    Statement,
    Turn,
)  # fmt: skip

META: dict[str, Any] = {
    "deep": {"list": [1, [2, [3, {"end": None}]]], "empty": {}, "": "no key"},
    "numbers": [0, -0.0, 1e300, -1e-300, 2**53, True],
    "text": 'tab\t, line\n, quote ", nul \x00, escape \x1b[31m, turn \u202e, face 👍',
}
_THINGS = ("window", "tea", "garden", "piano", "letter", "bicycle", "carpet", "ladder", "candle", "basket")


_SHAPES = Path(__file__).parents[2] / "tests" / "shapes"


class Ending(NamedTuple):
    """How a command ended: its status, both streams, and the traceback of what it did not catch."""

    status: int | None
    out: str
    err: str
    crash: str = ""


def run(argv: Sequence[str], text: bytes = b"") -> Ending:
    """A command in this process, as its console script runs it, with a text on standard input."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", newline=""), io.StringIO()
    crash, status = "", None
    with (
        mock.patch.object(sys, "argv", ["rejoinder", *argv]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), "utf-8")),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        except Exception:
            crash = traceback.format_exc(limit=-4)
    out.flush()
    shown = out.buffer.getvalue().decode("utf-8", "replace")
    return Ending(status, shown, err.getvalue(), crash)


def chats() -> list[Record]:
    """Items, replies of two systems, ratings by two people in two aspects, and preferences."""
    records: list[Record] = []
    for i, thing in enumerate(_THINGS[:6]):
        name = f"i{i}"
        context = (Turn(f"Is the {thing} ready today?", "user"), Turn("Let me look.", "assistant"))
        references = (Reference(f"Yes, the {thing} is ready."), Reference("Not before nine.", "example", 0.5, "x"))
        situation = (Statement(f"The {thing} stands nearby.", "environment", True),)
        records.append(
            Item(
                name,
                context,
                references,
                (Turn("Great 👍"),),
                situation,
                f"d{i // 2}",
                meta={**META, "goal": "to rest"},
            )
        )
        for n, system in enumerate(("a", "b")):
            text = (f"Yes, the {thing} is ready since {i}.", f"I like the {thing}, and nine of {i} do.")[n]
            records.append(Response(f"{name}/{system}", name, system, text, META))
            for rater in ("ann", "bob"):
                records.append(Rating(rater, "apt", float(1 + (i + n) % 5), f"{name}/{system}", meta=META))
                records.append(Rating(rater, "kind", float(1 + (i * n) % 5), f"{name}/{system}"))
        choice = ("first", "second", "tie")[i % 3]
        records.append(Preference(name, f"{name}/a", f"{name}/b", "ann", choice, meta=META))  # type: ignore[arg-type]
    return records


def dialogues() -> list[Dialogue]:
    """Dialogues of three speakers who meet again, in every split."""
    made: list[Dialogue] = []
    for i in range(12):
        speakers = (("Ann", "Bob"), ("Bob", "Cleo"), ("Ann", "Cleo"))[i % 3]
        said = (f"Do you see the {_THINGS[(i + j) % 10]} number {i}?" if j % 2 else f"Bring me the {_THINGS[j]} {i}."
                for j in range(6))  # fmt: skip
        turns = tuple(Turn(text, speakers[j % 2]) for j, text in enumerate(said))
        made.append(Dialogue(f"t{i}", turns, "talks", ("train", "train", "valid", "test")[i % 4], META))
    return made


def questions() -> list[Question]:
    """Questions with graded candidates, labels and a situation."""
    made: list[Question] = []
    for i, thing in enumerate(_THINGS[:6]):
        situation = tuple(
            Statement(f"The {other} is {n} metres away.", "environment", n < 2) for n, other in enumerate(_THINGS[:4])
        )
        made.append(
            Question(
                f"q{i}",
                (Turn(f"Please bring the {thing}.", "user"),),
                (
                    Candidate(f"Here is the {thing}.", "c0", "true", "human"),
                    Candidate("I was there yesterday.", "c1", "false", "bm25", ("wrong-tense",), META),
                    Candidate(f"She has no {_THINGS[i + 1]}.", "c2", "false", "random"),
                ),
                situation,
                f"d{i}",
                "test",
                {**META, "goal": "to rest"},
            )
        )
    return made


def graded() -> list[Question]:
    """The same questions with the grades of situated sets."""
    grades = ("Best", "Acceptable", "Bad")
    return [
        Question(q.id, q.context, tuple(Candidate(c.text, c.id, grades[n]) for n, c in enumerate(q.candidates)),
                 q.situation, q.dialogue, q.split, q.meta)
        for q in questions()
    ]  # fmt: skip


def seeds() -> list[Seed]:
    """Seeds of a situated set."""
    return [
        Seed(f"s{i}", f"Please bring the {thing}.", f"to enjoy the {thing}", f"Shall I fetch another {thing}?",
             (Statement(f"The {thing} is old.", "environment", True), Statement(f"Owns {i}.", "possession", True)),
             "yes" if i % 2 else "no")
        for i, thing in enumerate(_THINGS)
    ]  # fmt: skip


_PROJECT = """\
name = "chats"
title = "How good?"
form = "rate"
data = ["chats.jsonl"]
instructions = "Read, then answer."
raters_per_unit = 2
seed = 8

[[aspects]]
name = "apt"
question = "How apt?"
anchors = { 1 = "not at all", 5 = "very" }

[exercise]
needed = 1
attempts = 2

[[exercise.questions]]
context = [{ speaker = "user", text = "My tyre is flat." }]
reply = "Bring it in before four."
answer = { apt = [4, 5] }
explanation = "It helps."

[checks]
every = 10

[[gold]]
of = "i0/a"
answer = { apt = [1, 2] }
"""
_RUBRIC = (
    'rate = "Say how apt the reply is."\nscale = { low = 1, high = 5 }\nanchors = { 1 = "not at all", 5 = "very" }\n'
)
_KEYWORDS = 'discard = ["midnight"]\nnegations = ["not", "never"]\n[[exclude]]\nwords = [["hot"], ["cold"]]\n'
_ATOMIC = "".join(f"PersonX brings the {thing}\toWant\tto use the {thing}\n" for thing in _THINGS)
_TEXTS = {
    "table.csv": 'id,context,response,system,good,score\n1,"Hello,\n\nyou",Yes.,a,No.,3\n2,Hi,Yo.,b,,\n3,=1,-x,a,b,2\n',
    "table.tsv": "id\tcontext\tresponse\tsystem\tgood\tscore\n1\tHello\tYes.\ta\tNo.\t3\n2\tHi\tYo.\tb\t\t\n",
    "daily.txt": "Hello , you ! __eou__ Hi . __eou__ Tea ? __eou__\nBye ! __eou__ So long . __eou__\n",
    "parlai.txt": "text:a\\nb\tlabels:c|d\nid:x\ttext:e\tlabels:f\tepisode_done:True\ntext:g\tlabels:h\n",
    "utterances.txt": "".join(f"Where is the {thing}?\nThe {thing} is mine.\n" for thing in _THINGS),
    "project.toml": _PROJECT,
    "rubric.toml": _RUBRIC,
    "keywords.toml": _KEYWORDS,
    "atomic.tsv": _ATOMIC,
    "ratings.csv": "response,rating,probability\ni0/a,4,0.5\ni1/b,2,0.5\ni1/a,3,0.5\ni2/a,1,0.5\n",
    "said.csv": "task,worker,label\ni0/a,ann,4\ni1/b,bob,2\n",
}
_OPENAI: list[Any] = [
    {
        "id": f"c{i}",
        "model": "ab"[i % 2],
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "Hello!"}]},
            {"role": "assistant", "content": f"Good day, {i}."},
            {"role": "user", "content": "Tea?", "name": "ann"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "t", "function": {"name": "f"}}]},
            {"role": "tool", "content": "hot"},
            {"role": "assistant", "content": "Yes, hot."},
        ],
        "metadata": META,
        "rating": 4,
    }
    for i in range(3)
]
_ROWS: list[Any] = [
    {"context": ["Hello!", {"speaker": "A", "text": "Hi."}], "response": f"Yes {i}.", "system": "ab"[i % 2],
     "good": ["No."], "score": [1, 2.5], "who": "ann", "dialogue": "d", "id": i, "meta": META}
    for i in range(3)
]  # fmt: skip
_DSTC10: list[Any] = [
    {"context": "User: a\nSystem: b", "response": "c", "model": "m", "reference": ["d"], "annotations": {"x": [1, 2]}},
    {"context": "a", "fact": "f", "annotators": ["r"], "responses": [{"response": "b", "model": "m", "Fun": [1]}]},
]
_UTTERANCES: list[Any] = [
    {"id": str(i), "conversation_id": "0", "speaker": "st"[i % 2], "reply-to": str(i - 1) if i else None,
     "text": f"Hello {i}!", "meta": META}
    for i in range(4)
]  # fmt: skip


def _lines(values: Sequence[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


_MADE = (
    "score chats.jsonl -m bleu -m length -o run --processes 1 --no-cache",
    "score chats.jsonl -m bleu -m length -m rouge_l -o old --processes 1 --no-cache",
    "select questions.jsonl --system tfidf -o selected",
    "index build dialogues.jsonl -o index",
    "shards write dialogues.jsonl -o shards --form jsonl --records 30",
    "shards write chats.jsonl -o parquet-shards --records 30",
    "shards write chats.jsonl -o chats.parquet",
    "label questions.jsonl --for-people labels.csv",
    "augment chats.jsonl --corpus dialogues.jsonl --no-comet -k 2 -o more.jsonl --review review.csv",
    "build set.jsonl --from dialogues.jsonl --repository utterances.txt --source bm25(query='reply') --judge-with none "
    "--pool 4 --write-csv sheet.csv",
    "annotate project.toml --import crowdkit --file said.csv",
    "situate build seeds.jsonl -o situated.jsonl --rounds 0 --statements 2",
    "situate project grade situated.jsonl -o grading.toml --write-csv grades.csv",
)


def make_inputs(folder: Path) -> None:
    """Write every input into a folder, some of them by commands."""
    records: dict[str, Sequence[Record]] = {
        "chats.jsonl": chats(), "dialogues.jsonl": dialogues(), "questions.jsonl": questions(),
        "graded.jsonl": graded(),
        "held.jsonl": [replace(one, id=f"h{one.id}") for one in graded()],
        "later.jsonl": [replace(one, id=f"l{one.id}") for one in dialogues()],
    }  # fmt: skip
    for name, of in records.items():
        write(of, folder / name)
    write_seeds(seeds(), folder / "seeds.jsonl")
    (folder / "corpus").mkdir()
    shutil.copytree(_SHAPES, folder / "shapes")
    texts = {**_TEXTS, "openai.jsonl": _lines(_OPENAI), "rows.jsonl": _lines(_ROWS), "dstc10.json": json.dumps(_DSTC10)}
    for name, text in {**texts, "corpus/utterances.jsonl": _lines(_UTTERANCES)}.items():
        (folder / name).write_text(text, encoding="utf-8")
    with inside(folder):
        for words in _MADE:
            ended = run(words.split())
            if ended.status != 0:
                raise RuntimeError(f"{words}: ended with {ended.status}: {ended.err}{ended.crash}")
    _fill_in(folder)
    _write_arrow(folder)


def _fill_in(folder: Path) -> None:
    """Answer the sheets as people would."""
    answers: dict[str, Callable[[list[str]], list[str]]] = {
        "sheet.csv": lambda row: (
            ["5", "4", "5", "", ""] if row[3].startswith("Do you see") else ["1", "2", "1", "", ""]
        ),
        "grades.csv": lambda row: ["2", "2", "2"] if row[0] == row[1] else ["0", "0", "1"],
        "review.csv": lambda row: ["accept", ""],
    }
    for name, answer in answers.items():
        text = (folder / name).read_text(encoding="utf-8-sig")
        heads, *rows = csv.reader(io.StringIO(text, newline=""))
        out = io.StringIO(newline="")
        filled = [[*row[: -len(answer(row))], *answer(row)] for row in rows]
        csv.writer(out).writerows([heads, *filled])
        (folder / name).write_text(out.getvalue(), encoding="utf-8-sig", newline="")


def _write_arrow(folder: Path) -> None:
    """The rows of a table as Parquet, and as a dataset that was saved to disk."""
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({key: [row[key] for row in _ROWS] for key in ("response", "system", "good", "score", "id")})
    table = table.append_column("context", pyarrow.array([["Hello!", "Hi."]] * len(_ROWS)))
    parquet.write_table(table, folder / "table.parquet")
    (folder / "saved").mkdir()
    with (
        pyarrow.OSFile(str(folder / "saved" / "data.arrow"), "wb") as sink,
        pyarrow.ipc.new_stream(sink, table.schema) as out,
    ):
        out.write_table(table)
    (folder / "saved" / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, with a cache and no published sets of its own."""
    before = os.getcwd()
    own = {"REJOINDER_CACHE": str(folder.parent / "cache"), "REJOINDER_DATA": str(folder)}
    os.chdir(folder)
    try:
        with mock.patch.dict(os.environ, own):
            yield
    finally:
        os.chdir(before)
