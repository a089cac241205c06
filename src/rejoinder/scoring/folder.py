"""The folder of a run: claimed by one process, cleared of what another plan left, finished by ``run.json``."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import orjson

from rejoinder.data.shape import fits
from rejoinder.errors import InputError, RunError, shorten_path
from rejoinder.files import atomic_write, is_part
from rejoinder.scoring.sharded.reader import list_run_parts, merge_parts

FORMAT = 1
DATA, SCORES, DIALOGUES, CHUNKS = "data.jsonl", "scores.jsonl", "dialogues.jsonl", ".scores"
FILES = (DATA, SCORES, DIALOGUES)  # on which the numbers of a run stand, beside the traces of its metrics
_MAYBE = type(None)
_METRIC = {
    "spec": str, "signature": str, "higher_is_better": (bool, _MAYBE), "needs": [str], "range": [(float, _MAYBE)],
    "n": int, "missing": int, "cut?": int,
}  # fmt: skip
_ABOUT = {
    "id": str, "inputs": [{"name": str, "sha256": str, "bytes": int, "left_out?": {str: int}}], "empty": str,
    "matched": bool, "metrics": [_METRIC], "counts": {str: int}, "systems": {str: int}, "flags": {str: int},
    "versions": {str: str}, "files?": {str: {"lines": int, "bytes": int, "sha256": str}},
}  # fmt: skip
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/")  # a path has one slash where an address had two


def read_finished(folder: Path, identity: str) -> dict[str, Any] | None:
    """What a finished run in a folder says of itself; None where there is none yet."""
    try:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return None
    except OSError as error:
        raise RunError(f"{shorten_path(folder)}: cannot be used ({error.strerror}); choose another with -o") from None
    if not folder.is_dir():
        raise RunError(f"{folder}: is a file; a run needs a folder of its own")
    if (folder / "run.json").exists():
        about = read_about(folder)
        if about.get("id") != identity:
            raise RunError(f"{folder}: holds another run (other input or other metrics); choose another folder with -o")
        return about
    mark = folder / ".unfinished"
    if not mark.is_file():
        raise RunError(f"{folder}: is not empty and holds no run; choose another folder with -o")
    return None


@contextlib.contextmanager
def claim_folder(folder: Path, identity: str, traces: Sequence[str] = ()) -> Iterator[dict[str, Any] | None]:
    """A folder in which this process alone works; what a plan left there unfinished is removed, and nothing else.

    Where another process has finished the run meanwhile, what it says of itself. ``traces`` are files that the run
    writes beside those of every run.
    """
    mark = folder / ".unfinished"
    with _lock_folder(folder, mark) as lock:
        if (folder / "run.json").exists():
            mark.unlink()
            yield read_finished(folder, identity)
            return
        lock.seek(0)
        left, *names = lock.read().splitlines() or [""]
        _clear_folder(folder, names, chunks=left != identity)
        lock.seek(0)
        lock.truncate()
        lock.write("\n".join([identity, *traces]))
        lock.flush()
        try:
            yield None
        except InputError:  # nothing can go on from here: leave no trace
            _clear_folder(folder, traces)
            mark.unlink()
            with contextlib.suppress(OSError):
                folder.rmdir()
            raise
        mark.unlink()


@contextlib.contextmanager
def _lock_folder(folder: Path, mark: Path) -> Iterator[IO[str]]:
    """The mark of an unfinished run, held by this process alone."""
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = mark.open("a+")
        except OSError as error:
            raise RunError(f"{folder}: cannot be written ({error.strerror}); choose another folder with -o") from None
        with lock:
            try:
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # no such locks on this system: two runs into one folder are then the user's affair
                pass
            except OSError:
                raise RunError(f"{folder}: another process is writing this run; wait for it to end") from None
            # Whoever held it may have removed it between our opening and our lock: then it says nothing any more.
            if mark.exists() and os.path.samestat(mark.stat(), os.fstat(lock.fileno())):
                yield lock
                return


def _clear_folder(folder: Path, traces: Iterable[str], chunks: bool = True) -> None:
    """Remove the files of an unfinished run, their unfinished parts and, where asked, its chunks."""
    names = [*FILES, "timings.json", "run.json", *traces]
    for entry in folder.iterdir():
        if entry.name in names or is_part(entry.name, names):
            entry.unlink()
    if chunks:
        shutil.rmtree(folder / CHUNKS, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file that appears whole or not at all."""
    with atomic_write(path) as file:
        file.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def describe_files(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Those of the named files that a folder has, each with its sha256, its bytes and its lines."""
    return {name: _describe_file(folder / name) for name in names if (folder / name).is_file()}


def check_files(folder: Path, names: Collection[str] | None = None) -> None:
    """Raise where a file of a run (of each of its shards), or one of these, is not as the run wrote it."""
    for part in list_run_parts(folder):
        about = _read_about(part)
        expected = about.get("files") or _count_lines(about)
        check_described_files(part, {name: of for name, of in expected.items() if names is None or name in names})


def check_described_files(folder: Path, files: Mapping[str, dict[str, Any]]) -> None:
    """Raise where one of the files is not as it was described."""
    for name, expected in files.items():
        _check_file(folder, name, expected)


def _check_file(folder: Path, name: str, expected: dict[str, Any]) -> None:
    path = folder / name
    cure = f"the run is damaged: remove {folder} and give the command that wrote it again"
    try:
        found = _describe_file(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}); {cure}") from None
    if found["lines"] != expected["lines"]:
        raise RunError(f"{path}: has {found['lines']:,} lines instead of {expected['lines']:,}; {cure}")
    if any(found[key] != value for key, value in expected.items()):
        raise RunError(f"{path}: is not as it was written (its sha256 is another); {cure}")


def _count_lines(about: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is known of the files of a run of an earlier version, which kept no digests: how many lines they have."""
    return {SCORES: {"lines": sum(about["systems"].values())}, DATA: {"lines": sum(about["counts"].values())}}


def _describe_file(path: Path) -> dict[str, Any]:
    digest, size, lines = hashlib.sha256(), 0, 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
            size += len(block)
            lines += block.count(b"\n")
    return {"sha256": digest.hexdigest(), "bytes": size, "lines": lines}


def read_about(folder: Path) -> dict[str, Any]:
    """``run.json`` of a finished run; of a run over shards, what those of its shards say together."""
    if not os.path.isdir(folder) and _ADDRESS.match(str(folder)):
        raise RunError(f"{folder}: an address; copy the run here first, and name that folder")
    if not os.path.isdir(folder):
        shown = shorten_path(folder)
        raise RunError(f"{shown}: no such run folder; make one with: rejoinder score FILE -o {shown}")
    found = list_run_parts(folder)
    return _read_about(folder) if found == [folder] else merge_parts([_read_about(part) for part in found])


def _read_about(folder: Path) -> dict[str, Any]:
    try:
        about = orjson.loads((folder / "run.json").read_bytes())
    except FileNotFoundError:
        raise RunError(f"{folder}: holds no finished run (no run.json); finish it with: rejoinder score") from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(f"{folder / 'run.json'}: cannot be read ({error})") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise RunError(f"{folder}: was written by another version of rejoinder; score the input again")
    if not fits(about, _ABOUT) or not all(len(metric["range"]) == 2 for metric in about["metrics"]):
        raise RunError(f"{folder / 'run.json'}: is not as it was written; score the input again")
    return about
