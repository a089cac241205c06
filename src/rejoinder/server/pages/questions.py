"""The pages of selection and ranking runs: their tables, and who chose what on each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from rejoinder.data.questions import find_right_candidates
from rejoinder.errors import InputError, RejoinderError, SpecError, nearest
from rejoinder.reports.ranking import ranking_tables
from rejoinder.reports.selection import DISPUTED, selection_tables
from rejoinder.selection import select
from rejoinder.selection.evaluate import evaluate_selection
from rejoinder.selection.ranking.evaluation import evaluate_ranking
from rejoinder.selection.ranking.measures import find_best_candidates
from rejoinder.selection.ranking.rank import load_ranking, read_ranking_about
from rejoinder.selection.result import ScoreLine, find_top_places
from rejoinder.server.api.rank import json_number
from rejoinder.server.pages.cache import WorkProgress
from rejoinder.server.pages.context import PageContent, PageContext, Query, paginate, statement_objects, table_object
from rejoinder.server.pages.library import RunEntry
from rejoinder.server.pages.reply_filter import search_terms
from rejoinder.table import Table, shorten_text
from rejoinder.types import Question

OUTCOMES = ("right", "wrong", "tie", "unanswered")
AGREEMENTS = {"disagree": "systems disagree", "all": "all are right", "none": "none is right"}


class SystemChoice(NamedTuple):
    """What a system chose on a question: the places of the candidates, and how that was."""

    places: tuple[int, ...]
    outcome: str  # one of OUTCOMES; "chosen" where no candidate is known to be right


@dataclass(frozen=True)
class AnsweredQuestions:
    """Questions, the scores of some systems for their candidates, and the tables of the whole run."""

    questions: Sequence[Question]
    scores: Mapping[str, Sequence[ScoreLine]]
    signatures: Mapping[str, str]
    tables: Sequence[Table]
    title: str

    @property
    def systems(self) -> list[str]:
        """The systems, in the order in which they were asked."""
        return list(self.scores)

    @cached_property
    def right(self) -> list[frozenset[int]]:
        """The right candidates of each question; none where they are not graded."""
        return [_right_places(question) for question in self.questions]

    @cached_property
    def choices(self) -> dict[str, list[SystemChoice]]:
        """What each system chose, by question."""
        return {
            system: [_make_choice(line, right) for line, right in zip(lines, self.right, strict=True)]
            for system, lines in self.scores.items()
        }


def _right_places(question: Question) -> frozenset[int]:
    for find in (find_right_candidates, find_best_candidates):
        try:
            return find(question)
        except InputError:
            continue
    return frozenset()


def _make_choice(line: ScoreLine, right: frozenset[int]) -> SystemChoice:
    places = find_top_places(line)
    if not places:
        return SystemChoice(places, "unanswered")
    if not right:
        return SystemChoice(places, "chosen")
    hits = sum(place in right for place in places)
    return SystemChoice(places, "right" if hits == len(places) else "tie" if hits else "wrong")


async def load_questions(context: PageContext, run: RunEntry) -> dict[str, AnsweredQuestions]:
    """Return the answered questions of a run: of a ranking by its inputs, of a selection under an empty name."""
    if run.kind == "scores":
        raise RejoinderError(f"{run.name} is a run of scores, which has no questions")

    def make(progress: WorkProgress) -> dict[str, AnsweredQuestions]:
        progress.report("reading the answers", 0.1)
        return _read_selection(run) if run.kind == "selection" else _read_ranking(run)

    return await context.cache.get(("questions", run), make)


def _read_selection(run: RunEntry) -> dict[str, AnsweredQuestions]:
    selection = select.load_selection(run.path)
    selected = selection.selected
    tables = selection_tables(evaluate_selection(selected))
    title = selection.about["input"]["name"]
    return {"": AnsweredQuestions(selected.questions, selected.scores, selected.signatures, tables, title)}


def _read_ranking(run: RunEntry) -> dict[str, AnsweredQuestions]:
    title = read_ranking_about(run.path)["input"]["name"]
    answered = {}
    for input_name, ranked in load_ranking(run.path).items():
        try:
            tables = ranking_tables(evaluate_ranking(ranked))
        except InputError:  # no grades: there is an order, but no telling how good it is
            tables = []
        answered[input_name] = AnsweredQuestions(ranked.questions, ranked.scores, ranked.signatures, tables, title)
    return answered


def _choose_input(inputs: Mapping[str, AnsweredQuestions], name: str | None) -> str:
    if name is not None and name not in inputs:
        raise SpecError(f"this run has no input {name!r}; {nearest(name, inputs)}")
    return name if name is not None else list(inputs)[-1]


async def selection_page(context: PageContext, run: RunEntry, query: Query) -> PageContent:
    """Show the tables of a selection or a ranking run."""
    inputs = await load_questions(context, run)
    chosen = _choose_input(inputs, query.get("input"))
    answered = inputs[chosen]
    data = {
        "name": run.name,
        "kind": run.kind,
        "title": answered.title,
        "systems": answered.systems,
        "questions": len(answered.questions),
        "input": chosen,
        "inputs": [name for name in inputs if name],
        "signatures": dict(answered.signatures),
        "tables": [table_object(table) for table in answered.tables],
    }
    shown = [table for table in answered.tables if table.title != DISPUTED]  # the list of questions shows them better
    return PageContent("selection_run.html", data, {"all_tables": shown})


async def questions_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """List the questions of a selection or ranking run with what each system chose."""
    run = context.library.run(request.path_params["run"])
    inputs = await load_questions(context, run)
    chosen = _choose_input(inputs, query.get("input"))
    answered = inputs[chosen]
    system = query.get("system")
    if system is not None and system not in answered.systems:
        raise SpecError(f"this run has no system {system!r}; {nearest(system, answered.systems)}")
    places = await run_in_threadpool(_select_questions, answered, query)
    part, position = paginate(places, query.get("page", 1))
    own = {key: query[key] for key in ("q", "system", "outcome", "only", "input") if key in query}
    data = {
        "name": run.name,
        "kind": run.kind,
        "systems": answered.systems,
        "input": chosen,
        "inputs": [name for name in inputs if name],
        **position,
        "list": [_question_line(answered, place) for place in part],
    }
    extra = {"path": f"/runs/{quote(run.name)}/questions", "query": own, "outcomes": OUTCOMES, "agreements": AGREEMENTS}
    return PageContent("questions.html", data, extra)


def _select_questions(answered: AnsweredQuestions, query: Query) -> list[int]:
    """The questions that meet all conditions."""
    words = [word.casefold() for word in search_terms(query.get("q", ""))]
    systems = [query["system"]] if "system" in query else answered.systems
    places = []
    for place, question in enumerate(answered.questions):
        outcomes = {system: answered.choices[system][place].outcome for system in answered.systems}
        if "outcome" in query and not any(outcomes[system] == query["outcome"] for system in systems):
            continue
        if "only" in query and query["only"] != _agreement(answered, place):
            continue
        if words and not all(word in _question_text(question) for word in words):
            continue
        places.append(place)
    return places


def _agreement(answered: AnsweredQuestions, place: int) -> str:
    choices = [answered.choices[system][place] for system in answered.systems]
    if all(choice.outcome == "right" for choice in choices):
        return "all"
    if all(choice.outcome in ("wrong", "unanswered") for choice in choices):
        return "none"
    return "disagree" if len({choice.places for choice in choices}) > 1 else ""


def _question_text(question: Question) -> str:
    texts = [*(turn.text for turn in question.context), *(one.text for one in question.candidates)]
    return "\n".join(texts).casefold()


def _question_line(answered: AnsweredQuestions, place: int) -> dict[str, Any]:
    question = answered.questions[place]
    return {
        "question": place,
        "id": question.id,
        "last": shorten_text(question.context[-1].text) if question.context else None,
        "choices": {system: _choice_object(answered, system, place) for system in answered.systems},
    }


def _choice_object(answered: AnsweredQuestions, system: str, place: int) -> dict[str, Any]:
    choice, candidates = answered.choices[system][place], answered.questions[place].candidates
    texts = [shorten_text(candidates[one].text, 80) for one in choice.places]
    return {"outcome": choice.outcome, "candidates": list(choice.places), "texts": texts}


async def run_question_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show one question: its candidates, the score that each system gave them, and who chose which."""
    run = context.library.run(request.path_params["run"])
    inputs = await load_questions(context, run)
    chosen = _choose_input(inputs, query.get("input"))
    answered, number = inputs[chosen], request.path_params["question"]
    place = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else -1
    if not 0 <= place < len(answered.questions):
        raise SpecError(f"{run.name} has no question {number[:20]!r}; it has {len(answered.questions):,}")
    places = _select_questions(answered, query)
    at = places.index(place) if place in places else None
    question = answered.questions[place]
    data = {
        "name": run.name,
        "question": place,
        "id": question.id,
        "context": [{"speaker": turn.speaker, "text": turn.text} for turn in question.context],
        "situation": statement_objects(question.situation),
        "systems": answered.systems,
        "candidates": [_candidate_object(answered, place, n) for n in range(len(question.candidates))],
        "choices": {system: _choice_object(answered, system, place) for system in answered.systems},
        "position": {
            "place": None if at is None else at + 1,
            "n": len(places),
            "before": places[at - 1] if at else None,
            "after": places[at + 1] if at is not None and at + 1 < len(places) else None,
        },
    }
    own = {key: query[key] for key in ("q", "system", "outcome", "only", "input") if key in query}
    return PageContent("run_question.html", data, {"path": f"/runs/{quote(run.name)}/questions", "query": own})


def _candidate_object(answered: AnsweredQuestions, place: int, number: int) -> dict[str, Any]:
    candidate = answered.questions[place].candidates[number]
    scores = {system: answered.scores[system][place][number] for system in answered.systems}
    return {
        "text": candidate.text,
        "grade": candidate.grade,
        "right": number in answered.right[place],
        "source": candidate.source,
        "labels": list(candidate.labels),
        "scores": {system: json_number(float(score)) for system, score in scores.items()},
        "chosen_by": [one for one in answered.systems if number in answered.choices[one][place].places],
    }
