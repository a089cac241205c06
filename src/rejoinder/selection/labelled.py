"""The labelled false candidates that come with the package: what rules for error labels are measured on."""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import Any

import orjson

from rejoinder.data.schema import Place, from_object
from rejoinder.types import Question

FILE = "labelled.json"


@functools.cache
def _read() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((files("rejoinder.selection") / FILE).read_bytes())
    return found


def about() -> str:
    """What the set is, in its own words."""
    return str(_read()["about"])


def labelled_questions(split: str | None = None) -> list[Question]:
    """All questions of the set, or those of one split: rules are developed on ``valid``, reported on ``test``."""
    records = [from_object(one, Place(FILE, number)) for number, one in enumerate(_read()["questions"], start=1)]
    return [one for one in records if isinstance(one, Question) and split in (None, one.split)]
