"""One system's scores in a file: a head with its signature, a line a question, and at the end the check of order and
a digest.

A system that was stopped goes on where it was: its lines stand in a hidden file until the last is there. NaN is null;
an infinite score, which JSON has no number for, is the word ``inf`` or ``-inf``.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import orjson

from rejoinder.engines.contract import Engine
from rejoinder.errors import RunError, brief
from rejoinder.selection.answering import Line, Progress, name_of, parts
from rejoinder.selection.asking import ask_parts
from rejoinder.selection.placing import turn_round
from rejoinder.selection.result import Turned
from rejoinder.systems import System
from rejoinder.types import Question


class Answers(NamedTuple):
    """What one system said of all questions."""

    system: str
    signature: str
    digest: str
    lines: list[Line]
    turned: Turned


def file_name(system: str, signature: str) -> str:
    """A system's file: what a person can read, and what tells it from others."""
    told = re.sub(r"[^A-Za-z0-9]+", "-", system).strip("-")[:40] or "system"
    return f"{told}-{hashlib.sha256(signature.encode()).hexdigest()[:8]}.jsonl"


def fill(
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
    head = {"system": name_of(system), "spec": str(system), "signature": signature, "questions": digest}
    with _held(path.with_name(f".{path.name}.part")) as part:
        done = _kept(part, head, questions) if len(parts(system, questions)) > 1 else 0
        if not done:
            part.seek(0)
            part.truncate()
            part.write(orjson.dumps(head) + b"\n")
        waiting = parts(system, questions[done:]) if done < len(questions) else []
        for some, lines in ask_parts(system, waiting, engine):
            for question, line in zip(some, lines, strict=True):
                part.write(orjson.dumps({"question": question.id, "scores": [_told(s) for s in line]}) + b"\n")
            part.flush()
            done += len(some)
            show(done, len(questions))
        check = turn_round(system, questions, turned)
        part.seek(0)
        last = {"turned": {"asked": check.asked, "changed": check.changed}, "sha256": _sha256(part.read())}
        part.write(orjson.dumps(last) + b"\n")
        part.flush()
        os.fsync(part.fileno())
        os.replace(part.name, path)


def read(path: Path) -> Answers:
    """A finished file."""
    try:
        raw = path.read_bytes().splitlines(keepends=True)
        head, *lines, last = [orjson.loads(line) for line in raw]
        if last.get("sha256", digest := _sha256(b"".join(raw[:-1]))) != digest:
            raise ValueError("it was changed since it was written")
        scores = [tuple(_meant(score) for score in line["scores"]) for line in lines]
        return Answers(head["system"], head["signature"], head["questions"], scores, Turned(**last["turned"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path}: cannot be read ({brief(str(error), 200)}); remove it and select again") from None


def _kept(part: IO[bytes], head: dict[str, str], questions: Sequence[Question]) -> int:
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
def _held(path: Path) -> Iterator[IO[bytes]]:
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


def _sha256(raw: bytes) -> str:
    """The digest of all lines before the last, which a file of an earlier version does not have."""
    return hashlib.sha256(raw).hexdigest()


def _told(score: float) -> Any:
    if math.isnan(score):
        return None
    return score if math.isfinite(score) else ("inf" if score > 0 else "-inf")


def _meant(score: Any) -> float:
    return math.nan if score is None else float(score)
