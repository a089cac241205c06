"""The inputs of a ranker as rows of token ids: a candidate after statements and the request, or the whole situation.

Statements come before the request, as earlier utterances would. ``[user]`` is read as "the user", another name in
brackets without the brackets. Texts beyond the limits are cut: a statement and a candidate at the end, the request at
the beginning; statements that do not fit into a row are left out, the last ones first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rejoinder.models.aptness.calibration import Ids
from rejoinder.models.aptness.cross_encoder import PairRow
from rejoinder.models.aptness_card import SpecialTokens
from rejoinder.models.ranker.settings import RankerLimits
from rejoinder.types import Question

_NAME = re.compile(r"\[(\w[\w ]*)\]")
_READ_AS = {"user": "the user"}


class SituationRow(NamedTuple):
    """``[CLS] statement [unused0] ... request [SEP]``, and where the request and each statement begin and end."""

    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]  # the request's first


def spell_out_names(text: str) -> str:
    """Return a text whose names in brackets are words of it: "[user]" is "the user", "[someone]" is "someone"."""
    return _NAME.sub(lambda match: _READ_AS.get(match[1].lower(), match[1]), text)


def question_texts(question: Question) -> tuple[list[str], list[str], list[str]]:
    """Return the statements, the context's turns and the candidates of a question, as they are read."""
    return (
        [spell_out_names(statement.text) for statement in question.situation],
        [spell_out_names(turn.text) for turn in question.context],
        [spell_out_names(candidate.text) for candidate in question.candidates],
    )


def request_ids(context: Sequence[Ids], marks: SpecialTokens, limits: RankerLimits) -> list[int]:
    """Return the last tokens of a context's turns, joined."""
    ids: list[int] = []
    for utterance in context:
        ids += [marks.between, *utterance] if ids else utterance
    return ids[-limits.request_tokens :]


def candidate_row(
    statements: Sequence[Ids], request: Sequence[int], candidate: Ids, marks: SpecialTokens, limits: RankerLimits
) -> PairRow:
    """Return a candidate after some statements and the request."""
    reply = candidate[: limits.candidate_tokens]
    before: list[int] = []
    for statement in statements[: count_fitting(statements, request, candidate, limits)]:
        before += [*statement[: limits.statement_tokens], marks.between]
    before += request
    return PairRow((marks.first, *before, marks.last, *reply, marks.last), len(before) + 2)


def count_fitting(statements: Sequence[Ids], request: Sequence[int], candidate: Ids, limits: RankerLimits) -> int:
    """Return how many statements, from the first, fit into a row with the request and a candidate."""
    room = limits.row_tokens - len(request) - min(len(candidate), limits.candidate_tokens) - 3
    for index, statement in enumerate(statements):
        room -= min(len(statement), limits.statement_tokens) + 1
        if room < 0:
            return index
    return len(statements)


def situation_rows(
    statements: Sequence[Ids], request: Sequence[int], marks: SpecialTokens, limits: RankerLimits
) -> list[SituationRow]:
    """Return rows with the situation and the request; together they contain every statement once, in order."""
    rows: list[SituationRow] = []
    room = limits.row_tokens - len(request) - 2
    before: list[int] = []
    spans: list[tuple[int, int]] = []
    for statement in [*statements, None]:
        statement_ids = statement[: limits.statement_tokens] if statement is not None else ()
        if spans and (statement is None or len(before) + len(statement_ids) + 1 > room):
            start = len(before) + 1
            ids = (marks.first, *before, *request, marks.last)
            rows.append(SituationRow(ids, ((start, start + len(request)), *spans)))
            before, spans = [], []
        spans.append((len(before) + 1, len(before) + 1 + len(statement_ids)))
        before += [*statement_ids, marks.between]
    return rows
