"""The folder of a run: claimed by one process, cleared of files of another plan, finished by ``run.json``."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import orjson

from rejoinder.data.shape import fits_shape
from rejoinder.errors import InputError, RunError, brief, shorten_path
from rejoinder.files import is_part
from rejoinder.scoring.flags import MEANINGS
from rejoinder.scoring.run_parts import list_run_parts, merge_run_parts

FORMAT = 1
DATA, SCORES, DIALOGUES, CHUNKS = "data.jsonl", "scores.jsonl", "dialogues.jsonl", ".scores"
FILES = (DATA, SCORES, DIALOGUES)  # the files that a run's numbers rest on, besides the traces of its metrics
_LONGEST_TRACE = 16 * 2**20
_MAYBE = type(None)
_MODEL = {"name": str, "licence": str, "digest": str, "weights?": str}
_METRIC = {
    "spec": str, "signature": str, "higher_is_better": (bool, _MAYBE), "needs": [str], "range": [(float, _MAYBE)],
    "languages?": str, "n": int, "missing": int, "cut?": int, "models?": [_MODEL],
}  # fmt: skip
_ABOUT = {
    "id": str, "inputs": [{"name": str, "sha256": str, "bytes": int, "left_out?": {str: int}}], "empty": str,
    "matched": bool, "metrics": [_METRIC], "counts": {str: int}, "systems": {str: int}, "flags": {str: int},
    "versions": {str: str}, "files?": {str: {"lines": int, "bytes": int, "sha256": str}},
}  # fmt: skip
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/")  # a path has one slash where an address had two


def read_finished_run(folder: Path, identity: str) -> dict[str, Any] | None:
    """Return the ``run.json`` of a finished run in a folder; None where there is none yet."""
    try:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return None
    except OSError as error:
        raise RunError(f"{shorten_path(folder)}: cannot be used ({error.strerror}); choose another folder") from None
    if not folder.is_dir():
        raise RunError(f"{folder}: is a file; name a folder for the run")
    if (folder / "run.json").exists():
        about = read_run_about(folder)
        if about.get("id") != identity:
            raise RunError(f"{folder}: holds another run (other input or other metrics); choose another folder")
        return about
    marker = folder / ".unfinished"
    if not marker.is_file():
        raise RunError(f"{folder}: is not empty and holds no run; choose another folder")
    return None


@contextlib.contextmanager
def claim_run_folder(folder: Path, identity: str, traces: Sequence[str] = ()) -> Iterator[dict[str, Any] | None]:
    """Claim a folder for this process; the files of an unfinished run of another plan are removed, and nothing else.

    Gives the ``run.json`` where another process has finished the run meanwhile. ``traces`` are files that this run
    writes in addition to those of every run.
    """
    marker = folder / ".unfinished"
    with _lock_folder(folder, marker) as lock:
        if (folder / "run.json").exists():
            marker.unlink()
            yield read_finished_run(folder, identity)
            return
        lock.seek(0)
        identity_before, *names = lock.read().splitlines() or [""]
        # The marker may come from anybody too: a file that it names is removed only if a run wrote it.
        left = [name for name in names if _is_trace_file(folder / name)]
        _clear_folder(folder, [*left, *traces], chunks=identity_before != identity)
        lock.seek(0)
        lock.truncate()
        lock.write("\n".join([identity, *traces]))
        lock.flush()
        try:
            yield None
        except InputError:  # the run cannot continue: leave nothing behind
            _clear_folder(folder, traces)
            marker.unlink()
            with contextlib.suppress(OSError):
                folder.rmdir()
            raise
        marker.unlink()


@contextlib.contextmanager
def _lock_folder(folder: Path, marker: Path) -> Iterator[IO[str]]:
    """The marker of an unfinished run, locked by this process."""
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = _open_marker(marker)
        except OSError as error:
            raise RunError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from None
        with lock:
            try:
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # no such locks on this system: the user must not write two runs to one folder
                pass
            except OSError:
                raise RunError(
                    f"{folder}: another process is writing this run; wait for it to end, then run this command again"
                ) from None
            # Another process may have removed the marker after we opened it and before we locked it: then try again.
            if marker.exists() and os.path.samestat(marker.stat(), os.fstat(lock.fileno())):
                yield lock
                return


def _open_marker(marker: Path) -> IO[str]:
    """Open the marker to read and append; one that a run cannot have made, such as a link, is refused unread."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    refusal = RunError(
        f"{marker}: is a link or no ordinary file, so no run made it; remove it, or choose another folder"
    )
    if marker.is_symlink():
        raise refusal
    descriptor = os.open(marker, flags, 0o666)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise refusal
    return open(descriptor, "a+", encoding="utf-8", errors="replace")


