"""``rank``: every ranker scores every candidate, given some or all of the situation, and a run folder keeps the scores.

A run folder has a folder for each input (``u+S`` and the like) with ``questions.jsonl`` as the rankers saw them,
``systems/NAME.jsonl`` with the scores of one ranker, ``used/NAME.json`` with the statements that it read, and
``ranked.jsonl`` with the candidates in order; ``ranking.json``, written last, lists the contents.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.inputs import Input
from rejoinder.data.questions import WHOLE, limit_situation, rank_grades
from rejoinder.data.shape import fits_shape
from rejoinder.errors import InputError, RunError
from rejoinder.files import write_json
from rejoinder.selection import folder as run_folder
from rejoinder.selection import select
from rejoinder.selection.answers import Progress, SystemAnswers, answer_file_name, complete_answers, read_system_answers
from rejoinder.selection.ranking.result import RankingResult, UsedStatements, write_rankings
from rejoinder.systems import System, system_signature
from rejoinder.types import Question

ABOUT, RANKED, USED = "ranking.json", "ranked.jsonl", "used"
DEFAULT_RANKER = "ranker"
_ABOUT_SHAPE = {"input": {"name": str}, "questions": int, "inputs": [str], "rankers": {str: str}}


@dataclass(frozen=True)
class RankingRun:
    """A run folder, and the rankers' scores with each input; ``fresh`` counts the rankers that this call asked."""

    folder: Path
    ranked: Mapping[str, RankingResult]
    fresh: int


