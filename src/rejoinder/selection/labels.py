"""Error labels: why a false candidate is false (Sato et al. 2020, Table 7).

``labels`` of a candidate are those that people gave or accepted. Suggestions by rules are kept separately, in ``meta``
under ``suggested_labels`` with their reasons under ``suggested_because``, until somebody accepts them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import orjson

from rejoinder.data.questions import find_right_candidates
from rejoinder.data.schema import Place, from_object
from rejoinder.errors import InputError, nearest
from rejoinder.types import Candidate, Question

INCONSISTENT, INSUFFICIENT, SUBJECT, TENSE = "inconsistent", "insufficient", "wrong-subject", "wrong-tense"
MEANINGS = {
    INCONSISTENT: "contradicts what was said before, or what the question takes for granted",
    INSUFFICIENT: "says too little to be a reply here, or breaks off",
    SUBJECT: "speaks of the wrong person: with another subject it would fit",
    TENSE: "speaks of the wrong time: in another tense it would fit",
}
LABELS = tuple(MEANINGS)
_SUGGESTION_KEYS = ("suggested_labels", "suggested_because")


def candidate_response_id(question: Question, place: int) -> str:
    """Return the name of a candidate in annotations, as the annotation forms write it."""
    return f"{question.id}/{question.candidates[place].id or place}"


def find_false_places(question: Question) -> list[int]:
    """The places of the candidates that are not right."""
    good = find_right_candidates(question)
    return [place for place in range(len(question.candidates)) if place not in good]


def check_error_labels(labels: Iterable[str], where: str) -> tuple[str, ...]:
    """Return labels in their standard order, each once; raise an error for an unknown one."""
    names = list(labels)
    for label in names:
        if label not in LABELS:
            raise InputError(f"{where}: unknown error label {label!r}; {nearest(label, LABELS)}")
    return tuple(label for label in LABELS if label in names)


def attach_error_labels(question: Question, labels: Mapping[int, Sequence[str]], by: str) -> Question:
    """Return the question with labels for the candidates at some places; ``by`` says who gave them."""

    def change(place: int, candidate: Candidate) -> Candidate:
        if place not in labels:
            return candidate
        new_labels = check_error_labels(labels[place], f"question {question.id}")
        meta = {key: value for key, value in candidate.meta.items() if key not in _SUGGESTION_KEYS}
        return dataclasses.replace(candidate, labels=new_labels, meta={**meta, "labelled_by": by})

    return _change_candidates(question, change)


def attach_suggestions(question: Question, reasons: Mapping[int, Mapping[str, str]]) -> Question:
    """Return the question with suggested labels and their reasons in its candidates' meta; labels do not change."""

    def change(place: int, candidate: Candidate) -> Candidate:
        meta = {key: value for key, value in candidate.meta.items() if key not in _SUGGESTION_KEYS}
        if suggestions := reasons.get(place):
            meta |= {"suggested_labels": list(suggestions), "suggested_because": dict(suggestions)}
        return dataclasses.replace(candidate, meta=meta)

    return _change_candidates(question, change)


def accept_suggestions(question: Question) -> Question:
    """Return the question with suggestions turned into labels, for candidates that have no labels yet."""

    def change(_: int, candidate: Candidate) -> Candidate:
        suggestions = candidate.meta.get("suggested_labels")
        if not suggestions or candidate.labels:
            return candidate
        labels = check_error_labels(map(str, suggestions), f"question {question.id}")
        meta = {key: value for key, value in candidate.meta.items() if key != "suggested_labels"}
        return dataclasses.replace(candidate, labels=labels, meta={**meta, "labelled_by": "rules, accepted"})

    return _change_candidates(question, change)


def _change_candidates(question: Question, change: Callable[[int, Candidate], Candidate]) -> Question:
    candidates = tuple(change(place, candidate) for place, candidate in enumerate(question.candidates))
    return dataclasses.replace(question, candidates=candidates)


LABELLED_FILE = "labelled.json"


@functools.cache
def _read_labelled_file() -> dict[str, Any]:
    content: dict[str, Any] = orjson.loads((files("rejoinder.selection") / LABELLED_FILE).read_bytes())
    return content


def describe_labelled_set() -> str:
    """Return the description of the labelled set that comes with the package."""
    return str(_read_labelled_file()["about"])


def read_labelled_questions(split: str | None = None) -> list[Question]:
    """Return the questions of that set, or of one split: rules are developed on ``valid`` and measured on ``test``."""
    records = [
        from_object(one, Place(LABELLED_FILE, number))
        for number, one in enumerate(_read_labelled_file()["questions"], start=1)
    ]
    return [one for one in records if isinstance(one, Question) and split in (None, one.split)]
