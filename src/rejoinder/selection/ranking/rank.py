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
    testset = Input(given)
    try:
        questions = read_gradable_questions(testset)
        source = {"name": testset.name, "sha256": testset.digest, "bytes": testset.size}
        stem = testset.stem
    finally:
        testset.close()
    by_input = {input_name: limit_situation(questions, input_name) for input_name in dict.fromkeys(inputs)}
    folder = Path(folder or f"runs/{stem}-rank-{run_folder.digest_questions(questions)[:8]}")
    if run_folder.is_selection_run(folder):
        raise RunError(f"{folder}: is a run of rejoinder select; choose another folder with -o")
    results, fresh = {}, 0
    for input_name, limited in by_input.items():
        digest = run_folder.digest_questions(limited)
        run_folder.prepare_folder(folder / input_name, limited, digest)
        answers = [
            _answer_questions(folder / input_name, name, system, limited, digest, show)
            for name, system in parsed.items()
        ]
        fresh += sum(a.fresh for a in answers)
        results[input_name] = RankingResult(
            questions,
            input_name,
            {a.name: a.answers.lines for a in answers},
            {a.name: a.used for a in answers if a.used is not None},
            {a.name: a.answers.signature for a in answers},
        )
        write_rankings(results[input_name], folder / input_name / RANKED)
    signatures = {name: system_signature(system) for name, system in parsed.items()}
    write_json(folder / ABOUT, _describe_run(folder, source, len(questions), list(by_input), signatures))
    return RankingRun(folder, results, fresh)


def read_gradable_questions(source: Input) -> list[Question]:
    """The questions of an input; an error where there are none."""
    questions = select.read_questions(source)
    if not questions:
        raise InputError(
            f"{source.called}: holds no questions; a question has a context and candidates (docs/formats.md)"
        )
    for question in questions:
        if all(candidate.grade is not None for candidate in question.candidates):
            rank_grades(question)  # grades of no known scale are told before anybody is asked
    return questions


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
    signature = system_signature(system)
    path = folder / run_folder.SYSTEMS / answer_file_name(name, signature)
    used_path = folder / USED / f"{path.stem}.json"
    fresh = not path.is_file()
    start = time.time()
    if fresh:
        show_ranker = functools.partial(show, name) if show else _ignore_progress
        complete_answers(path, system, signature, digest, questions, 0, show_ranker)
    if not used_path.is_file():
        used_path.parent.mkdir(exist_ok=True)
        write_json(used_path, check_used(system, questions, system.used(questions)))
    if fresh:
        run_folder.record_time(folder, name, time.time() - start, len(questions))
    answers = read_answers(path)
    if answers.digest != digest or len(answers.lines) != len(questions):
        raise RunError(f"{path}: is of other questions; remove it and rank again")
    try:
        return _RankerAnswers(name, answers, orjson.loads(used_path.read_bytes()), fresh)
    except (OSError, ValueError) as error:
        raise RunError(f"{used_path}: cannot be read ({error}); remove it and rank again") from None


def check_used(system: System, questions: Sequence[Question], used: UsedStatements | None) -> UsedStatements | None:
    """What a ranker read; an error where it names statements that it was not shown."""
    if used is None:
        return None
    if [len(statements) for statements in used] != [len(question.candidates) for question in questions]:
        raise InputError(f"{system} does not tell for each candidate which statements it read")
    for question, statements in zip(questions, used, strict=True):
        if any(not 0 <= place < len(question.situation) for places in statements for place in places):
            raise InputError(f"{system} read a statement that question {question.id} does not have")
    return [[[int(place) for place in places] for places in statements] for statements in used]


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