def _is_trace_file(path: Path) -> bool:
    """Whether a file holds the traces of a metric: its first line says of which response and metric it is."""
    try:
        if path.is_symlink() or not path.is_file():
            return False
        with path.open("rb") as file:
            first = orjson.loads(file.readline(_LONGEST_TRACE))
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and {"response", "metric"} <= first.keys()


def _clear_folder(folder: Path, traces: Iterable[str], chunks: bool = True) -> None:
    """Remove the files of an unfinished run, their unfinished parts and, with ``chunks``, its chunks."""
    names = [*FILES, "timings.json", "run.json", *traces]
    for entry in folder.iterdir():
        if (entry.name in names or is_part(entry.name, names)) and (entry.is_symlink() or not entry.is_dir()):
            entry.unlink()
    if (folder / CHUNKS).is_symlink():  # the chunks would be written to where it leads
        (folder / CHUNKS).unlink()
    elif chunks:
        shutil.rmtree(folder / CHUNKS, ignore_errors=True)


def describe_run_files(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return sha256, bytes and lines of each of the named files that a folder has."""
    return {name: _describe_file(folder / name) for name in names if (folder / name).is_file()}


def check_run_files(folder: Path, names: Collection[str] | None = None) -> None:
    """Raise where a file of a run (of each of its shards) was changed; with ``names``, check only these files."""
    for part in list_run_parts(folder):
        about = _read_about(part)
        expected = about.get("files") or _count_lines(about)
        check_described_files(part, {name: of for name, of in expected.items() if names is None or name in names})


def check_described_files(folder: Path, files: Mapping[str, dict[str, Any]]) -> None:
    """Raise where one of the files does not fit its description."""
    for name, expected in files.items():
        _check_file(folder, name, expected)


def _check_file(folder: Path, name: str, expected: dict[str, Any]) -> None:
    path = folder / name
    remedy = f"the run is damaged: remove {folder} and run the command that wrote it again"
    try:
        actual = _describe_file(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
    if actual["lines"] != expected["lines"]:
        raise RunError(f"{path}: has {actual['lines']:,} lines instead of {expected['lines']:,}; {remedy}")
    if any(actual[key] != value for key, value in expected.items()):
        raise RunError(f"{path}: was changed after it was written (its sha256 differs); {remedy}")


def _count_lines(about: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The number of lines of the files of a run of an earlier version, which stored no digests."""
    return {SCORES: {"lines": sum(about["systems"].values())}, DATA: {"lines": sum(about["counts"].values())}}


def _describe_file(path: Path) -> dict[str, Any]:
    digest, size, lines = hashlib.sha256(), 0, 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
            size += len(block)
            lines += block.count(b"\n")
    return {"sha256": digest.hexdigest(), "bytes": size, "lines": lines}


def read_run_about(folder: Path) -> dict[str, Any]:
    """Return the ``run.json`` of a finished run; for a run over shards, those of its shards merged."""
    if not os.path.isdir(folder) and _ADDRESS.match(str(folder)):
        raise RunError(f"{folder}: is a remote address; copy the run to this machine first, and name that folder")
    if not os.path.isdir(folder):
        name = shorten_path(folder)
        raise RunError(f"{name}: no such run folder; make one with: rejoinder score FILE -o {name}")
    parts = list_run_parts(folder)
    return _read_about(folder) if parts == [folder] else merge_run_parts([_read_about(part) for part in parts])


def _read_about(folder: Path) -> dict[str, Any]:
    try:
        about = orjson.loads((folder / "run.json").read_bytes())
    except FileNotFoundError:
        raise RunError(f"{folder}: holds no finished run (no run.json); finish it with: rejoinder score") from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(f"{folder / 'run.json'}: cannot be read ({error})") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise RunError(f"{folder}: was written by another version of rejoinder; score the input again")
    if not fits_shape(about, _ABOUT) or not all(len(metric["range"]) == 2 for metric in about["metrics"]):
        raise RunError(f"{folder / 'run.json'}: is damaged; score the input again")
    if unknown := [flag for flag in about["flags"] if flag not in MEANINGS]:
        raise RunError(
            f"{folder / 'run.json'}: has the flag {brief(unknown[0])}, which this version does not know (known: "
            f"{', '.join(MEANINGS)}); score the input again"
        )
    return about
