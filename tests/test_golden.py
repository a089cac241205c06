"""What must stay the same byte for byte, whatever moves inside: specs, signatures, scores, run folders, HTTP, weights.

Everything here goes through the command line, HTTP or first-level names of ``rejoinder``. A change of format that is
meant is written down by ``python tests/test_golden.py`` and shows in the diff.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rejoinder

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden"
CHATS = ROOT / "examples" / "chats.jsonl"
METRICS = ["aptness(model='bi')", "bleu", "chrf", "context_overlap", "distinct", "length", "meteor", "rouge_l"]
QUESTIONS = [
    {
        "kind": "question",
        "id": f"q{n}",
        "context": [{"speaker": "guest", "text": f"Which bus goes to pier {n}?"}],
        "situation": [{"text": "The pier is closed in winter.", "category": "place"}],
        "candidates": [
            {"text": f"Bus {n} stops at the pier.", "grade": "true"},
            {"text": "I prefer my tea without milk.", "grade": "false"},
            {"text": "The bus driver plays chess.", "grade": "false"},
        ],
    }
    for n in range(4)
]
TALK = {"context": [{"speaker": "guest", "text": "Is the pool open?"}], "reply": "Yes, from seven to nine."}
REQUESTS: dict[str, dict[str, Any]] = {
    "score": {"metrics": ["aptness(model='bi')", "bleu"], "pairs": [{**TALK, "references": ["Yes, until nine."]}]},
    "rank": {"system": "tfidf", "context": ["It is cold here."], "candidates": ["Shall I close it?", "It is cold."]},
    "select": {"systems": ["tfidf"], "questions": [{k: QUESTIONS[0][k] for k in ("context", "candidates")}]},
    "augment": {
        "items": [{"context": ["Is the pool open?"], "references": ["Yes, it is open until nine."]}],
        "plan": {"k": 2, "retrieval": "none", "paraphrase": "rewording"},
    },
    "explain": {**TALK, "metric": "context_overlap"},
    "attack": {**TALK, "metric": "context_overlap"},
}
EXITS = {
    "no command": [],
    "an unknown command": ["nothing"],
    "help": ["--help"],
    "a missing file": ["score", "missing.jsonl"],
    "an unknown metric": ["score", str(CHATS), "-m", "nothing"],
    "a missing run": ["compare", "missing"],
    "the list of metrics": ["list", "metrics"],
    "an unknown option": ["score", "--nothing"],
}


def run_command(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    moved = {"REJOINDER_CACHE": str(folder / "cache"), "REJOINDER_DATA": str(folder / "data")}
    command = [sys.executable, "-m", "rejoinder", *words]
    return subprocess.run(command, cwd=folder, env={**os.environ, **moved}, capture_output=True, text=True)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files_of(folder: Path) -> dict[str, str]:
    """The digest of every file of a run, but for its timings and what names versions of Python and of libraries."""
    return {
        str(path.relative_to(folder)): digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("timings.json", "run.json")
    }


def signatures() -> dict[str, Any]:
    """The spec, the signature and the contract of every metric that needs nothing to be fetched."""
    rows = {}
    for name in rejoinder.metric.metric_names():
        try:
            metric = rejoinder.parse(name)
            signature = rejoinder.signature(metric)
        except rejoinder.RejoinderError as error:
            rows[name] = [name, type(error).__name__]
            continue
        assert rejoinder.parse(str(metric)) == metric
        low, high = (str(bound) for bound in metric.range)
        rows[name] = [str(metric), signature, sorted(metric.needs), low, high, metric.higher_is_better]
    return rows


def weights() -> dict[str, str]:
    root = Path(rejoinder.__file__).parents[2]
    folders = [root / "src" / "rejoinder" / "models" / "weights", root / "lab" / "src" / "rejoinder_lab" / "weights"]
    kept = {".onnx", ".int8", ".float32", ".safetensors", ".json", ".npz"}
    paths = {str(p.relative_to(f)): p for f in folders for p in f.rglob("*") if p.suffix in kept}
    return {name: digest(path) for name, path in sorted(paths.items())}


def run_folders() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = [word for spec in METRICS for word in ("-m", spec)]
        done = run_command("score", str(CHATS), *wanted, "-o", "scores", folder=folder)
        assert done.returncode == 0, done.stderr
        testset = folder / "testset.jsonl"
        testset.write_text("".join(json.dumps(q) + "\n" for q in QUESTIONS), encoding="utf-8")
        done = run_command("select", "testset.jsonl", "--system", "tfidf", "-o", "selection", folder=folder)
        assert done.returncode == 0, done.stderr
        done = run_command(
            "rank", "testset.jsonl", "--ranker", "tfidf", "-o", "ranking", "--write", "order.jsonl", folder=folder
        )
        assert done.returncode == 0, done.stderr
        made = {kind: files_of(folder / kind) for kind in ("scores", "selection", "ranking")}
        run = json.loads((folder / "scores" / "run.json").read_text(encoding="utf-8"))
        run.pop("versions")
        return {**made, "order": digest(folder / "order.jsonl"), "run": run}


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    words = ["serve", str(folder), "--port", "0", "--token", "a-token-for-tests-only"]
    command = [sys.executable, "-m", "rejoinder", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "http://127.0.0.1:" in line:
                port = line.partition("http://127.0.0.1:")[2].partition("/")[0].strip()
                yield f"http://127.0.0.1:{port}"
                break
        else:
            raise AssertionError("the server did not start")
    finally:
        process.terminate()
        process.communicate(timeout=30)


def ask(url: str, body: dict[str, Any] | None = None) -> list[Any]:
    headers = {"Authorization": "Bearer a-token-for-tests-only", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=120) as reply:
            return [reply.status, json.load(reply)]
    except urllib.error.HTTPError as error:
        with error:
            return [error.code, sorted(json.load(error))]


def http() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name, server(Path(name)) as url:
        replies = {verb: ask(f"{url}/{verb}", body) for verb, body in REQUESTS.items()}
        paths = ask(f"{url}/openapi.json")[1]["paths"]
        replies["paths"] = {path: sorted(methods) for path, methods in sorted(paths.items())}
        replies["an unknown key"] = ask(f"{url}/score", {"nothing": 1})
        return replies


def exits() -> dict[str, int]:
    with tempfile.TemporaryDirectory() as name:
        return {what: run_command(*words, folder=Path(name)).returncode for what, words in EXITS.items()}


PARTS = {"signatures": signatures, "weights": weights, "run_folders": run_folders, "http": http, "exits": exits}


@pytest.mark.parametrize("part", PARTS)
def test_nothing_that_users_keep_or_parse_has_changed(part: str) -> None:
    expected = json.loads((GOLDEN / f"{part}.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(PARTS[part]())) == expected


if __name__ == "__main__":
    for part, make in PARTS.items():
        text = json.dumps(make(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        (GOLDEN / f"{part}.json").write_text(text, encoding="utf-8")
        print(part)
