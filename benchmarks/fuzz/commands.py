"""Commands with one of their files damaged: a result or one line of error, and nothing left behind."""

from __future__ import annotations

import collections
import contextlib
import gc
import json
import os
import random
import re
import shlex
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.fuzz.cases import CASES, Case
from benchmarks.fuzz.damage import damage
from benchmarks.fuzz.inputs import Ending, inside, make_inputs, run

SECONDS = 20  # of a processor; a command on files of some lines that takes longer hangs
_WAITING = 6  # times as long may it take on a busy machine
_MODELS = 20  # files that models keep open for good, once they are loaded
_LONGEST = 1_500  # characters of a line of error
_LONE = re.compile("[\x00-\x08\x0b-\x1f\x7f\x9b\ud800-\udfff]")


_LIGHT = tuple(case for case in CASES if not case.heavy)
_ROUND = (*_LIGHT * 10, *(case for case in CASES if case.heavy))


class Hang(BaseException):
    """A command that takes too long; nothing in it can catch this by mistake."""


def _stop(signum: int, frame: FrameType | None) -> None:
    raise Hang


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise Hang where a block computes for longer, or waits for much longer."""
    clocks = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, seconds * _WAITING)}
    before = {number: signal.signal(number, _stop) for number in clocks}
    for clock, allowed in clocks.values():
        signal.setitimer(clock, allowed)
    try:
        yield
    finally:
        for number, (clock, _) in clocks.items():
            signal.setitimer(clock, 0)
            signal.signal(number, before[number])


def listing(folder: Path) -> set[str]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def open_files() -> int:
    """How many files this process has open, once what nobody holds is gone; 0 where the system does not say."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def copy_inputs(case: Case, inputs: Path, target: Path) -> None:
    """The inputs of a case, each under its name or, written ``NAME:PATH``, under another."""
    for one in case.inputs.split():
        name, _, path = one.partition(":")
        to = target / (path or name)
        to.parent.mkdir(parents=True, exist_ok=True)
        if (inputs / name).is_dir():
            shutil.copytree(inputs / name, to)
        else:
            shutil.copy(inputs / name, to)


def prepare(seed: int, inputs: Path, target: Path) -> tuple[Case, str]:
    """The case of a seed with its inputs in a folder, one of them damaged, and how."""
    r = random.Random(f"commands/{seed}")
    case = _ROUND[seed % len(_ROUND)]
    copy_inputs(case, inputs, target)
    chosen = case.damaged.split() or [one.partition(":")[2] or one for one in case.inputs.split()]
    files = sorted(path for path in target.rglob("*") if path.is_file() and _within(path, target, chosen))
    path = r.choice(files)
    others = sorted(one for one in inputs.rglob("*") if one.is_file())
    how = [damage(path, others, r)]
    if path.is_file() and r.random() < 0.2:
        how.append(damage(path, others, r))
    return case, f"{path.relative_to(target)}: {' and '.join(how)}"


def _within(path: Path, target: Path, chosen: Sequence[str]) -> bool:
    return any(path == target / one or (target / one) in path.parents for one in chosen)


def run_case(case: Case, folder: Path) -> tuple[Ending, list[str]]:
    """Run a case in its folder; also the warnings that Python gave."""
    words, _, source = case.words.partition(" <")
    given = b""
    if source and (folder / source).is_file():
        given = (folder / source).read_bytes()
    with inside(folder), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ended = run(words.split(), given)
    told = [f"{one.category.__name__}: {one.message}" for one in caught]
    return ended, [one for one in told if not one.startswith(("DeprecationWarning", "ImportWarning"))]


def complaint(case: Case, ended: Ending, told: Sequence[str], folder: Path, before: set[str]) -> str | None:
    """What is wrong with how a command ended; None where all is well."""
    if ended.crash:
        return f"traceback: {ended.crash}"
    if ended.status not in (0, 1, 2, 3):
        return f"exit status {ended.status}: {ended.err[-300:]!r}"
    if told:
        return f"warnings: {sorted(set(told))[:3]}"
    if ended.status == 2 and (wrong := error_of(ended.err)):
        return wrong
    new = listing(folder) - before
    if ended.status == 2 and new and not _stays(case, new):
        return f"left behind: {sorted(new)[:4]}"
    if ended.status == 0:
        if hidden := [name for name in new if "/." in f"/{name}" or name.endswith((".part", ".tmp"))]:
            return f"left behind: {hidden[:4]}"
        shown = [ended.out] if "--format json" in case.words else []
        written = [folder / name for name in sorted(new) if name.endswith((".json", ".jsonl"))]
        return next(filter(None, [*map(_whole, shown), *(_lines(path) for path in written)]), None)
    return None


