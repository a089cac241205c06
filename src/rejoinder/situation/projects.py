"""The human steps of SUGAR as projects of the annotation page: 2 and 5 (situations), 3 and 4 (replies), 8 (grades)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rejoinder.annotation.form import FORMS
from rejoinder.annotation.unit import FormName
from rejoinder.data.inputs import DATASET, read
from rejoinder.data.inputs.seeds import Seed, read_seeds, request_and_goal
from rejoinder.data.reader import InputFile, decode_json_line, stream
from rejoinder.data.schema import from_object
from rejoinder.data.writer import write
from rejoinder.errors import InputError, brief
from rejoinder.files import atomic_write
from rejoinder.types import Item, Question, Reference, Statement, Turn


def read_situation_requests(*names: str | Path) -> list[Item]:
    """Return an item for each request: its text as the context, the goal in its meta, and nothing else."""
    items: dict[str, Item] = {}
    for name in names:
        for where, id, request, goal in _read_requests(str(name)):
            if id in items:
                raise InputError(f"{where}: the id {id!r} is used twice; give each request its own")
            items[id] = Item(id, (Turn(request, "user"),), meta={"goal": goal})
    return list(items.values())


def _read_requests(name: str) -> Iterator[tuple[str, str, str, str]]:
    for line in InputFile(name).lines():
        fields, where = decode_json_line(line), str(line.place)
        if isinstance(fields, dict) and "request" in fields:
            texts = [
                str(fields[key]) if type(fields.get(key)) is int else fields.get(key)
                for key in ("id", "request", "goal")
            ]
            for key, text in zip(("id", "request", "goal"), texts, strict=True):
                if not isinstance(text, str) or not text.strip():
                    raise InputError(f"{where}: '{key}' must be a non-empty text, found {brief(text)}")
            yield where, str(texts[0]), str(texts[1]), str(texts[2])
            continue
        record = from_object(fields, line.place)
        if isinstance(record, Item | Question):
            yield where, record.id, *request_and_goal(record, where)


@dataclass(frozen=True)
class SituationStep:
    """A step that people do: its number in the paper, the form, and the instructions."""

    number: int
    form: FormName
    title: str
    instructions: str


STEPS: dict[str, SituationStep] = {
    "situation": SituationStep(
        2,
        "situation",
        "What is the situation?",
        "You see what somebody asks an assistant for, and the goal behind it, which is not spoken. Write what could be "
        "seen or measured that would let you guess the goal: facts such as 'The room is hot.', not feelings. Write "
        "[user] for the person. Leave a field empty if nothing fits.",
    ),
    "write": SituationStep(
        3,
        "write",
        "What would a helpful assistant say?",
        "You see a request and the goal behind it. Write two replies: one that does what is asked and one that says "
        "why that is not possible. Each must suggest something else that helps with the goal. Do not ask for details "
        "of the request itself.",
    ),
    "validate": SituationStep(
        4,
        "validate",
        "Does the reply help?",
        "You see a request, the goal behind it and a reply. Say whether the reply suggests or asks for something new, "
        "and whether that helps with the goal.",
    ),
    "complete": SituationStep(
        5,
        "situation",
        "In what situation does this reply fit?",
        "You see a request, the goal behind it and a reply. The fields hold facts that were written before: keep those "
        "that are right, correct or delete the others, and add what the reply takes for granted. Facts must be things "
        "that could be seen or measured. Write [user] for the person.",
    ),
    "grade": SituationStep(
        8,
        "grade",
        "Which reply fits the situation?",
        "You see a request, what is known about the situation (most of it does not matter) and some replies. For each "
        "reply, say whether it is bad here, acceptable, or the best. Several may be best, or none.",
    ),
}


def write_step_project(step: str, files: Sequence[str], path: str | Path) -> int:
    """Write PROJECT.toml (and PROJECT.jsonl, if the step needs new data), and return how many records it shows."""
    path, spec = Path(path), STEPS[step]
    if path.suffix != ".toml":
        raise InputError(f"{path}: is not a .toml file; a project's name must end in .toml")
    if not files:
        raise InputError(f"no file is named for the step {step!r}; name at least one")
    if step in ("situation", "write", "complete"):
        items = collect_replied_items(files) if step == "complete" else read_situation_requests(*files)
        if not items:
            raise InputError(f"{', '.join(files)}: no requests with a goal")
        data_files, count = [str(path.with_suffix(".jsonl"))], len(items)
        write(items, data_files[0])
    else:
        data_files, count = list(files), sum(read(*files).counts().values())
    data = [_relative_path(name, path.parent) for name in data_files]
    lines = [
        f'form = "{spec.form}"',
        f"data = {json.dumps(data)}",
        f"title = {json.dumps(spec.title)}",
        f"raters_per_unit = {FORMS[spec.form].raters_per_unit}",
        f"instructions = {json.dumps(spec.instructions)}",
    ]
    with atomic_write(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
    return count


def _relative_path(name: str, folder: Path) -> str:
    return name if name.startswith(DATASET) else os.path.relpath(name, folder).replace(os.sep, "/")


def collect_replied_items(files: Sequence[str]) -> list[Item]:
    """Return an item for each request and reply, with its statements: from seeds, or from steps 2 and 4.

    Items with one id are merged: one file may have the replies (of step 4) and another the statements (of step 2).
    """
    items: dict[str, Item] = {}
    seeds: list[Seed] = []
    for file in files:
        if _holds_items(file):
            for record in stream(file, allow_empty=True):
                if isinstance(record, Item):
                    items[record.id] = _merge_items(items.get(record.id), record)
        else:
            seeds += read_seeds(file)
    replied = (item for item in items.values() if item.references)
    return [*(one for item in replied for one in _split_by_reply(item)), *map(seed_to_item, seeds)]


def seed_to_item(seed: Seed) -> Item:
    """Return a seed as an item: its reply as the reference, its statements as the situation."""
    meta = {"goal": seed.goal} | ({"polarity": seed.polarity} if seed.polarity else {})
    statements = tuple(Statement(one.text, one.category) for one in seed.statements)
    return Item(seed.id, (Turn(seed.request, "user"),), (Reference(seed.reply),), situation=statements, meta=meta)


def _holds_items(file: str) -> bool:
    if file.startswith(DATASET):
        return False
    first = decode_json_line(next(iter(InputFile(file).lines())))
    return isinstance(first, dict) and "request" not in first and "candidates" not in first


def _merge_items(before: Item | None, item: Item) -> Item:
    if before is None:
        return item
    return replace(
        before,
        references=tuple(dict.fromkeys((*before.references, *item.references))),
        situation=tuple(dict.fromkeys((*before.situation, *item.situation))),
        meta={**before.meta, **item.meta},
    )


def _split_by_reply(item: Item) -> list[Item]:
    """Return one item per reply, since each gets its own statements."""
    if len(item.references) == 1:
        return [item]
    return [replace(item, id=f"{item.id}/{n}", references=(one,)) for n, one in enumerate(item.references, start=1)]
