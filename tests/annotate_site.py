"""Small projects of every form, and a client of their pages that behaves as a browser does with forms."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rejoinder.annotation.project_file import read_project
from rejoinder.annotation.store import open_store
from rejoinder.annotation.store.base import Store
from rejoinder.annotation.units import make_units
from rejoinder.server.annotation_app import make_annotation_app
from rejoinder.server.limits import RequestRate, ServerLimits
from rejoinder.server.server import open_listening_socket, socket_url

FORMS = ("rate", "candidates", "grade", "references", "review", "write", "situation", "validate", "errors", "compare")
FREE = ServerLimits(address=RequestRate(1e9, 1e9), session=RequestRate(1e9, 1e9))
EXERCISE = """
[exercise]
needed = 1
attempts = 2
[[exercise.questions]]
context = [{speaker = "user", text = "What time is it?"}]
reply = "Half past three."
answer = { appropriate = [4, 5] }
explanation = "It answers the question."
[[exercise.questions]]
context = [{speaker = "user", text = "What time is it?"}]
reply = "Bananas are yellow."
answer = { appropriate = [1, 2] }
explanation = "It has nothing to do with the question."
"""
OPEN: list[Store] = []
SYSTEMS = {"secret-alpha": "A table for two, please.", "secret-beta": "I do not know."}


def records(items: int, text: str = "Is the kitchen open?") -> list[dict[str, Any]]:
    """Items with references, a situation, two responses each, and a question each."""
    found: list[dict[str, Any]] = []
    for n in range(items):
        context = [{"speaker": "user", "text": f"{text} ({n})"}, {"speaker": "guest", "text": text}]
        references = [{"text": f"A reply of a person {n}."}, {"text": f"{text} found {n}", "source": "retrieved"}]
        situation = [{"text": f"{text} now", "category": "time"}]
        item = {"kind": "item", "id": f"i{n}", "context": context, "references": references, "situation": situation}
        found.append({**item, "meta": {"goal": f"{text} goal"}})
        for system, said in SYSTEMS.items():
            response = {"kind": "response", "id": f"i{n}-{system}", "item": f"i{n}", "system": system}
            found.append({**response, "text": f"{said} {text}"})
        candidates = [{"text": f"{text} candidate {k}", "id": str(k)} for k in range(3)]
        found.append({"kind": "question", "id": f"q{n}", "context": context, "candidates": candidates})
    return found


def write_project(
    folder: Path, form: str = "rate", items: int = 3, extra: str = "", tables: str = "", text: str = "Is it open?"
) -> Path:
    """A project file with its data; ``extra`` are keys of its own, ``tables`` come after them."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(record) + "\n" for record in records(items, text))
    (folder / "data.jsonl").write_text(lines, encoding="utf-8")
    path = folder / f"{form}.toml"
    head = f'form = "{form}"\ndata = ["data.jsonl"]\ntitle = "Replies"\ncontact = "owner@example.org"\n'
    path.write_text(head + 'instructions = "Read all of it.\\n\\n- slowly\\n- twice"\n' + extra + "\n" + tables)
    return path


def store_of(path: Path, clock: Callable[[], float] | None = None) -> Store:
    """The store of a project file, its units loaded."""
    project = read_project(path)
    store = open_store(project, None, clock) if clock else open_store(project)
    OPEN.append(store)
    store.load(make_units(project))
    return store


@pytest.fixture(autouse=True)
def stores_are_closed() -> Iterator[None]:
    """Close what a test has opened."""
    yield
    while OPEN:
        OPEN.pop().close()


def client_of(store: Store, limits: ServerLimits = FREE, **options: Any) -> Any:
    """A client of the project's app that keeps cookies."""
    from starlette.testclient import TestClient

    return TestClient(
        make_annotation_app(store.project, store, limits=limits, **options), base_url="http://127.0.0.1:8700"
    )


