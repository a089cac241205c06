"""The answers of a system: it scores every candidate of every question, and a file keeps the scores.

Scores are rounded to the decimals that are the same on every machine (``System.decimals``), so smaller differences are
ties. Candidates that tie for the top share the point: k of them, one being right, give 1/k, the average of a random
choice among them. A question with a NaN score is unanswered: it counts neither as right nor as wrong, and the number of
such questions is reported.

A file ``systems/NAME.jsonl`` has a header with the system's signature, one line per question, and the check of order.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import orjson

from rejoinder.data.objects import to_object
from rejoinder.data.schema import from_worker
from rejoinder.engines import request_counts
from rejoinder.engines.base import Engine, WorkerSpec, order_results
from rejoinder.errors import InputError, RejoinderError, RunError, brief
from rejoinder.files import put_in_place, sha256_of_bytes
from rejoinder.selection.result import OrderCheck, ScoreLine, find_top_places
from rejoinder.systems import System, parse_system
from rejoinder.types import Question

Progress: TypeAlias = Callable[[int, int], None]
_BATCH_SIZE = 64
# The spec of a metric or of a function as a system: one quoted parameter.
_WRAPPED = re.compile(r"""(?:metric\(spec|function\(path)=('[^'\\]*'|"[^"\\]*")\)""")


def score_questions(system: System, questions: Sequence[Question]) -> list[ScoreLine]:
    """Return the scores of a system, one line per question, checked and rounded."""
    try:
        lines = system.score(questions)
    except RejoinderError:
        raise
    except Exception as error:
        if type(system).__module__.startswith("rejoinder."):
            raise
        raise InputError(f"{system} failed with {type(error).__name__}: {brief(str(error), 200)}") from error
    if len(lines) != len(questions):
        raise InputError(
            f"{system} gave {len(lines)} lists of scores for {len(questions)} questions; it must give one per question"
        )
    return [_check_scores(system, question, line) for question, line in zip(questions, lines, strict=True)]


def system_name(system: System) -> str:
    """Return a system's name in tables: the short form that users type, if there is one, else its spec."""
    spec = str(system)
    match = _WRAPPED.fullmatch(spec)
    short = str(ast.literal_eval(match[1])) if match else spec
    return short if short == spec or parse_system(short) == system else spec


def split_question_batches(system: System, questions: Sequence[Question]) -> list[Sequence[Question]]:
    """Split the questions into batches, if the system scores each question independently.

    Other systems may use all questions together (how rare a word is), so they get them in one batch.
    """
    if not getattr(system, "alone", False):
        return [questions]
    return [questions[start : start + _BATCH_SIZE] for start in range(0, len(questions), _BATCH_SIZE)]


def _check_scores(system: System, question: Question, line: Sequence[float]) -> ScoreLine:
    if len(line) != len(question.candidates):
        raise InputError(
            f"{system} gave {len(line)} scores for the {len(question.candidates)} candidates of question "
            f"{question.id}; it must give one per candidate"
        )
    try:
        numbers = tuple(float(score) for score in line)
    except (TypeError, ValueError):
        raise InputError(
            f"{system} gave {brief(list(line))} for question {question.id}; scores must be numbers (NaN for no score)"
        ) from None
    if system.decimals is None:
        return numbers
    return tuple(round(score, system.decimals) if math.isfinite(score) else score for score in numbers)


class SystemWorker:
    """A system by its spec."""

    def __init__(self, spec: str) -> None:
        self._system = parse_system(spec)

    def compute(self, task: Sequence[Any]) -> list[Any]:
        """Return the scores of some questions, as text because JSON has no NaN or infinity, and the failed requests."""
        report: dict[str, Any] = {}
        with request_counts.fill_request_report(report):
            lines = score_questions(self._system, from_worker(Question, task))
        return [[[repr(score) for score in line] for line in lines], report]

    def close(self) -> None:
        """Nothing to release."""


def score_parts(
    system: System, parts: Sequence[Sequence[Question]], engine: Engine | None
) -> Iterator[tuple[Sequence[Question], list[ScoreLine]]]:
    """Yield every part with its score lines, in order; computed here one by one, or by an engine's workers."""
    if engine is None or engine.workers < 2 or len(parts) < 2:
        for part in parts:
            yield part, score_questions(system, part)
        return
    worker_spec = WorkerSpec("rejoinder.selection.answers:SystemWorker", (str(system),))
    tasks = ([to_object(question) for question in part] for part in parts)
    for part, (lines, report) in zip(parts, order_results(engine.compute(worker_spec, tasks)), strict=True):
        request_counts.add_request_report(report)
        yield part, [tuple(float(score) for score in line) for line in lines]


def check_candidate_order(system: System, questions: Sequence[Question], n: int) -> OrderCheck:
    """Ask up to ``n`` questions, spread over the set, twice: as they are and with their candidates in reverse order."""
    if n < 1 or not questions:
        return OrderCheck(0, 0)
    sample = [questions[i] for i in np.unique(np.linspace(0, len(questions) - 1, n).round().astype(int)).tolist()]
    reversed_sample = [dataclasses.replace(question, candidates=question.candidates[::-1]) for question in sample]
    changed = answered = 0
    for question, before, after in zip(
        sample, score_questions(system, sample), score_questions(system, reversed_sample), strict=True
    ):
        first, second = (_candidate_texts(question, find_top_places(line)) for line in (before, after[::-1]))
        answered += bool(first and second)
        changed += bool(first and second) and first != second
    return OrderCheck(answered, changed)


def _candidate_texts(question: Question, places: Sequence[int]) -> frozenset[str]:
    return frozenset(question.candidates[place].text for place in places)


class SystemAnswers(NamedTuple):
    """The answers of one system to all questions."""

    system: str
    signature: str
    digest: str
    lines: list[ScoreLine]
    order_check: OrderCheck


def answer_file_name(system: str, signature: str) -> str:
    """Return the name of a system's file: a readable part, and a digest of its signature."""
    stem = re.sub(r"[^A-Za-z0-9]+", "-", system).strip("-")[:40] or "system"
    return f"{stem}-{sha256_of_bytes(signature.encode())[:8]}.jsonl"


def complete_answers(
    path: Path,
    system: System,
    signature: str,
    digest: str,
    questions: Sequence[Question],
    order_checks: int,
    progress: Progress,
    engine: Engine | None = None,
) -> None:
    """Ask the system the questions that its unfinished file lacks; when all are there, the file gets its final name."""
    header = {"system": system_name(system), "spec": str(system), "signature": signature, "questions": digest}
    with _lock_file(path.with_name(f".{path.name}.part")) as part:
        done = _count_complete(part, header, questions) if len(split_question_batches(system, questions)) > 1 else 0
        if not done:
            part.seek(0)
            part.truncate()
            part.write(orjson.dumps(header) + b"\n")
        batches = split_question_batches(system, questions[done:]) if done < len(questions) else []
        for batch, lines in score_parts(system, batches, engine):
            for question, line in zip(batch, lines, strict=True):
                part.write(orjson.dumps({"question": question.id, "scores": [_encode_score(s) for s in line]}) + b"\n")
            part.flush()
            done += len(batch)
            progress(done, len(questions))
        order_check = check_candidate_order(system, questions, order_checks)
        part.seek(0)
        footer = {
            "turned": {"asked": order_check.asked, "changed": order_check.changed},
            "sha256": sha256_of_bytes(part.read()),
        }
        part.write(orjson.dumps(footer) + b"\n")
        part.flush()
        os.fsync(part.fileno())
        put_in_place(part.name, path)


def read_system_answers(path: Path) -> SystemAnswers:
    """Read a finished file of answers."""
    try:
        raw = path.read_bytes().splitlines(keepends=True)
        head, *lines, last = [orjson.loads(line) for line in raw]
        if last.get("sha256", digest := sha256_of_bytes(b"".join(raw[:-1]))) != digest:
            raise ValueError("it was changed after it was written")
        scores = [tuple(_decode_score(score) for score in line["scores"]) for line in lines]
        return SystemAnswers(head["system"], head["signature"], head["questions"], scores, OrderCheck(**last["turned"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path}: cannot be read ({brief(str(error), 200)}); remove it and select again") from None


def _count_complete(part: IO[bytes], header: dict[str, str], questions: Sequence[Question]) -> int:
    """Return how many questions an unfinished file answers completely; cut off what follows them."""
    part.seek(0)
    first = part.readline()
    if first != orjson.dumps(header) + b"\n":
        return 0
    complete, end = 0, part.tell()
    for question, line in zip(questions, part.read().splitlines(keepends=True), strict=False):
        if not line.endswith(b"\n") or not line.startswith(b'{"question":' + orjson.dumps(question.id) + b","):
            break
        complete, end = complete + 1, end + len(line)
    part.seek(end)
    part.truncate()
    return complete


@contextmanager
def _lock_file(path: Path) -> Iterator[IO[bytes]]:
    """Open an unfinished file, locked so that only this process writes it."""
    with open(path, "a+b") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no file locks on this platform: users must not run two commands on one file
            pass
        except OSError:
            raise RunError(f"{path}: another process is asking this system; wait until it ends") from None
        yield file


def _encode_score(score: float) -> Any:
    if math.isnan(score):
        return None
    return score if math.isfinite(score) else ("inf" if score > 0 else "-inf")


def _decode_score(score: Any) -> float:
    return math.nan if score is None else float(score)
