"""Error labels by people: candidates written for the annotation page's form ``errors`` or as a table, and read back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import orjson

from rejoinder.annotation.exports.texts import majority_size
from rejoinder.annotation.fields import NONE
from rejoinder.data.inputs import read
from rejoinder.data.questions import find_right_candidates
from rejoinder.data.reader import InputLine, decode_json_line
from rejoinder.data.schema import Place, from_object
from rejoinder.data.tables.spreadsheet import decode_spreadsheet, encode_spreadsheet
from rejoinder.data.writer import write
from rejoinder.errors import InputError, brief
from rejoinder.escape import unescape_cell
from rejoinder.files import atomic_write
from rejoinder.scoring.texts import format_context
from rejoinder.selection.label_rules import suggest_labels
from rejoinder.selection.labels import (
    LABELS,
    accept_suggestions,
    attach_error_labels,
    candidate_response_id,
    check_error_labels,
    find_false_places,
)
from rejoinder.selection.result import check_questions
from rejoinder.types import Item, Question, Rating, Record, Response

SHEET_COLUMNS = ("question", "candidate", "context", "true reply", "text", "suggested", "labels")
# The labels that each rater gave each candidate, by the candidate's id.
LabelVotes: TypeAlias = dict[str, dict[str, set[str]]]


class LabelledQuestions(NamedTuple):
    """Questions with labels, how many candidates people judged, and how often each label was given."""

    questions: list[Question]
    judged: int
    label_counts: Counter[str]


def label(
    testset: Sequence[Question] | str | Path,
    *,
    suggest: bool = False,
    accept: bool = False,
    source: str | Path | None = None,
) -> LabelledQuestions:
    """Return the questions of a test set with error labels on false candidates, by people or suggested by rules.

    - ``testset``: questions, their file, or ``dataset:NAME``.
    - ``suggest``: suggest labels by rules for English; they stay suggestions, in ``meta``.
    - ``accept``: turn suggestions into labels for candidates that have no labels yet.
    - ``source``: a file with labels that people gave.

    >>> import rejoinder
    >>> labelled = rejoinder.label("testset.jsonl", suggest=True, accept=True)
    >>> len(labelled.questions)
    12
    """
    questions = read_test_set(testset) if isinstance(testset, str | Path) else list(testset)
    labelled = LabelledQuestions(questions, 0, Counter())
    if source is not None:
        labelled = read_label_file(questions, Path(source))
    questions = labelled.questions
    if suggest:
        questions = [suggest_labels(question) for question in questions]
    if accept:
        questions = [accept_suggestions(question) for question in questions]
    return labelled._replace(questions=questions)


def read_test_set(testset: str | Path) -> list[Question]:
    """Return the questions of a file; raise an error if one cannot be answered."""
    questions = list(read(testset).questions.values())
    check_questions(questions, str(testset))
    return questions


def make_label_records(questions: Iterable[Question]) -> Iterator[Record]:
    """Yield items and responses for a project with the form ``errors``: every false candidate becomes a response."""
    for question in questions:
        yield Item(question.id, question.context, situation=question.situation, dialogue=question.dialogue)
        for place in find_false_places(question):
            candidate = question.candidates[place]
            system = candidate.source or "candidate"
            yield Response(candidate_response_id(question, place), question.id, system, candidate.text)


def make_label_sheet(questions: Iterable[Question]) -> bytes:
    """Return a CSV table with one row per false candidate; people write labels, with commas, in the last column."""
    return encode_spreadsheet(SHEET_COLUMNS, (row for question in questions for row in _list_rows(question)))


def _list_rows(question: Question) -> Iterator[tuple[str, ...]]:
    context = format_context(question.context)
    truth = question.candidates[min(find_right_candidates(question))].text
    for place in find_false_places(question):
        candidate = question.candidates[place]
        suggested = ", ".join(map(str, candidate.meta.get("suggested_labels", ())))
        labels = ", ".join(candidate.labels)
        yield question.id, candidate_response_id(question, place), context, truth, candidate.text, suggested, labels


def read_label_file(questions: Sequence[Question], path: Path) -> LabelledQuestions:
    """Return the questions with the labels of a file: ratings or CSV from the annotation page, or our table.

    A candidate gets a label if more than half of those who judged it gave that label.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    votes = (
        _read_rating_votes(content, path.name)
        if content.lstrip()[:1] == b"{"
        else _read_table_votes(content, path.name)
    )
    places = {candidate_response_id(q, place): (q.id, place) for q in questions for place in range(len(q.candidates))}
    by_question: dict[str, dict[int, Sequence[str]]] = {}
    label_counts: Counter[str] = Counter()
    for name, raters in votes.items():
        if name not in places:
            raise InputError(
                f"{path.name}: the test set has no candidate {brief(name)}; use the test set that was labelled"
            )
        labels = _majority_labels(list(raters.values()))
        label_counts.update(labels or [NONE])
        by_question.setdefault(places[name][0], {})[places[name][1]] = labels
    rater_counts = {len(raters) for raters in votes.values()}
    labelled_by = (
        f"people ({min(rater_counts)} to {max(rater_counts)} a candidate)"
        if len(rater_counts) > 1
        else f"people ({max(rater_counts, default=0)} a candidate)"
    )
    return LabelledQuestions(
        [attach_error_labels(q, by_question.get(q.id, {}), labelled_by) for q in questions], len(votes), label_counts
    )


