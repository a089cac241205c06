"""The folder of a selection run: it stands alone, and grows by the systems that are asked later.

``questions.jsonl`` is the test set as it was read, ``card.json`` and ``card.md`` its card where there is one,
``systems/NAME.jsonl`` what one system said (a head with its signature, a line a question, and the check of order), and
``selection.json``, written last, lists what is there. ``timings.json`` is all that differs between two runs of the same
command.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import orjson

from rejoinder.data.collection import read_files
from rejoinder.data.objects import turn_object
from rejoinder.data.shape import fits
from rejoinder.data.writer import write
from rejoinder.engines.base import Engine
from rejoinder.errors import InputError, RunError, brief
from rejoinder.files import put_in_place, sha256_of_bytes
from rejoinder.scoring.folder import write_json
from rejoinder.selection.answers import Progress, ScoreLine, score_parts, split_questions, system_name
from rejoinder.selection.position_bias import check_order
from rejoinder.selection.result import OrderCheck
from rejoinder.systems import System
from rejoinder.types import Question

FORMAT = 1
ABOUT, QUESTIONS, SYSTEMS, TIMINGS = "selection.json", "questions.jsonl", "systems", "timings.json"
_ABOUT_SHAPE = {
    "input": {"name": str, "sha256": str, "bytes": int}, "digest": str, "questions": int, "versions": {str: str},
    "systems": [{"system": str, "signature": str, "file": str}],
    "files?": {str: {"lines": int, "bytes": int, "sha256": str}},
}  # fmt: skip


def digest_questions(questions: Sequence[Question]) -> str:
    """A sha256 over all that a system may look at: not over grades, labels or sources, which may come later."""
    whole = hashlib.sha256()
    for question in questions:
        seen = [
            question.id,
            [turn_object(turn) for turn in question.context],
            [[statement.text, statement.category] for statement in question.situation],
            [candidate.text for candidate in question.candidates],
            dict(question.meta),
        ]
        whole.update(orjson.dumps(seen, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS) + b"\n")
    return whole.hexdigest()


def is_selection_run(path: Path) -> bool:
    """Whether a path is the folder of a selection run."""
    return os.path.isfile(path / ABOUT)  # False, too, where it cannot be seen


def prepare_folder(folder: Path, questions: Sequence[Question], digest: str) -> None:
    """Make the folder ready for these questions; one that holds anything else is an error."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: is a file; a run needs a folder of its own")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / QUESTIONS).is_file():
            raise RunError(f"{folder}: is not empty and holds no selection; choose another folder with -o")
        if digest_questions(read_questions(folder)) != digest:
            raise RunError(f"{folder}: holds a selection of other questions; choose another folder with -o")
    try:
        (folder / SYSTEMS).mkdir(parents=True, exist_ok=True)
        write(questions, folder / QUESTIONS)
    except (OSError, InputError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RunError(f"{folder}: cannot be written ({reason}); choose another folder with -o") from None


def copy_card(given: str, folder: Path) -> None:
    """Take the card that stands beside a test set along."""
    if given == "-" or given.startswith("dataset:"):
        return
    base = given.removesuffix(".gz").removesuffix(".jsonl")
    for ending in ("json", "md"):
        card = Path(f"{base}.card.{ending}")
        if card.is_file():
            shutil.copyfile(card, folder / f"card.{ending}")


def read_questions(folder: Path) -> list[Question]:
    """The questions of a run."""
    return list(read_files([folder / QUESTIONS]).questions.values())


def read_about(folder: Path) -> dict[str, Any]:
    """``selection.json`` of a finished run."""
    try:
        about = orjson.loads((folder / ABOUT).read_bytes())
    except FileNotFoundError:
        raise RunError(
            f"{folder}: holds no finished selection (no {ABOUT}); finish it with: rejoinder select TESTSET -o {folder}"
        ) from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(f"{folder / ABOUT}: cannot be read ({error})") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise RunError(f"{folder}: was written by another version of rejoinder; select again")
    if not fits(about, _ABOUT_SHAPE) or not about["systems"]:
        raise RunError(f"{folder / ABOUT}: is not as it was written; select again")
    return about


def record_time(folder: Path, system: str, seconds: float, n: int) -> None:
    """Add how long a system took to what earlier commands noted."""
    try:
        told = orjson.loads((folder / TIMINGS).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        told = {}
    write_json(folder / TIMINGS, {**told, system: {"seconds": round(seconds, 3), "questions": n}})


class SystemAnswers(NamedTuple):
    """What one system said of all questions."""

    system: str
    signature: str
    digest: str
    lines: list[ScoreLine]
    turned: OrderCheck


def answer_file_name(system: str, signature: str) -> str:
    """A system's file: what a person can read, and what tells it from others."""
    told = re.sub(r"[^A-Za-z0-9]+", "-", system).strip("-")[:40] or "system"
    return f"{told}-{sha256_of_bytes(signature.encode())[:8]}.jsonl"


def complete_answers(
    path: Path,
    system: System,
    signature: str,
    digest: str,
    questions: Sequence[Question],
    turned: int,
    show: Progress,
    engine: Engine | None = None,
) -> None:
    """Ask the system what is not yet in its file, by an engine if there is one; all there, the file gets its name."""
    head = {"system": system_name(system), "spec": str(system), "signature": signature, "questions": digest}
    with _lock_file(path.with_name(f".{path.name}.part")) as part:
        done = _count_complete(part, head, questions) if len(split_questions(system, questions)) > 1 else 0
        if not done:
            part.seek(0)
            part.truncate()
            part.write(orjson.dumps(head) + b"\n")
        waiting = split_questions(system, questions[done:]) if done < len(questions) else []
        for some, lines in score_parts(system, waiting, engine):
            for question, line in zip(some, lines, strict=True):
                part.write(orjson.dumps({"question": question.id, "scores": [_encode_score(s) for s in line]}) + b"\n")
            part.flush()
            done += len(some)
            show(done, len(questions))
        check = check_order(system, questions, turned)
        part.seek(0)
        last = {"turned": {"asked": check.asked, "changed": check.changed}, "sha256": sha256_of_bytes(part.read())}
        part.write(orjson.dumps(last) + b"\n")
        part.flush()
        os.fsync(part.fileno())
        put_in_place(part.name, path)


def read_answers(path: Path) -> SystemAnswers:
    """A finished file."""
    try:
        raw = path.read_bytes().splitlines(keepends=True)
        head, *lines, last = [orjson.loads(line) for line in raw]
        # A file of an earlier version has no digest of its lines.
        if last.get("sha256", digest := sha256_of_bytes(b"".join(raw[:-1]))) != digest:
            raise ValueError("it was changed since it was written")
        scores = [tuple(_decode_score(score) for score in line["scores"]) for line in lines]
        return SystemAnswers(head["system"], head["signature"], head["questions"], scores, OrderCheck(**last["turned"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path}: cannot be read ({brief(str(error), 200)}); remove it and select again") from None


def _count_complete(part: IO[bytes], head: dict[str, str], questions: Sequence[Question]) -> int:
    """How many questions an unfinished file has for good; what follows them is cut off."""
    part.seek(0)
    first = part.readline()
    if first != orjson.dumps(head) + b"\n":
        return 0
    kept, end = 0, part.tell()
    for question, line in zip(questions, part.read().splitlines(keepends=True), strict=False):
        if not line.endswith(b"\n") or not line.startswith(b'{"question":' + orjson.dumps(question.id) + b","):
            break
        kept, end = kept + 1, end + len(line)
    part.seek(end)
    part.truncate()
    return kept


@contextmanager
def _lock_file(path: Path) -> Iterator[IO[bytes]]:
    """An unfinished file that this process alone writes."""
    with open(path, "a+b") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no such locks on this system: two commands on one system are then the user's affair
            pass
        except OSError:
            raise RunError(f"{path}: another process is asking this system; wait for it to end") from None
        yield file


def _encode_score(score: float) -> Any:
    if math.isnan(score):
        return None
    return score if math.isfinite(score) else ("inf" if score > 0 else "-inf")


def _decode_score(score: Any) -> float:
    return math.nan if score is None else float(score)
