"""The folder of a run: claimed by one process, cleared of what another plan left, finished by ``run.json``."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.shape import fits
from rejoinder.errors import InputError, RunError
from rejoinder.scoring.shard_reading import merged, parts

FORMAT = 1
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


def finished(folder: Path, identity: str) -> dict[str, Any] | None:
    """What a finished run in a folder says of itself; None where there is none yet."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if not folder.is_dir():
        raise RunError(f"{folder}: is a file; a run needs a folder of its own")
    if (folder / "run.json").is_file():
        about = read_about(folder)
        if about.get("id") != identity:
            raise RunError(f"{folder}: holds another run (other input or other metrics); choose another folder with -o")
        return about
    mark = folder / ".unfinished"
    if not mark.is_file():
        raise RunError(f"{folder}: is not empty and holds no run; choose another folder with -o")
    return None


@contextlib.contextmanager
def claimed(folder: Path, identity: str) -> Iterator[None]:
    """A folder in which this process alone works; what another plan left there unfinished is cleared away."""
    mark = folder / ".unfinished"
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
        lock.seek(0)
        if lock.read() != identity:
            _clear(folder)
            lock.seek(0)
            lock.truncate()
            lock.write(identity)
            lock.flush()
        else:
            _clear(folder, keep=".scores")
        try:
            yield
        except InputError:  # nothing can go on from here: leave no trace
            _clear(folder)
            mark.unlink()
            with contextlib.suppress(OSError):
                folder.rmdir()
            raise
        mark.unlink()


def _clear(folder: Path, keep: str = "") -> None:
    for entry in folder.iterdir():
        if entry.name in (".unfinished", keep):
            continue
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file that appears whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    os.replace(part, path)


def read_about(folder: Path) -> dict[str, Any]:
    """``run.json`` of a finished run; of a run over shards, what those of its shards say together."""
    if not folder.is_dir() and _ADDRESS.match(str(folder)):
        raise RunError(f"{folder}: an address; copy the run here first, and name that folder")
    if not folder.is_dir():
        raise RunError(f"{folder}: no such run folder; make one with: rejoinder score FILE -o {folder}")
    found = parts(folder)
    return _read_about(folder) if found == [folder] else merged([_read_about(part) for part in found])


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
