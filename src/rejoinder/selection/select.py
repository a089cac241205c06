"""``select``: every system scores every candidate of a test set, and a run folder keeps the scores."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import rejoinder
from rejoinder.data.inputs import Input
from rejoinder.data.validation import IdChecker
from rejoinder.engines.base import Engine
from rejoinder.errors import RunError, SpecError
from rejoinder.files import write_json
from rejoinder.scoring.folder import check_described_files, describe_run_files
from rejoinder.selection import folder as run_folder
from rejoinder.selection.answers import Progress, answer_file_name, complete_answers, read_system_answers, system_name
from rejoinder.selection.result import SelectionResult, check_questions
from rejoinder.systems import System, parse_system, system_signature
from rejoinder.types import Question

ORDER_CHECKS = 20  # questions that are asked again with their candidates in reverse order
_LIBRARIES = ("numpy", "scipy", "orjson")


def _ignore_progress(done: int, total: int) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class SelectionRun:
    """A run folder and what the systems selected; ``fresh`` names the systems that this call asked."""

    folder: Path
    selected: SelectionResult
    fresh: tuple[str, ...]
    about: dict[str, Any]


def select(
    testset: str | Path,
    systems: Sequence[str | System] = (),
    folder: str | Path | None = None,
    order_checks: int = ORDER_CHECKS,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> SelectionRun:
    """Let systems choose among the candidates of every question of a test set, and keep the scores in a run folder.

    - ``testset``: a file of questions, ``dataset:NAME``, or the folder of an earlier run, which is then only read.
    - ``systems``: specs such as ``tfidf``, ``hf:NAME`` or ``./mine.py:function``, or systems themselves.
    - ``folder``: the run folder; by default ``runs/NAME-select-DIGEST``.
    - ``order_checks``: how many questions are asked again with their candidates in reverse order.
    - ``progress``: called with the number of questions that the system at work has answered, and the total.
    - ``engine``: what computes; several workers ask systems that score each question independently.

    A system that has answered the same questions before, with the same signature, is not asked again; one that was
    interrupted continues where it stopped. ``evaluate_selection`` returns how good the systems are.

    >>> import rejoinder
    >>> run = rejoinder.select("testset.jsonl", ["tfidf"], "selected")
    >>> list(run.selected.systems)
    ['tfidf']
    >>> rejoinder.selection.evaluate_selection(run.selected).standings[0].system
    'tfidf'
    """
    if run_folder.is_selection_run(Path(testset)):
        if folder is not None:
            raise SpecError(f"{testset} is a run already; leave out the folder, or name the test set itself")
        return load_selection(testset, systems)
    parsed_systems = parse_systems(systems, "system")
    source = Input(testset)
    try:
        questions = read_test_questions(source)
        check_questions(questions, source.called)
        facts = {"name": source.name, "sha256": source.digest, "bytes": source.size}
        stem = source.stem
    finally:
        source.close()
    digest = run_folder.digest_questions(questions)
    folder = Path(folder or f"runs/{stem}-select-{digest[:8]}")
    run_folder.prepare_selection_folder(folder, questions, digest)
    run_folder.copy_test_set_card(str(testset), folder)
    files, fresh = {}, []
    for spec, system in parsed_systems.items():
        signature = system_signature(system)
        path = folder / run_folder.SYSTEMS / answer_file_name(spec, signature)
        if not path.is_file():
            start = time.time()
            complete_answers(
                path, system, signature, digest, questions, order_checks, progress or _ignore_progress, engine
            )
            fresh.append(spec)
            run_folder.record_system_time(folder, spec, time.time() - start, len(questions))
        files[spec] = path
    about = _describe_run(folder, facts, questions, digest, files)
    write_json(folder / run_folder.ABOUT, about)
    return SelectionRun(folder, _read_result(questions, list(files.values()), digest), tuple(fresh), about)


def load_selection(folder: str | Path, systems: Sequence[str | System] = ()) -> SelectionRun:
    """Read a run folder, with all its systems or only those that are named."""
    folder = Path(folder)
    about = run_folder.read_selection_about(folder)
    check_described_files(folder, about.get("files", {}))
    answer_files = {one["system"]: folder / run_folder.SYSTEMS / one["file"] for one in about["systems"]}
    names = [_resolve_name(typed, answer_files) for typed in systems] or list(answer_files)
    for spec in names:
        if spec not in answer_files:
            raise RunError(f"{folder}: has no answers from {spec}; name the test set itself to ask it")
    return SelectionRun(
        folder,
        _read_result(run_folder.read_run_questions(folder), [answer_files[s] for s in names], about["digest"]),
        (),
        about,
    )


def _resolve_name(system: str | System, answer_files: Mapping[str, Path]) -> str:
    if isinstance(system, System):
        return system_name(system)
    return system if system in answer_files else system_name(parse_system(system))


def parse_systems(systems: Sequence[str | System], noun: str) -> dict[str, System]:
    """Return systems by name, each once; ``noun`` is what errors call them."""
    if not systems:
        raise SpecError(f"no {noun} is named; name at least one, e.g. tfidf")
    by_name: dict[str, System] = {}
    for spec in systems:
        system = parse_system(spec) if isinstance(spec, str) else spec
        name = system_name(system)
        if name in by_name:
            raise SpecError(f"the {noun} {name} is named twice; leave one out")
        by_name[name] = system
    return by_name


def read_test_questions(source: Input) -> list[Question]:
    """Return the questions of an input; raise an error if two records have one id."""
    id_checker, questions = IdChecker(), []
    for record, place in source.records():
        id_checker.add(record, place)
        if isinstance(record, Question):
            questions.append(record)
    return questions


def _read_result(questions: list[Question], files: Sequence[Path], digest: str) -> SelectionResult:
    answers = [read_system_answers(path) for path in files]
    for path, answer in zip(files, answers, strict=True):
        if answer.digest != digest or len(answer.lines) != len(questions):
            raise RunError(f"{path}: answers other questions; remove it and select again")
    return SelectionResult(
        questions,
        {answer.system: answer.lines for answer in answers},
        {answer.system: answer.signature for answer in answers},
        {answer.system: answer.order_check for answer in answers if answer.order_check.asked},
    )


def _describe_run(
    folder: Path, source: dict[str, Any], questions: list[Question], digest: str, answer_files: Mapping[str, Path]
) -> dict[str, Any]:
    """Return the content of ``selection.json``; of a system with several signatures, the last one asked counts."""
    answers = [(path, read_system_answers(path)) for path in sorted((folder / run_folder.SYSTEMS).glob("*.jsonl"))]
    answers = [(path, answer) for path, answer in answers if answer_files.get(answer.system, path) == path]
    return {
        "format": run_folder.FORMAT,
        "input": source,
        "digest": digest,
        "questions": len(questions),
        "systems": [{"system": s.system, "signature": s.signature, "file": path.name} for path, s in answers],
        "files": describe_run_files(folder, [run_folder.QUESTIONS]),
        "versions": {"rejoinder": rejoinder.__version__, **{name: version(name) for name in _LIBRARIES}},
    }
