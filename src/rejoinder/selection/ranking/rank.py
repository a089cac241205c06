"""``rank``: every ranker scores every candidate, is shown as much of the situation as is asked, and all of it is kept.

The folder of a run has a folder for each input (``u+S`` and the like) with ``questions.jsonl`` as the rankers saw them,
``systems/NAME.jsonl`` with the scores of one ranker, ``used/NAME.json`` with the statements that it read, and
``ranked.jsonl`` with the candidates in their order; ``ranking.json``, written last, lists what is there.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.inputs import Input
from rejoinder.data.questions import WHOLE, limit_situation, rank_grades
from rejoinder.errors import InputError, RunError
from rejoinder.scoring.folder import write_json
from rejoinder.selection import folder as run_folder
from rejoinder.selection import select
from rejoinder.selection.answers import SystemAnswers, answer_file_name, complete_answers, read_answers
from rejoinder.selection.ranking.result import RankingResult, UsedStatements, write_rankings
from rejoinder.systems import System, system_signature
from rejoinder.types import Question

ABOUT, RANKED, USED = "ranking.json", "ranked.jsonl", "used"
DEFAULT_RANKER = "ranker"
ShowProgress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class RankingRun:
    """A run folder, and what the rankers said with each input; ``fresh`` counts those that were asked only now."""

    folder: Path
    ranked: Mapping[str, RankingResult]
    fresh: int


def rank(
    given: str | Path,
    rankers: Sequence[str | System] = (DEFAULT_RANKER,),
    inputs: Sequence[str] = (WHOLE,),
    folder: str | Path | None = None,
    show: ShowProgress | None = None,
) -> RankingRun:
    """The candidates of every question in order, best first, by each ranker, kept in a run folder.

    - ``given``: a file of questions or ``dataset:NAME``.
    - ``rankers``: specs of systems, or systems themselves.
    - ``inputs``: what rankers are shown: ``u``, ``u+S1``, ``u+S``, or ``5``, ``10``, ``15`` distractors.
    - ``folder``: the run folder; ``runs/NAME-rank-DIGEST`` where none is named.
    - ``show``: is told which ranker has answered how many questions, and of how many.

    A ranker that has been asked before is not asked again. ``evaluate_ranking`` says how good the orders are where the
    candidates have grades.

    >>> import rejoinder
    >>> run = rejoinder.rank("questions.jsonl", ["tfidf(situation='u+S')"], ["u", "u+S"], "ranked")
    >>> evaluation = rejoinder.evaluate_ranking(run.ranked["u+S"])
    >>> evaluation.standings[0].measures["Precision@1"].estimate.value
    1.0
    """
    parsed = select.parse_systems(rankers, "ranker")
    opened = Input(given)
    try:
        questions = read_gradable_questions(opened)
        source = {"name": opened.name, "sha256": opened.digest, "bytes": opened.size}
        stem = opened.stem
    finally:
        opened.close()
    asked = {one: limit_situation(questions, one) for one in dict.fromkeys(inputs)}
    folder = Path(folder or f"runs/{stem}-rank-{run_folder.digest_questions(questions)[:8]}")
    if run_folder.is_selection_run(folder):
        raise RunError(f"{folder}: is a run of rejoinder select; choose another folder with -o")
    found, fresh = {}, 0
    for one, some in asked.items():
        digest = run_folder.digest_questions(some)
        run_folder.prepare_folder(folder / one, some, digest)
        answers = [_answer_questions(folder / one, name, system, some, digest, show) for name, system in parsed.items()]
        fresh += sum(a.fresh for a in answers)
        found[one] = RankingResult(
            questions,
            one,
            {a.name: a.answers.lines for a in answers},
            {a.name: a.used for a in answers if a.used is not None},
            {a.name: a.answers.signature for a in answers},
        )
        write_rankings(found[one], folder / one / RANKED)
    signatures = {name: system_signature(system) for name, system in parsed.items()}
    write_json(folder / ABOUT, _describe_run(folder, source, len(questions), list(asked), signatures))
    return RankingRun(folder, found, fresh)


def read_gradable_questions(opened: Input) -> list[Question]:
    """The questions of an input; an error where there are none."""
    found = select.read_questions(opened)
    if not found:
        raise InputError(
            f"{opened.called}: holds no questions; a question has a context and candidates (docs/formats.md)"
        )
    for question in found:
        if all(one.grade is not None for one in question.candidates):
            rank_grades(question)  # grades of no known scale are told before anybody is asked
    return found


@dataclass(frozen=True)
class _RankerAnswers:
    name: str
    answers: SystemAnswers
    used: UsedStatements | None
    fresh: bool


def _answer_questions(
    folder: Path, name: str, system: System, questions: Sequence[Question], digest: str, show: ShowProgress | None
) -> _RankerAnswers:
    """The answers of one ranker, from its file where it is there."""
    of_system = system_signature(system)
    path = folder / run_folder.SYSTEMS / answer_file_name(name, of_system)
    read = folder / USED / f"{path.stem}.json"
    fresh = not path.is_file()
    begun = time.time()
    if fresh:
        told = functools.partial(show, name) if show else _ignore_progress
        complete_answers(path, system, of_system, digest, questions, 0, told)
    if not read.is_file():
        read.parent.mkdir(exist_ok=True)
        write_json(read, check_used(system, questions, system.used(questions)))
    if fresh:
        run_folder.record_time(folder, name, time.time() - begun, len(questions))
    found = read_answers(path)
    if found.digest != digest or len(found.lines) != len(questions):
        raise RunError(f"{path}: is of other questions; remove it and rank again")
    try:
        return _RankerAnswers(name, found, orjson.loads(read.read_bytes()), fresh)
    except (OSError, ValueError) as error:
        raise RunError(f"{read}: cannot be read ({error}); remove it and rank again") from None


def check_used(system: System, questions: Sequence[Question], used: UsedStatements | None) -> UsedStatements | None:
    """What a ranker read; an error where it names statements that it was not shown."""
    if used is None:
        return None
    if [len(of) for of in used] != [len(question.candidates) for question in questions]:
        raise InputError(f"{system} does not tell for each candidate which statements it read")
    for question, of in zip(questions, used, strict=True):
        if any(not 0 <= place < len(question.situation) for places in of for place in places):
            raise InputError(f"{system} read a statement that question {question.id} does not have")
    return [[[int(place) for place in places] for places in of] for of in used]


def _describe_run(
    folder: Path, source: dict[str, Any], n: int, inputs: list[str], signatures: Mapping[str, str]
) -> dict[str, Any]:
    """What the folder holds, with what earlier commands put there."""
    try:
        before = orjson.loads((folder / ABOUT).read_bytes())
        inputs = [*before["inputs"], *(one for one in inputs if one not in before["inputs"])]
        signatures = {**before["rankers"], **signatures}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return {"format": 1, "input": source, "questions": n, "inputs": inputs, "rankers": dict(signatures)}


def _ignore_progress(done: int, total: int) -> None:
    """Nobody is watching."""
