"""Seeds of situated sets (SUGAR, section 3.2): read from files, or extracted from questions and items.

A question gives its context, the goal and the polarity of its meta, its reference and the statements that are relevant.
An item gives one seed per reference, with all statements that are not marked as irrelevant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.questions import CATEGORIES
from rejoinder.data.reader import InputFile, decode_json_line
from rejoinder.data.schema import Place, from_object
from rejoinder.errors import InputError, brief, nearest
from rejoinder.files import atomic_write
from rejoinder.types import Item, Question, Statement

REFERENCE = "reference"  # the source of the reply that was written for a request
_YES = re.compile(
    r"\W*(sure|of course|yes|yeah|absolutely|certainly|ok|okay|alright|no problem|got it)\b", re.IGNORECASE
)
_NO = re.compile(r"\W*(sorry|i'?m sorry|i am sorry|i'?m afraid|i am afraid|no|nope|unfortunately)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Seed:
    """A request u, its goal g, the reply r1 that was written for it, and the statements S1 that make it fit.

    The polarity says whether the reply does what was asked ("yes", "no"), or is None if that is unknown.
    """

    id: str
    request: str
    goal: str
    reply: str
    statements: tuple[Statement, ...] = ()
    polarity: str | None = None
    split: str | None = None


def extract_seeds(record: object, place: str) -> list[Seed]:
    """Return the seeds of a question or an item."""
    if isinstance(record, Question):
        return [_seed_from_question(record, f"{place}: question {record.id}")]
    if isinstance(record, Item):
        return _seeds_from_item(record, f"{place}: item {record.id}")
    kind = type(record).__name__.lower()
    raise InputError(f"{place}: expected a seed, a question or an item, found a {kind}; see docs/situating.md")


def reply_polarity(reply: str) -> str | None:
    """Return whether a reply begins with a yes or a no, or None if with neither."""
    if _YES.match(reply):
        return "yes"
    return "no" if _NO.match(reply) else None


def check_statement_category(category: object, where: str) -> str:
    """Return the category, which must be one of the six."""
    if category is None:
        raise InputError(f"{where}: a statement has no category; give one of: {', '.join(CATEGORIES)}")
    if category not in CATEGORIES:
        raise InputError(f"{where}: no category is called {brief(category)}; {nearest(str(category), CATEGORIES)}")
    return str(category)


def _seed_from_question(question: Question, where: str) -> Seed:
    references = [one for one in question.candidates if one.source == REFERENCE]
    if not references and len(question.candidates) == 1:
        references = list(question.candidates)
    if len(references) != 1:
        raise InputError(f"{where} has {len(references)} candidates with the source 'reference'; it must have one")
    if question.situation and all(one.relevant is None for one in question.situation):
        raise InputError(f"{where} does not say which statements are relevant; mark them, or leave its situation out")
    relevant = tuple(one for one in question.situation if one.relevant)
    return _make_seed(question, question.id, references[0].text, relevant, where, question.split)


def _seeds_from_item(item: Item, where: str) -> list[Seed]:
    if not item.references:
        raise InputError(f"{where} has no reference; a seed needs the reply that was written for the request")
    statements = tuple(one for one in item.situation if one.relevant is not False)
    names = [item.id] if len(item.references) == 1 else [f"{item.id}/{n}" for n in range(1, len(item.references) + 1)]
    return [
        _make_seed(item, name, one.text, statements, where) for name, one in zip(names, item.references, strict=True)
    ]


def _make_seed(
    record: Question | Item,
    name: str,
    reply: str,
    statements: tuple[Statement, ...],
    where: str,
    split: str | None = None,
) -> Seed:
    relevant = tuple(Statement(one.text, check_statement_category(one.category, where), True) for one in statements)
    return Seed(
        name, *request_and_goal(record, where), reply, relevant, _check_polarity(record.meta, reply, where), split
    )


def request_and_goal(record: Question | Item, where: str) -> tuple[str, str]:
    """Return the request (all turns of the context) and the goal, which is what the person wants."""
    if not record.context:
        raise InputError(f"{where} has no context; it needs a request")
    goal = record.meta.get("goal")
    if not isinstance(goal, str) or not goal.strip():
        raise InputError(f"{where} has no goal in its meta; add 'goal', what the person wants")
    return " ".join(turn.text for turn in record.context), goal


def _check_polarity(meta: Any, reply: str, where: str) -> str | None:
    polarity = meta.get("polarity")
    if polarity is not None and not isinstance(polarity, str):
        raise InputError(f"{where} has the polarity {brief(polarity)}; it must be a word, such as 'yes' or 'no'")
    return polarity or reply_polarity(reply)


KEYS = ("id", "request", "goal", "reply", "statements", "polarity", "split")
_DATASET = "dataset:"


def read_seeds(*files: str | Path) -> list[Seed]:
    """Read the seeds of files (of seeds, questions or items) and of published sets; ids must be unique.

    - ``files``: files, or ``dataset:NAME`` such as ``dataset:sugar/0/train``.

    >>> import rejoinder
    >>> len(rejoinder.data.read_seeds("seeds.jsonl"))
    12
    """
    seeds: dict[str, tuple[Seed, Place]] = {}
    for name in files:
        for seed, place in _read_seed_file(str(name)):
            if seed.id in seeds:
                raise InputError(f"{place}: the seed {seed.id!r} is already in {seeds[seed.id][1]}; give it another id")
            seeds[seed.id] = seed, place
    return [seed for seed, _ in seeds.values()]


def write_seeds(seeds: Iterable[Seed], path: str | Path) -> int:
    """Write seeds, one per line, and return how many there were."""
    lines = [orjson.dumps(_seed_object(seed), option=orjson.OPT_APPEND_NEWLINE) for seed in seeds]
    with atomic_write(path) as file:
        file.writelines(lines)
    return len(lines)


def _read_seed_file(name: str) -> Iterator[tuple[Seed, Place]]:
    if name.startswith(_DATASET):
        from rejoinder.data.datasets import read_dataset

        for number, record in enumerate(read_dataset(name.removeprefix(_DATASET)), start=1):
            place = Place(name, number)
            yield from ((seed, place) for seed in extract_seeds(record, str(place)))
        return
    for line in InputFile(name).lines():
        value = decode_json_line(line)
        if isinstance(value, dict) and ("request" in value or "reply" in value):
            yield _parse_seed(value, line.place), line.place
        else:
            record = from_object(value, line.place)
            yield from ((seed, line.place) for seed in extract_seeds(record, str(line.place)))


def _parse_seed(value: Any, place: Place) -> Seed:
    if unknown := sorted(str(key) for key in value if key not in KEYS):
        raise InputError(f"{place}: seed has an unknown key {brief(unknown[0])}; {nearest(unknown[0], KEYS)}")
    identity = value.get("id")
    name = _get_text(str(identity) if type(identity) is int else identity, "id", place)
    request, goal, reply = (_get_text(value.get(key), key, place) for key in ("request", "goal", "reply"))
    statements = value.get("statements") or []
    if not isinstance(statements, list):
        raise InputError(f"{place}: 'statements' of seed must be a list, found {brief(statements)}")
    polarity, split = (
        None if value.get(key) is None else _get_text(value[key], key, place) for key in ("polarity", "split")
    )
    return Seed(name, request, goal, reply, tuple(_parse_statement(one, place) for one in statements), polarity, split)


def _parse_statement(value: Any, place: Place) -> Statement:
    if not isinstance(value, dict) or not value.keys() <= {"text", "category"}:
        raise InputError(f"{place}: a statement must be an object with 'text' and 'category', found {brief(value)}")
    text = _get_text(value.get("text"), "text", place)
    return Statement(text, check_statement_category(value.get("category"), str(place)), True)


def _get_text(value: object, key: str, place: Place) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{place}: '{key}' of seed must be a non-empty string, found {brief(value)}")
    return value


def _seed_object(seed: Seed) -> dict[str, Any]:
    statements: Sequence[dict[str, Any]] = [{"text": one.text, "category": one.category} for one in seed.statements]
    fields = {key: getattr(seed, key) for key in KEYS} | {"statements": statements}
    return {key: value for key, value in fields.items() if value is not None}
