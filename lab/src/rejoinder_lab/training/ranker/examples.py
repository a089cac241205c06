"""Questions with graded candidates as token ids, ready to be trained on."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rejoinder.data.questions import DISTRACTORS, RELEVANT, WHOLE, limit_situation, rank_grades
from rejoinder.errors import InputError
from rejoinder.models.aptness.calibration import Ids
from rejoinder.models.aptness_card import SpecialTokens
from rejoinder.models.ranker.rows import question_texts, request_ids, spell_out_names
from rejoinder.models.ranker.settings import RankerLimits
from rejoinder.types import Question

Encode = Callable[[Sequence[str]], list[list[int]]]
REFERENCE, DISTRACTOR = "reference", "distractor"


@dataclass(frozen=True)
class StatementExample:
    """A statement's ids, whether it matters (None where that is not known), and its ids for a reader of its own."""

    ids: Ids
    relevant: bool | None
    reader_ids: Ids = ()

    @property
    def to_read(self) -> Ids:
        """The ids that the reader reads."""
        return self.reader_ids or self.ids


@dataclass(frozen=True)
class CandidateExample:
    """A candidate's ids, its grade as a number, and the question that it was written for, where known."""

    ids: Ids
    grade: float
    written_for: str | None
    reader_ids: Ids = ()

    @property
    def to_read(self) -> Ids:
        """The ids that the reader reads."""
        return self.reader_ids or self.ids


@dataclass(frozen=True)
class RankerExample:
    """A question to train on; ``situations`` has its statements by input (``u+S``, ``15`` ...) as far as known.

    Ids are those of the chooser's tokeniser. A reader with another tokeniser has its own (``add_reader_ids``).
    """

    id: str
    request_text: str  # examples with one request belong together
    polarity: str
    request: Ids
    goal: Ids
    candidates: tuple[CandidateExample, ...]
    situations: dict[str, tuple[StatementExample, ...]]
    reader_request: Ids = ()
    reader_goal: Ids = ()

    def request_to_read(self, by_goal: bool = False) -> Ids:
        """The ids of the request, or of the goal instead, that the reader reads."""
        return (self.reader_goal or self.goal) if by_goal else (self.reader_request or self.request)


def build_ranker_examples(
    questions: Sequence[Question], encode: Encode, tokens: SpecialTokens, limits: RankerLimits
) -> tuple[list[RankerExample], int]:
    """Return the examples of questions, and how many were left out because all their candidates have one grade."""
    usable = [question for question in questions if len(set(_example_gains(question))) > 1]
    token_table = _TokenTable(encode)
    token_table.read([text for question in usable for part in question_texts(question) for text in part])
    token_table.read([spell_out_names(str(question.meta.get("goal", ""))) for question in usable])
    built = [_build_example(question, token_table, tokens, limits) for question in usable]
    examples = [one for one in built if len({candidate.grade for candidate in one.candidates}) > 1]
    if not examples:
        raise InputError("no questions to train a ranker on: none has candidates of different grades")
    return examples, len(questions) - len(examples)


def _example_gains(question: Question) -> list[float]:
    """Return the grades as numbers that nDCG can sum."""
    gains = rank_grades(question)
    if gains and min(gains) < 0:
        raise InputError(
            f"question {question.id}: has the grade {min(gains):g}; grades must not be negative, so add a constant"
        )
    return gains


def add_reader_ids(examples: Sequence[RankerExample], as_read: Sequence[RankerExample]) -> list[RankerExample]:
    """Return examples with the ids that a reader with another tokeniser has for the same questions."""
    return [
        replace(
            one,
            candidates=tuple(
                replace(candidate, reader_ids=other.ids)
                for candidate, other in zip(one.candidates, read.candidates, strict=True)
            ),
            situations={
                name: tuple(
                    replace(statement, reader_ids=other.ids)
                    for statement, other in zip(statements, read.situations[name], strict=True)
                )
                for name, statements in one.situations.items()
            },
            reader_request=read.request,
            reader_goal=read.goal,
        )
        for one, read in zip(examples, as_read, strict=True)
    ]


class _TokenTable:
    """The ids of texts, each encoded once."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._ids: dict[str, Ids] = {}

    def read(self, texts: Sequence[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._ids]
        self._ids.update(zip(new, map(tuple, self._encode(new)), strict=True))

    def __getitem__(self, text: str) -> Ids:
        if text not in self._ids:
            self.read([text])
        return self._ids[text]


def _build_example(
    question: Question, token_table: _TokenTable, tokens: SpecialTokens, limits: RankerLimits
) -> RankerExample:
    situations = {WHOLE: _example_statements(question, token_table)}
    if not question.situation or any(statement.relevant is not None for statement in question.situation):
        situations[RELEVANT] = tuple(one for one in situations[WHOLE] if one.relevant)
    for count in DISTRACTORS:
        if question.meta.get("expanded") and count in question.meta.get("distractors", {}):
            situations[count] = _example_statements(limit_situation([question], count)[0], token_table)
    context = [token_table[spell_out_names(turn.text)] for turn in question.context]
    return RankerExample(
        question.id,
        " ".join(turn.text for turn in question.context),
        str(question.meta.get("polarity", "")),
        tuple(request_ids(context, tokens, limits)),
        token_table[spell_out_names(str(question.meta.get("goal", "")))],
        tuple(
            CandidateExample(
                token_table[spell_out_names(one.text)],
                grade,
                {REFERENCE: question.id, DISTRACTOR: one.id}.get(one.source or ""),
            )
            for one, grade in zip(question.candidates, rank_grades(question), strict=True)
            if one.text.strip()
        ),
        situations,
    )


def _example_statements(question: Question, token_table: _TokenTable) -> tuple[StatementExample, ...]:
    return tuple(StatementExample(token_table[spell_out_names(one.text)], one.relevant) for one in question.situation)


def drop_held_out_references(examples: Sequence[RankerExample]) -> list[RankerExample]:
    """Return the examples without candidates that are references of questions that are not among them.

    SUGAR's distractors are references of other questions, also of held-out ones: a ranker trained on those as bad
    replies learns that right answers of the test are bad. An example that keeps only one grade is left out.
    """
    own = {example.id for example in examples}
    remaining = []
    for example in examples:
        candidates = tuple(one for one in example.candidates if one.written_for is None or one.written_for in own)
        if len({one.grade for one in candidates}) > 1:
            remaining.append(replace(example, candidates=candidates))
    return remaining


def collect_best_responses(examples: Sequence[RankerExample]) -> dict[str, list[tuple[str, CandidateExample]]]:
    """Return the best replies of all examples with the request that they answer, by polarity."""
    by_polarity: dict[str, list[tuple[str, CandidateExample]]] = {}
    for example in examples:
        best = max(example.candidates, key=lambda one: one.grade)
        by_polarity.setdefault(example.polarity, []).append((example.request_text, best))
    return by_polarity


def add_negatives(
    example: RankerExample, others: dict[str, list[tuple[str, CandidateExample]]], count: int, rng: random.Random
) -> RankerExample:
    """Return the example with replies to other requests of its polarity as more candidates, graded like its worst."""
    pool = others[example.polarity]
    worst = min(one.grade for one in example.candidates)
    sampled = [rng.choice(pool) for _ in range(count)]
    own = {one.ids for one in example.candidates}
    added = tuple(
        replace(one, grade=worst) for request, one in sampled if request != example.request_text and one.ids not in own
    )
    return replace(example, candidates=example.candidates + added)