def _stays(case: Case, new: set[str]) -> bool:
    """Whether what an error leaves is meant to stay: a database that was opened, the shards that were scored."""
    meant = {"annotate": "out.db", "score shards-in": "out/shards/"}
    return any(case.words.startswith(words) and all(n.startswith(where) for n in new) for words, where in meant.items())


def error_of(err: str) -> str | None:
    """What is wrong with an error as it was shown; None where it is one line that can be read."""
    errors = [line for line in err.split("\n") if line.startswith("rejoinder: ")]
    if len(errors) != 1 or not err.endswith(errors[0] + "\n"):
        return f"not one line of error at the end: {err[-300:]!r}"
    said = errors[0].removeprefix("rejoinder: ").strip()
    if len(said) < 10 or len(said) > _LONGEST or _LONE.search(said):
        return f"an error that is empty, too long or cannot be shown: {said[:300]!r}"
    return None


def _number(text: str) -> Any:
    raise ValueError(f"{text} in JSON")


def _whole(text: str) -> str | None:
    try:
        value = json.loads(text, parse_constant=_number)
        return "an infinite number in JSON" if "Infinity" in json.dumps(value) else None
    except ValueError as error:
        return f"output is no JSON ({error}): {text[:200]!r}"


def _lines(path: Path) -> str | None:
    text = path.read_text(encoding="utf-8")
    parts = text.split("\n")[:-1] if path.suffix == ".jsonl" else [text]  # not splitlines(): a text may hold U+2028
    for part in parts:
        if found := _whole(part):
            return f"{path.name}: {found}"
    return None


def try_seeds(seeds: Sequence[int]) -> tuple[collections.Counter[str], list[str]]:
    """One command with one damaged file a seed: how they ended, and what went wrong."""
    ended: collections.Counter[str] = collections.Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        inputs = Path(scratch) / "inputs"
        inputs.mkdir()
        make_inputs(inputs)
        try_seed(seeds[0], inputs, Path(scratch) / "work")
        before = open_files()
        for seed in seeds:
            found, status = try_seed(seed, inputs, Path(scratch) / "work")
            ended[status] += 1
            if found:
                wrong.append(f"commands {seed}: {found}")
        if (left := open_files() - before) > _MODELS:
            wrong.append(f"commands {seeds[0]} to {seeds[-1]}: {left} files were left open")
    return ended, wrong


def try_seed(seed: int, inputs: Path, folder: Path) -> tuple[str | None, str]:
    """The complaint about a seed, if any, and how its command ended."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tmp").mkdir(parents=True)
    target = folder / "in"
    target.mkdir()
    case, how = prepare(seed, inputs, target)
    before = listing(target)
    kept, tempfile.tempdir = tempfile.tempdir, str(folder / "tmp")
    try:
        with limit(SECONDS):
            ended, told = run_case(case, target)
    except Hang:
        return f"{shlex.join(case.words.split())} ({how}): takes longer than {SECONDS} s", "hang"
    finally:
        tempfile.tempdir = kept
    found = complaint(case, ended, told, target, before)
    if found is None and (left := listing(folder / "tmp")):
        found = f"left in the folder for temporary files: {sorted(left)[:4]}"
    status = {0: "result", 1: "status 1", 2: "one line of error", 3: "status 3"}.get(ended.status or 0, "other")
    return found and f"{shlex.join(case.words.split())} ({how}): {found}", status


def check_cases() -> list[str]:
    """The cases whose command fails with undamaged inputs: they would try nothing."""
    failing = []
    with tempfile.TemporaryDirectory() as scratch:
        inputs = Path(scratch) / "inputs"
        inputs.mkdir()
        make_inputs(inputs)
        for number, case in enumerate(CASES):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            copy_inputs(case, inputs, folder)
            before = listing(folder)
            ended, told = run_case(case, folder)
            wrong = complaint(case, ended, told, folder, before)
            expected = case.refusal in ended.err if case.refusal else ended.status != 2
            if wrong or not expected:
                failing.append(f"{case.words}: {ended.status}, {ended.err[-300:]}, {wrong}")
    return failing