def rank(
    questions: str | Path,
    rankers: Sequence[str | System] = (DEFAULT_RANKER,),
    inputs: Sequence[str] = (WHOLE,),
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> RankingRun:
    """Rank the candidates of every question, best first, by each ranker, and keep the results in a run folder.

    - ``questions``: a file of questions or ``dataset:NAME``.
    - ``rankers``: specs of systems, or systems themselves.
    - ``inputs``: what rankers are shown: ``u``, ``u+S1``, ``u+S``, or ``5``, ``10``, ``15`` distractors.
    - ``folder``: the run folder; by default ``runs/NAME-rank-DIGEST``.
    - ``progress``: called with the number of questions that the ranker at work has answered, and the total.

    A ranker that has answered before is not asked again. ``evaluate_ranking`` returns how good the orders are if the
    candidates have grades.

    >>> import rejoinder
    >>> run = rejoinder.rank("questions.jsonl", ["tfidf(situation='u+S')"], ["u", "u+S"], "ranked")
    >>> evaluation = rejoinder.selection.evaluate_ranking(run.ranked["u+S"])
    >>> evaluation.standings[0].measures["Precision@1"].estimate.value
    1.0
    """
    parsed = select.parse_systems(rankers, "ranker")
    source = Input(questions)
    try:
        records = read_gradable_questions(source)
        facts = {"name": source.name, "sha256": source.digest, "bytes": source.size}
        stem = source.stem
    finally:
        source.close()
    by_input = {input_name: limit_situation(records, input_name) for input_name in dict.fromkeys(inputs)}
    folder = Path(folder or f"runs/{stem}-rank-{run_folder.digest_questions(records)[:8]}")
    if run_folder.is_selection_run(folder):
        raise RunError(f"{folder}: is a run of rejoinder select; choose another folder")
    results, fresh = {}, 0
    for input_name, limited in by_input.items():
        digest = run_folder.digest_questions(limited)
        run_folder.prepare_selection_folder(folder / input_name, limited, digest)
        answers = [
            _answer_questions(folder / input_name, name, system, limited, digest, progress)
            for name, system in parsed.items()
        ]
        fresh += sum(a.fresh for a in answers)
        results[input_name] = RankingResult(
            records,
            input_name,
            {a.name: a.answers.lines for a in answers},
            {a.name: a.used for a in answers if a.used is not None},
            {a.name: a.answers.signature for a in answers},
        )
        write_rankings([results[input_name]], folder / input_name / RANKED)
    signatures = {name: system_signature(system) for name, system in parsed.items()}
    write_json(folder / ABOUT, _describe_run(folder, facts, len(records), list(by_input), signatures))
    return RankingRun(folder, results, fresh)


def read_gradable_questions(source: Input) -> list[Question]:
    """Return the questions of an input; raise an error if there are none."""
    questions = select.read_test_questions(source)
    if not questions:
        raise InputError(
            f"{source.called}: has no questions; a question has a context and candidates (docs/formats.md)"
        )
    for question in questions:
        if all(candidate.grade is not None for candidate in question.candidates):
            rank_grades(question)  # an unknown scale of grades is an error before any ranker is asked
    return questions


@dataclass(frozen=True)
class _RankerAnswers:
    name: str
    answers: SystemAnswers
    used: UsedStatements | None
    fresh: bool


def _answer_questions(
    folder: Path, name: str, system: System, questions: Sequence[Question], digest: str, progress: Progress | None
) -> _RankerAnswers:
    """Return the answers of one ranker, from its file if there is one."""
    signature = system_signature(system)
    path = folder / run_folder.SYSTEMS / answer_file_name(name, signature)
    used_path = folder / USED / f"{path.stem}.json"
    fresh = not path.is_file()
    start = time.time()
    if fresh:
        complete_answers(path, system, signature, digest, questions, 0, progress or _ignore_progress)
    if not used_path.is_file():
        used_path.parent.mkdir(exist_ok=True)
        write_json(used_path, check_used(system, questions, system.used(questions)))
    if fresh:
        run_folder.record_system_time(folder, name, time.time() - start, len(questions))
    answers = read_system_answers(path)
    if answers.digest != digest or len(answers.lines) != len(questions):
        raise RunError(f"{path}: answers other questions; remove it and rank again")
    try:
        return _RankerAnswers(name, answers, orjson.loads(used_path.read_bytes()), fresh)
    except (OSError, ValueError) as error:
        raise RunError(f"{used_path}: cannot be read ({error}); remove it and rank again") from None


def check_used(system: System, questions: Sequence[Question], used: UsedStatements | None) -> UsedStatements | None:
    """Return what a ranker read; raise an error if it names statements that it was not shown."""
    if used is None:
        return None
    if [len(statements) for statements in used] != [len(question.candidates) for question in questions]:
        raise InputError(f"{system} does not say which statements it read for each candidate")
    for question, statements in zip(questions, used, strict=True):
        if any(not 0 <= place < len(question.situation) for places in statements for place in places):
            raise InputError(f"{system} read a statement that question {question.id} does not have")
    return [[[int(place) for place in places] for places in statements] for statements in used]


def is_ranking_run(folder: Path) -> bool:
    """Whether a path is the folder of a ranking run."""
    return os.path.isfile(folder / ABOUT)  # also False if it is not readable


def read_ranking_about(folder: Path) -> dict[str, Any]:
    """Return the content of ``ranking.json`` of a finished run."""
    try:
        about = orjson.loads((folder / ABOUT).read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(f"{folder / ABOUT}: cannot be read ({error}); rank again") from None
    if not fits_shape(about, _ABOUT_SHAPE) or any(Path(name).name != name for name in about["inputs"]):
        raise RunError(f"{folder / ABOUT}: is damaged; rank again")
    return dict(about)


def load_ranking(folder: Path) -> dict[str, RankingResult]:
    """Read the scores of all rankers in a run folder, by input; the questions are as the rankers saw them."""
    about, results = read_ranking_about(folder), {}
    for input_name in about["inputs"]:
        part = folder / input_name
        questions = run_folder.read_run_questions(part)
        answers = {}
        for name, signature in about["rankers"].items():
            path = part / run_folder.SYSTEMS / answer_file_name(name, signature)
            if path.is_file():  # another command may have asked it with other inputs only
                answers[name] = read_system_answers(path)
                if len(answers[name].lines) != len(questions):
                    raise RunError(f"{path}: answers other questions; remove it and rank again")
        lines = {name: one.lines for name, one in answers.items()}
        signatures = {name: one.signature for name, one in answers.items()}
        results[input_name] = RankingResult(questions, input_name, lines, signatures=signatures)
    return results


def _describe_run(
    folder: Path, source: dict[str, Any], n: int, inputs: list[str], signatures: Mapping[str, str]
) -> dict[str, Any]:
    """Return the content of ``ranking.json``, including what earlier commands added."""
    try:
        before = orjson.loads((folder / ABOUT).read_bytes())
        inputs = [*before["inputs"], *(one for one in inputs if one not in before["inputs"])]
        signatures = {**before["rankers"], **signatures}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return {"format": 1, "input": source, "questions": n, "inputs": inputs, "rankers": dict(signatures)}


def _ignore_progress(done: int, total: int) -> None:
    """Do nothing."""