def _majority_labels(votes: Sequence[set[str]]) -> list[str]:
    return [label for label in LABELS if sum(label in vote for vote in votes) >= majority_size(len(votes))]


def _read_rating_votes(content: bytes, name: str) -> LabelVotes:
    by_candidate: LabelVotes = {}
    other: Counter[str] = Counter()
    for number, text in enumerate(content.splitlines(), start=1):
        if not text.strip():
            continue
        place = Place(name, number)
        record = from_object(decode_json_line(InputLine(place, text, False)), place, allow_empty=True)
        if not isinstance(record, Rating) or record.response is None:
            continue
        if record.aspect not in LABELS:
            other[record.aspect] += 1
            continue
        votes = by_candidate.setdefault(record.response, {}).setdefault(record.rater, set())
        if record.value:
            votes.add(record.aspect)
    if not by_candidate:
        detail = f"found: {brief(', '.join(other), 120)}" if other else "it has no ratings"
        raise InputError(
            f"{name}: no rating is for one of the aspects {', '.join(LABELS)} ({detail}); export it again as ratings"
        )
    return by_candidate


def _read_table_votes(content: bytes, name: str) -> LabelVotes:
    by_candidate: LabelVotes = {}
    try:
        rows = list(decode_spreadsheet(content, ()))
        columns: Mapping[str, str] = rows[0][1] if rows else {}
        if "labels" in columns and "candidate" in columns:
            for number, row in rows:
                words = [
                    word.strip() for word in unescape_cell(row["labels"]).replace(";", ",").split(",") if word.strip()
                ]
                by_candidate[unescape_cell(row["candidate"])] = {"people": _parse_votes(words, f"{name} line {number}")}
            return by_candidate
        for number, row in decode_spreadsheet(content, ("response", "rater", "value")):
            if row.get("kind", "unit") == "unit" and row["value"].startswith("["):
                votes = _parse_votes(orjson.loads(row["value"]), f"{name} line {number}")
                by_candidate.setdefault(unescape_cell(row["response"]), {})[unescape_cell(row["rater"])] = votes
    except orjson.JSONDecodeError:
        raise InputError(f"{name}: a value is not a list of labels; export it again as csv") from None
    except InputError as error:
        raise error if str(error).startswith(name) else InputError(f"{name}: {error}") from None
    return by_candidate


def _parse_votes(words: Iterable[str], where: str) -> set[str]:
    return set(check_error_labels((word for word in words if word != NONE), where))


def write_label_sheet(questions: Sequence[Question], path: str) -> None:
    """Write candidates for people to label: a CSV table, or records for the annotation page."""
    if path.endswith(".csv"):
        with atomic_write(path) as target:
            target.write(make_label_sheet(questions))
    else:
        write(make_label_records(questions), path)
