"""Commands that a cluster computes: small made-up data, what is asked of it, and what comes out, byte by byte."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.synthetic import records
from rejoinder.data.reader import stream
from rejoinder.data.writer import write
from rejoinder.types import Candidate, Dialogue, Item, Question, Record, Response, Turn

EXAMPLES = Path(__file__).parent.parent / "examples" / "chats.jsonl"
METRICS = ("bleu", "chrf", "aptness(model='bi')")
_KNOWN = "personx~asks~persony~for~help\t{}\t{}\n"


@dataclass(frozen=True)
class Case:
    """A command without its output and its engine; how its output is named."""

    name: str
    args: tuple[str, ...]
    output: str

    def command(self, folder: Path, engine: Sequence[str]) -> list[str]:
        """The whole command, with its output in a folder."""
        out = str(folder / self.output)
        named = [self.args[0], out, *self.args[1:]] if self.args[0] == "build" else [*self.args, "-o", out]
        return [*named, *engine]


def cases(data: Path) -> dict[str, Case]:
    """Every long command, by name."""
    metrics = [part for spec in METRICS for part in ("-m", spec)]
    talks = str(data / "talks.jsonl")
    augment = "--no-comet -k 5 --corpus".split()
    build = "--second model --context-turns 1 --false 2 --pool 8 --source bm25(query='reply') --from".split()
    found = [
        Case("score shards", ("score", str(data / "shards"), *metrics), "run"),
        Case("score one file", ("score", str(data / "one.jsonl"), "--no-cache", *metrics), "run"),
        Case(
            "augment",
            ("augment", str(data / "items.jsonl"), *augment, talks, "--knowledge", str(data / "known.tsv")),
            "items.jsonl",
        ),
        Case("build", ("build", *build, talks, "--repository", talks), "set.jsonl"),
        Case("select", ("select", str(data / "questions.jsonl"), "--system", "aptness", "--order-checks", "2"), "run"),
        Case("attack", ("attack", talks, "-m", "aptness(model='bi')", "--contexts", "60"), "attack.json"),
        Case("index", ("index", "build", str(data / "talks"), "--kind", "dense"), "index"),
    ]
    return {case.name: case for case in found}


def write_data(folder: Path, shards: int = 6, items: int = 20) -> Path:
    """What the commands read: so many shards with so many items, each answered by two systems."""
    (folder / "shards").mkdir(parents=True)
    (folder / "talks").mkdir()
    every: list[Record] = []
    for shard in range(shards):
        mine = [_of_shard(record, shard) for record in records(items, systems=2, references=2, seed=shard)]
        write(mine, folder / "shards" / f"{shard:03}.jsonl")
        every += mine
    write(every, folder / "one.jsonl")
    write([record for record in every if isinstance(record, Item)], folder / "items.jsonl")
    talks = _talks()
    write(talks, folder / "talks.jsonl")
    for part in range(3):
        write(talks[part::3], folder / "talks" / f"{part}.jsonl")
    write([_question(n, talk) for n, talk in enumerate(talks)], folder / "questions.jsonl")
    relations = (("owant", "to~help~personx"), ("oeffect", "gets~a~tool~and~helps~personx"), ("xwant", "to~thank"))
    (folder / "known.tsv").write_text("".join(_KNOWN.format(*relation) for relation in relations))
    return folder


def outputs(folder: Path) -> dict[str, str]:
    """The digest of every file that a command wrote, but of times."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    shown = [path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(shown)
        if path.name != "timings.json"
    }


def _talks() -> list[Dialogue]:
    """The example chats with every reference as a reply."""
    items = (record for record in stream(EXAMPLES) if isinstance(record, Item))
    return [
        Dialogue(f"{item.id}-{n}", (*item.context, Turn(reference.text, "assistant")))
        for item in items
        for n, reference in enumerate(item.references)
    ]


def _question(n: int, talk: Dialogue) -> Question:
    *context, reply = talk.turns
    candidates = (Candidate(reply.text, grade="true"), Candidate(f"I do not know {n}.", grade="false"))
    return Question(f"q{n}", tuple(context), candidates)


def _of_shard(record: Record, shard: int) -> Record:
    """A record with names of its shard."""
    if isinstance(record, Item):
        return dataclasses.replace(record, id=f"{shard}-{record.id}", dialogue=f"{shard}-{record.dialogue}")
    if isinstance(record, Response):
        return dataclasses.replace(record, id=f"{shard}-{record.id}", item=f"{shard}-{record.item}")
    return record