def entered(store: Store, name: str = "ann", role: Any = "rater", limits: ServerLimits = FREE) -> Any:
    """A client that has opened a personal link."""
    client = client_of(store, limits)
    assert client.get(f"/r/{store.add_rater(name, role)}").status_code == 200
    return client


class _Inputs(HTMLParser):
    """The fields of all forms of a page: (form's action, name, kind, value, whether chosen)."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str, str, bool]] = []
        self._action = self._area = ""
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        if tag == "form":
            self._action = given.get("action", "")
        elif tag == "input" and "name" in given:
            self.found.append(
                (self._action, given["name"], given.get("type", "text"), given.get("value", ""), "checked" in given)
            )
        elif tag == "textarea" and "name" in given:
            self._area, self._text = given["name"], []

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._action = ""
        elif tag == "textarea" and self._area:
            text = "".join(self._text)
            self.found.append((self._action, self._area, "textarea", text.removeprefix("\n"), True))
            self._area = ""


def form_of(page: str, action: str = "/work") -> dict[str, Any]:
    """What a form of a page would send untouched."""
    parser = _Inputs()
    parser.feed(page)
    sent: dict[str, Any] = {}
    for where, name, kind, value, chosen in parser.found:
        if where == action and (kind in ("hidden", "textarea") or chosen):
            sent[name] = value
    return sent


def options_of(page: str) -> dict[str, list[str]]:
    """The values that can be chosen, by name."""
    parser = _Inputs()
    parser.feed(page)
    found: dict[str, list[str]] = {}
    for where, name, kind, value, _ in parser.found:
        if where == "/work" and kind in ("radio", "checkbox"):
            found.setdefault(name, []).append(value)
    return found


def answered(page: str, text: str = "Something written.", pick: int = 0) -> dict[str, Any]:
    """A whole answer to a page: one option of each choice, and the same text everywhere else."""
    sent = form_of(page)
    for name, values in options_of(page).items():
        sent[name] = values[pick % len(values)]
    for name in re.findall(r'<textarea id="f[^"]*" name="([^"]+)"', page):
        sent[name] = text
    return sent


def finish(client: Any, answer: Callable[[str], dict[str, Any]] = answered) -> str:
    """Answer all that there is, and return every page that was seen, one after the other."""
    seen = []
    for _ in range(200):
        seen.append(client.get("/work").text)
        if 'id="answer"' not in seen[-1]:
            return "".join(seen)
        client.post("/work", data=answer(seen[-1]), follow_redirects=False)
    raise AssertionError("there is no end to it")


@contextlib.contextmanager
def served(store: Store, limits: ServerLimits = FREE, clock: Callable[[], float] = time.time) -> Iterator[str]:
    """The address of a server of this process."""
    import uvicorn

    listening = open_listening_socket("127.0.0.1", 0)
    url = socket_url(listening)
    config = uvicorn.Config(
        make_annotation_app(store.project, store, url, limits, clock), lifespan="off", log_level="error"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield url
    finally:
        server.should_exit = True
        thread.join(10)
        OPEN.remove(store)
        store.close()


@contextlib.contextmanager
def hosting(path: Path, *raters: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The pages of a project from a server of this process: its address, and a link for each rater and the owner."""
    store = store_of(path)
    with served(store) as url:
        links = {name: f"{url}/r/{store.add_rater(name)}" for name in raters}
        yield url, {**links, "owner": f"{url}/r/{store.add_rater('owner', 'owner')}"}


@contextlib.contextmanager
def serving(path: Path, *options: str) -> Iterator[tuple[str, dict[str, str], Any]]:
    """The real command in a process of its own: its address, the links that it printed, and the process."""
    command = [sys.executable, "-m", "rejoinder", "annotate", str(path), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            links: dict[str, str] = {}
            while "owner" not in links:
                line = process.stdout.readline()
                assert line, "the server did not start"
                name, _, link = line.strip().partition("\t")
                links[name] = link
            yield links["owner"].partition("/r/")[0], links, process
        finally:
            process.kill()
