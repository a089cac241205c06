"""The folder of a selection run: it is self-contained, and later commands can add systems to it.

``questions.jsonl`` is the test set as it was read, ``card.json`` and ``card.md`` its card if it has one,
``systems/NAME.jsonl`` the answers of one system (``answers.py``), and ``selection.json``, written last, lists the
contents. Only ``timings.json`` differs between two runs of the same command.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.collection import read_files
from rejoinder.data.objects import turn_object
from rejoinder.data.shape import fits_shape
from rejoinder.data.writer import write
from rejoinder.errors import InputError, RunError
from rejoinder.files import write_json
from rejoinder.types import Question

FORMAT = 1
ABOUT, QUESTIONS, SYSTEMS, TIMINGS = "selection.json", "questions.jsonl", "systems", "timings.json"
_ABOUT_SHAPE = {
    "input": {"name": str, "sha256": str, "bytes": int}, "digest": str, "questions": int, "versions": {str: str},
    "systems": [{"system": str, "signature": str, "file": str}],
    "files?": {str: {"lines": int, "bytes": int, "sha256": str}},
}  # fmt: skip


def digest_questions(questions: Sequence[Question]) -> str:
    """Return a sha256 over all that a system may read: not over grades, labels or sources, which may be added later."""
    digest = hashlib.sha256()
    for question in questions:
        visible = [
            question.id,
            [turn_object(turn) for turn in question.context],
            [[statement.text, statement.category] for statement in question.situation],
            [candidate.text for candidate in question.candidates],
            dict(question.meta),
        ]
        digest.update(orjson.dumps(visible, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS) + b"\n")
    return digest.hexdigest()


def is_selection_run(path: Path) -> bool:
    """Whether a path is the folder of a selection run."""
    return os.path.isfile(path / ABOUT)  # also False if it is not readable


def prepare_selection_folder(folder: Path, questions: Sequence[Question], digest: str) -> None:
    """Create the folder for these questions; raise an error if it holds anything else."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: is a file; choose a folder for the run")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / QUESTIONS).is_file():
            raise RunError(f"{folder}: is not empty and not a selection run; choose another folder")
        if digest_questions(read_run_questions(folder)) != digest:
            raise RunError(f"{folder}: is a selection run of other questions; choose another folder")
    try:
        (folder / SYSTEMS).mkdir(parents=True, exist_ok=True)
        write(questions, folder / QUESTIONS)
    except (OSError, InputError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RunError(f"{folder}: cannot be written ({reason}); choose another folder") from None


def copy_test_set_card(testset: str, folder: Path) -> None:
    """Copy the card next to a test set, if there is one, into the run folder."""
    if testset == "-" or testset.startswith("dataset:"):
        return
    base = testset.removesuffix(".gz").removesuffix(".jsonl")
    for ending in ("json", "md"):
        card = Path(f"{base}.card.{ending}")
        if card.is_file():
            shutil.copyfile(card, folder / f"card.{ending}")


def read_run_questions(folder: Path) -> list[Question]:
    """Return the questions of a run."""
    return list(read_files([folder / QUESTIONS]).questions.values())


def read_selection_about(folder: Path) -> dict[str, Any]:
    """Return the content of ``selection.json`` of a finished run."""
    try:
        about = orjson.loads((folder / ABOUT).read_bytes())
    except FileNotFoundError:
        raise RunError(
            f"{folder}: is not a finished selection run (no {ABOUT}); finish it with: "
            f"rejoinder select TESTSET -o {folder}"
        ) from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(f"{folder / ABOUT}: cannot be read ({error})") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise RunError(f"{folder}: was written by another version of rejoinder; select again")
    if not fits_shape(about, _ABOUT_SHAPE) or not about["systems"]:
        raise RunError(f"{folder / ABOUT}: is damaged; select again")
    return about


def record_system_time(folder: Path, system: str, seconds: float, n: int) -> None:
    """Add the time that a system took to ``timings.json``."""
    try:
        times = orjson.loads((folder / TIMINGS).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        times = {}
    write_json(folder / TIMINGS, {**times, system: {"seconds": round(seconds, 3), "questions": n}})
