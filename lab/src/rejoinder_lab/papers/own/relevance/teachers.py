"""Scores of the rated rows by the teachers of aptness, which are too large for the package: stored, one row each.

``python -m rejoinder_lab.papers.own.relevance.teachers permissive FOLDER`` scores them again with a teacher's folder
(as ``rejoinder train aptness --base mpnet`` writes it) and stores them in the cache.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rejoinder.files import sha256_of_parts
from rejoinder.metric import parse
from rejoinder.models.aptness_card import read_aptness_card
from rejoinder_lab.papers.own.relevance.measures import ScoredColumn, StoredScores, score_relevance_rows
from rejoinder_lab.papers.own.relevance.rows import COLUMNS, RelevanceRows, read_relevance_rows
from rejoinder_lab.papers.stored_answers import (
    AnswerLine,
    StoredAnswers,
    find_stored_answers,
    read_stored_answers,
    stored_answers_path,
    write_stored_answers,
)

PAPER = "own/relevance"
TEACHERS = ("permissive",)  # the sets whose teachers' scores are stored
MODELS = ("both", "bi", "cross")


def add_teacher_scores(scored: Sequence[ScoredColumn]) -> list[ScoredColumn]:
    """Return the columns with what the teachers gave each row, as far as that is stored."""
    stored = list(_read_teachers([one.rows for one in scored]))
    return [one.with_stored([(row, signature, scores) for row, signature, scores in stored]) for one in scored]


def _read_teachers(rows: Sequence[RelevanceRows]) -> Iterator[tuple[str, str, StoredScores]]:
    """The row of each teacher and model: its name, whose scores these are, and the scores by column and reply."""
    for name in TEACHERS:
        if (path := find_stored_answers(PAPER, _file_name(name))) is None:
            continue
        answers = read_stored_answers(path, _file_name(name), _digest_rows(rows))
        signature = f"{answers.about['network']}; stored scores"
        for i, model in enumerate(MODELS):
            row = f"teacher of {name}" if model == "both" else f"teacher of {name}, {model}"
            yield row, signature, {(key[0], key[1]): line.scores[i] for key, line in answers.lines.items()}


def store_teacher(name: str, folder: Path) -> Path:
    """Score all rows by the networks of a folder, and store the scores."""
    columns = [read_relevance_rows(column) for column in COLUMNS]
    specs = [str(parse(f"aptness(folder='{folder}', model='{model}')")) for model in MODELS]
    lines: dict[tuple[str, ...], AnswerLine] = {}
    for rows in columns:
        scored = score_relevance_rows(rows, specs)
        by_model = [scored.evidence.scores[spec] for spec in specs]
        for response, *scores in zip(scored.evidence.responses, *by_model, strict=True):
            lines[rows.column.name, response] = AnswerLine(tuple(map(float, scores)))
    path = stored_answers_path(PAPER, _file_name(name))
    card = read_aptness_card(folder)
    about = {"network": f"aptness {card.digest()[:12]} (from {card.about.get('base', 'an unknown base')})"}
    write_stored_answers(path, StoredAnswers(_file_name(name), _digest_rows(columns), about, lines))
    return path


def _file_name(name: str) -> str:
    return f"teacher-{name}"


def _digest_rows(rows: Sequence[RelevanceRows]) -> str:
    """The digest of what was scored: every context and reply."""
    return sha256_of_parts(
        part
        for one in rows
        for pair in one.data.pairs()
        for part in (one.column.name, pair.response.id, *(turn.text for turn in pair.item.context), pair.response.text)
    )


if __name__ == "__main__":
    print(store_teacher(sys.argv[1], Path(sys.argv[2])))
