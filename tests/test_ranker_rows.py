"""What a ranker reads, token by token: rows, what is cut, what has no room, and names in brackets."""

from __future__ import annotations

import pytest

from rejoinder.models.aptness_card import SpecialTokens
from rejoinder.models.ranker.rows import (
    RankerLimits,
    candidate_row,
    count_fitting,
    question_texts,
    request_ids,
    situation_rows,
    spell_out_names,
)
from rejoinder.types import Candidate, Question, Statement, Turn

MARKS = SpecialTokens(first=101, last=102, between=1, padding=0)
LIMITS = RankerLimits(statement_tokens=3, request_tokens=4, candidate_tokens=2, row_tokens=20)


def test_a_pair_row_has_statements_request_and_candidate_in_this_order() -> None:
    row = candidate_row([(11, 12), (13,)], [21, 22], (31,), MARKS, LIMITS)
    assert row.ids == (101, 11, 12, 1, 13, 1, 21, 22, 102, 31, 102)
    assert row.ids[row.reply_at] == 31


def test_a_statement_and_a_candidate_lose_their_end_and_a_request_its_beginning() -> None:
    request = request_ids([(21, 22, 23), (24, 25, 26)], MARKS, LIMITS)
    assert request == [1, 24, 25, 26], "the last four of 21 22 23 | 24 25 26"
    row = candidate_row([(11, 12, 13, 14, 15)], request, (31, 32, 33), MARKS, LIMITS)
    assert row.ids == (101, 11, 12, 13, 1, 1, 24, 25, 26, 102, 31, 32, 102)


def test_a_row_without_statements_or_request_is_still_a_row() -> None:
    assert candidate_row([], [], (31,), MARKS, LIMITS).ids == (101, 102, 31, 102)
    assert request_ids([], MARKS, LIMITS) == []
    assert request_ids([(), (21,)], MARKS, LIMITS) == [21]


def test_statements_that_have_no_room_are_left_out_the_last_ones_first() -> None:
    statements = [(n, n, n, n) for n in range(10, 20)]
    # 20 - 3 marks - 1 of the request - 1 of the candidate leave 15: three statements of 3 tokens and a mark.
    row = candidate_row(statements, [21], (31,), MARKS, LIMITS)
    assert count_fitting(statements, [21], (31,), LIMITS) == 3
    assert row.ids == (101, 10, 10, 10, 1, 11, 11, 11, 1, 12, 12, 12, 1, 21, 102, 31, 102)
    assert count_fitting(statements[:2], [21], (31,), LIMITS) == 2
    assert count_fitting([(9,)] * 7 + [(8, 8)], [], (31, 32), LIMITS) == 7, (
        "15 are just enough for seven of 2, none is left"
    )


def test_a_situation_is_one_row_that_says_where_each_statement_is() -> None:
    (row,) = situation_rows([(11, 12), (13,)], [21, 22], MARKS, LIMITS)
    assert row.ids == (101, 11, 12, 1, 13, 1, 21, 22, 102)
    assert row.spans == ((6, 8), (1, 3), (4, 5))
    assert [row.ids[start:end] for start, end in row.spans] == [(21, 22), (11, 12), (13,)]


def test_a_long_situation_takes_several_rows_that_hold_every_statement_once() -> None:
    statements = [(n,) * (1 + n % 5) for n in range(200, 500)]
    rows = situation_rows(statements, [21, 22], MARKS, LIMITS)
    assert all(len(row.ids) <= LIMITS.row_tokens for row in rows)
    read = [row.ids[start:end] for row in rows for start, end in row.spans[1:]]
    assert read == [statement[: LIMITS.statement_tokens] for statement in statements]
    assert {row.ids[slice(*row.spans[0])] for row in rows} == {(21, 22)}


def test_no_statements_are_no_rows_and_a_blank_one_has_an_empty_span() -> None:
    assert situation_rows([], [21], MARKS, LIMITS) == []
    (row,) = situation_rows([(), (11,)], [], MARKS, LIMITS)
    assert row.spans == ((4, 4), (1, 1), (2, 3))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("[user] has a ticket.", "the user has a ticket."),
        ("[User]'s sister and [someone else] left.", "the user's sister and someone else left."),
        ("an array[0] and [] and [ x ]", "an array0 and [] and [ x ]"),
        ("[[user]]", "[the user]"),
        ("[user", "[user"),
    ],
)
def test_names_lose_their_brackets(text: str, read: str) -> None:
    assert spell_out_names(text) == read


def test_all_texts_of_a_question_are_read_without_brackets() -> None:
    question = Question("q", (Turn("[someone] rings"),), (Candidate("[user]!"),), (Statement("[user] sleeps"),))
    assert question_texts(question) == (["the user sleeps"], ["someone rings"], ["the user!"])
