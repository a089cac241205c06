"""A small library of runs and test sets, and clients of ``rejoinder serve`` over it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rejoinder.scoring.run import Plan, run
from rejoinder.selection.ranking.rank import rank
from rejoinder.selection.select import select
from rejoinder.server.api.auth import TokenAuth
from rejoinder.server.api.limits import LoadLimits, serving_limits
from rejoinder.server.api.service import ApiService
from rejoinder.server.api.specs import ServedSpecs
from rejoinder.server.limits import ServerLimits
from rejoinder.server.pages.app import make_explore_app
from rejoinder.server.pages.context import PageContext
from rejoinder.server.pages.library import RunLibrary

TOKEN = "a-token-for-tests-only"
URL = "http://127.0.0.1:8701"
FIRST_LOOKS = ("/runs/chats", "/runs/chats/replies", "/runs", "/compare?old=chats&new=later")
NASTY = "<script>alert('x')</script><img src=x onerror=alert(1)>\"&'{{7*7}}"
SAID = {"good": "Yes, the kitchen is open until nine.", "bad": "Bananas are yellow, are they not?"}


def records(items: int = 8, text: str = "Is the kitchen open?") -> list[dict[str, Any]]:
    """Items with references, two systems' responses and two raters' ratings, which like the one system better."""
    found: list[dict[str, Any]] = []
    for n in range(items):
        context = [{"speaker": "guest", "text": f"{text} ({n})"}, {"speaker": "guest", "text": "I am hungry."}]
        meta = {"topic": ("food", "rooms")[n % 2], "tags": ["short", "late"][: 1 + n % 2]}
        item = {"kind": "item", "id": f"i{n}", "context": context, "references": [f"Yes, until {n}."], "meta": meta}
        found.append(item)
        for system, said in SAID.items():
            response = f"i{n}/{system}"
            words = " ".join([said, *["really"] * (n % 3), text])
            found.append({"kind": "response", "id": response, "item": f"i{n}", "system": system, "text": words})
            for rater in ("ann", "bea"):
                value = (4 if system == "good" else 1) + (n + len(rater)) % 2
                found.append({"kind": "rating", "response": response, "rater": rater, "aspect": "apt", "value": value})
    return found


def questions(count: int = 3) -> list[dict[str, Any]]:
    """Questions whose candidates say where they came from."""
    return [
        {
            "kind": "question",
            "id": f"q{n}",
            "context": [{"text": f"Is the kitchen open on day {n}?"}],
            "situation": [{"text": "It is late.", "category": "time"}],
            "candidates": [
                {"text": "The kitchen is open.", "grade": "true", "source": "human"},
                {"text": NASTY, "grade": "false", "source": "bm25", "labels": ["off-topic"], "meta": {"rank": n}},
            ],
        }
        for n in range(count)
    ]


def write_lines(path: Path, lines: Sequence[dict[str, Any]]) -> Path:
    """A file of records."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def library_at(folder: Path, text: str = "Is the kitchen open?") -> Path:
    """A folder with a run of scores, a selection and a test set."""
    folder.mkdir(parents=True, exist_ok=True)
    data = write_lines(folder.parent / "chats.jsonl", records(text=text))
    run([data], Plan.of(["context_overlap", "length", "bleu"], matched=True), folder / "chats", cache=False)
    later = [_later(record) for record in records(text=text) if record["kind"] != "rating"]
    after = write_lines(folder.parent / "answers.jsonl", later)
    run([after], Plan.of(["context_overlap", "length", "bleu"], matched=True), folder / "later", cache=False)
    testset = write_lines(folder / "kitchen.jsonl", questions())
    select(testset, ["tfidf"], folder / "chosen")
    rank(testset, ["tfidf"], ["u", "u+S"], folder / "ranked")
    return folder


def _later(record: dict[str, Any]) -> dict[str, Any]:
    """What the systems say in a later version: the good one became worse."""
    if record["kind"] == "response" and record["system"] == "good":
        return {
            **record,
            "text": record["text"].replace(
                "Yes, the kitchen is open until nine.", "No bananas here today, sadly, none at all."
            ),
        }
    return record


def house_of(
    folder: Path | None = None, load: LoadLimits | None = None, allow: Sequence[str] = (), corpus: str | None = None
) -> PageContext:
    """A server that is not reached over any network."""
    desk = ApiService(ServedSpecs(allow), load or LoadLimits(), corpus)
    return PageContext(desk, TokenAuth(TOKEN, URL), RunLibrary([str(folder)] if folder else []))


@contextlib.contextmanager
def client_of(house: PageContext, limits: ServerLimits | None = None, token: str | None = TOKEN) -> Iterator[Any]:
    """A client with the token."""
    from starlette.testclient import TestClient

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    app = make_explore_app(house, limits or serving_limits())
    with TestClient(app, base_url=URL, headers=headers, raise_server_exceptions=False) as client:
        yield client
    house.service.close()


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[tuple[str, str]]:
    """The real command in a process of its own: its address, and the link that lets a browser in."""
    command = [sys.executable, "-m", "rejoinder", "serve", *arguments, "--port", "0", "--token", TOKEN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip().partition("\t")[2]
            assert link, "the server did not start"
            yield link.partition("/r/")[0], link
        finally:
            process.kill()


def first_look(address: str) -> None:
    """Wait as a program does until a page is computed, so that no browser sees the progress instead."""
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200
