"""A folder with every file that the docs name, so that what they show can be typed there."""

from __future__ import annotations

import csv
import gzip
import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import orjson
from situated_seeds import seeds
from tiny_talks import talks

import rejoinder
from rejoinder.data.inputs.seeds import Seed
from rejoinder.data.objects import to_object
from rejoinder.scoring.run import Plan, run
from rejoinder.types import Candidate, Dialogue, Question, Statement, Turn

ROOT = Path(__file__).parent.parent
MINE = '''
"""A metric and two systems of one's own."""
from dataclasses import dataclass
from rejoinder import Metric

@dataclass(frozen=True)
class Mine(Metric):
    """How many letters a reply has, up to a hundred."""
    citation = "ours"
    def score(self, pairs):
        return [min(len(pair.response.text), 100) / 100 for pair in pairs]

def score(context, candidates):
    return [len(text) for text in candidates]

likes = score
'''
_LOGS = [
    {
        "id": f"log-{n}",
        "model": "bot",
        "messages": [{"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": f"Yes, until {n}."}],
    }
    for n in range(12)
]


def questions(n: int = 12) -> list[Question]:
    """Questions with a situation, graded."""
    return [
        Question(
            f"q{i}",
            (Turn(f"Could you open window {i}?", "user"),),
            (
                Candidate(f"Sure, I open window {i}.", grade="Best", source="reference"),
                Candidate("I like soup.", grade="Bad", source="random"),
                Candidate("Could you sing?", grade="Bad", source="bm25"),
                Candidate(f"My car is number {i}.", grade="Bad", source="bm25"),
            ),
            (Statement("The room is hot.", "environment", True), Statement("It is Tuesday.", "date", False)),
        )
        for i in range(n)
    ]


def write(path: Path, records: list[Any]) -> None:
    """Records as JSONL, gzip or not."""
    lines = b"".join(orjson.dumps(r if isinstance(r, dict) else to_object(r)) + b"\n" for r in records)
    path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)


def fill(folder: Path) -> None:
    """Put everything that the docs name onto the shelf."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for name in ("chats.jsonl", "ratings.jsonl"):
        shutil.copy(ROOT / "examples" / "chats.jsonl", folder / name)
    write(folder / "items.jsonl", _first_items(12))
    some = [d if i % 4 else Dialogue(d.id, d.turns, "friends", d.split) for i, d in enumerate(talks(48, turns=8))]
    for name in ("dialogues.jsonl", "dialogues.jsonl.gz", "logs.jsonl.gz", "my-dialogues.jsonl", "FILE"):
        write(folder / name, list(some))
    write(folder / "others.jsonl", [Dialogue(f"o{d.id}", d.turns, "others", d.split) for d in talks(40, seed=5)])
    write(folder / "more.jsonl", [Dialogue(f"m{d.id}", d.turns, "more", d.split) for d in talks(6, seed=7)])
    write(folder / "testset.jsonl", list(questions()))
    write(folder / "questions.jsonl", list(questions()))
    (folder / "talks").mkdir()
    for number in range(2):
        part = [Dialogue(f"{number}-{d.id}", d.turns, d.corpus, d.split) for d in talks(8, seed=11 + number)]
        write(folder / "talks" / f"{number}.jsonl", part)
    (folder / "logs").mkdir()
    (folder / "logs.jsonl").write_text("".join(json.dumps(log) + "\n" for log in _LOGS))
    shutil.copy(folder / "logs.jsonl", folder / "logs" / "one.jsonl")
    (folder / "mine.py").write_text(MINE)
    (folder / "rules.py").write_text("def asks_back(context, reply):\n    return reply.endswith('?')\n")
    (folder / "reply.json").write_text('{"type": "object"}')
    project = (ROOT / "examples" / "annotation" / "project.toml").read_text()
    (folder / "project.toml").write_text(project.replace("../chats.jsonl", "chats.jsonl"))
    (folder / "atomic.tsv").write_text("personx asks persony for help\toWant\tto help personx\n")
    (folder / "crawl-300d-2M.vec").write_text("2 3\nhello 1 2 3\nthere 3 2 1\n")
    (folder / "fasttext").mkdir()
    write(folder / "seeds.jsonl", [_seed(one) for one in seeds(12)])
    _tables(folder)
    _runs(folder)
    _pilot(folder)


def _first_items(n: int) -> list[dict[str, Any]]:
    """The first items of the example conversations, with their responses and ratings."""
    records = [to_object(record) for record in rejoinder.read(ROOT / "examples" / "chats.jsonl")]
    items = [record["id"] for record in records if record["kind"] == "item"][:n]
    responses = {record["id"] for record in records if record["kind"] == "response" and record["item"] in items}
    wanted = {"item": {*items}, "response": responses, "rating": responses}
    key = {"item": "id", "response": "id", "rating": "response"}
    return [record for record in records if record[key[record["kind"]]] in wanted[record["kind"]]]


def _tables(folder: Path) -> None:
    """Tables of replies, as people keep them."""
    (folder / "replies").mkdir(exist_ok=True)
    for name in ("old.csv", "new.csv", "replies/old.csv", "replies/new.csv"):
        (folder / name).write_text("prompt,response\nIs it open?,Yes.\nUntil when?,Until six.\n")
    openpyxl = importlib.import_module("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.create_sheet("Answers")
    for row in (("Frage", "Antwort", "model"), ("Is it open?", "Yes.", "bot")):
        sheet.append(row)
    book.save(folder / "survey.xlsx")


def _seed(one: Seed) -> dict[str, Any]:
    said = [{"text": statement.text, "category": statement.category} for statement in one.statements]
    return {"id": one.id, "request": one.request, "goal": one.goal, "reply": one.reply, "statements": said}


def _runs(folder: Path) -> None:
    """Finished runs under the names that pages give them."""
    run([folder / "chats.jsonl"], Plan.of(["aptness", "meteor"]), folder / "RUN")
    for name in ("runs/chats-088fbb28", "old", "OLD", "NEW"):
        shutil.copytree(folder / "RUN", folder / name)


def _pilot(folder: Path) -> None:
    """Ratings of two systems that are called mine and yours."""
    data = rejoinder.read(folder / "chats.jsonl")
    renamed = {"attentive": "mine", "plain": "yours"}
    records = [one for one in map(to_object, data) if one.get("aspect", "appropriate") == "appropriate"]
    for record in records:
        if record["kind"] == "response":
            record["system"] = renamed.get(record["system"], record["system"])
    write(folder / "pilot.jsonl", records)


def decide(path: Path) -> None:
    """Fill in a review sheet as a person would who accepts everything."""
    with path.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows([{**row, "decision": "accept"} for row in rows])
