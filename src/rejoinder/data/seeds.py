"""Seeds of situated sets (SUGAR, section 3.2): a request, the goal behind it, a reply, and what makes the reply fit.

A file has one seed a line, ``{"id", "request", "goal", "reply", "statements": [{"text", "category"}], "polarity"}``;
questions and items of our schema are taken apart into seeds (``seed.seeds_of``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.reading import Source, decode
from rejoinder.data.schema import Place, from_object
from rejoinder.data.seed import Seed, checked_category, seeds_of
from rejoinder.errors import InputError, brief, nearest
from rejoinder.files import whole_file
from rejoinder.types import Statement

KEYS = ("id", "request", "goal", "reply", "statements", "polarity", "split")
_DATASET = "dataset:"


def read_seeds(*given: str | Path) -> list[Seed]:
    """The seeds of files (seeds or questions) and of published sets (``dataset:sugar/0/train``); ids are compared."""
    found: dict[str, tuple[Seed, Place]] = {}
    for name in given:
        for seed, place in _seeds(str(name)):
            if seed.id in found:
                raise InputError(f"{place}: the seed {seed.id!r} is in {found[seed.id][1]} already; give it its own id")
            found[seed.id] = seed, place
    return [seed for seed, _ in found.values()]


def write_seeds(seeds: Iterable[Seed], path: str | Path) -> int:
    """Write seeds, one a line, and say how many."""
    lines = [orjson.dumps(_object(seed), option=orjson.OPT_APPEND_NEWLINE) for seed in seeds]
    with whole_file(path) as file:
        file.writelines(lines)
    return len(lines)


def _seeds(name: str) -> Iterator[tuple[Seed, Place]]:
    if name.startswith(_DATASET):
        from rejoinder.data.datasets import read_dataset

        for number, record in enumerate(read_dataset(name.removeprefix(_DATASET)), start=1):
            place = Place(name, number)
            yield from ((seed, place) for seed in seeds_of(record, str(place)))
        return
    for line in Source(name).lines():
        found = decode(line)
        if isinstance(found, dict) and ("request" in found or "reply" in found):
            yield _seed(found, line.place), line.place
        else:
            record = from_object(found, line.place)
            yield from ((seed, line.place) for seed in seeds_of(record, str(line.place)))


def _seed(found: Any, place: Place) -> Seed:
    if unknown := sorted(str(key) for key in found if key not in KEYS):
        raise InputError(f"{place}: seed has an unknown key {brief(unknown[0])}; {nearest(unknown[0], KEYS)}")
    identity = found.get("id")
    name = _text(str(identity) if type(identity) is int else identity, "id", place)
    request, goal, reply = (_text(found.get(key), key, place) for key in ("request", "goal", "reply"))
    given = found.get("statements") or []
    if not isinstance(given, list):
        raise InputError(f"{place}: 'statements' of seed must be a list, found {brief(given)}")
    polarity, split = (
        None if found.get(key) is None else _text(found[key], key, place) for key in ("polarity", "split")
    )
    return Seed(name, request, goal, reply, tuple(_statement(one, place) for one in given), polarity, split)


def _statement(found: Any, place: Place) -> Statement:
    if not isinstance(found, dict) or not found.keys() <= {"text", "category"}:
        raise InputError(f"{place}: a statement must be an object with 'text' and 'category', found {brief(found)}")
    text = _text(found.get("text"), "text", place)
    return Statement(text, checked_category(found.get("category"), str(place)), True)


def _text(found: object, key: str, place: Place) -> str:
    if not isinstance(found, str) or not found.strip():
        raise InputError(f"{place}: '{key}' of seed must be a text that is not empty, found {brief(found)}")
    return found


def _object(seed: Seed) -> dict[str, Any]:
    statements: Sequence[dict[str, Any]] = [{"text": one.text, "category": one.category} for one in seed.statements]
    given = {key: getattr(seed, key) for key in KEYS} | {"statements": statements}
    return {key: value for key, value in given.items() if value is not None}
