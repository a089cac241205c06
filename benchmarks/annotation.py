"""``rejoinder annotate`` under load: many raters at once, and a server that is killed again and again.

Simulated raters speak to the real command over loopback, each with a link of its own: fetch a page, think, send the
form, fetch the next. What the server acknowledged is held against what the database has afterwards.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import numpy as np

from rejoinder.annotation.project_file import read_project
from rejoinder.annotation.store import open_store
from rejoinder.errors import RejoinderError

LIMIT = 0.25  # seconds, the 99th percentile
PACE = 1.0  # seconds between two answers of a rater, on average: faster than anybody reads
TRIES = 400
_FIELD = re.compile(r'name="(csrf|assignment)" value="([^"]*)"')
_CHOICE = re.compile(r'type="radio" id="[^"]*" name="([^"]+)" value="([^"]+)"')


class Reply(NamedTuple):
    """What the server answered: the status, the head and the text."""

    status: int
    head: str
    text: str


@dataclass
class Log:
    """What the raters saw: times of sending and of fetching, what was acknowledged, and what went wrong."""

    sending: list[float] = field(default_factory=list)
    fetching: list[float] = field(default_factory=list)
    acknowledged: list[tuple[str, str, str]] = field(default_factory=list)  # rater, assignment, what was answered
    errors: Counter[str] = field(default_factory=Counter)


class Line:
    """One kept-alive connection that is opened again where it was lost."""

    def __init__(self, host: str, port: int) -> None:
        self._where = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, cookie: str = "", body: str = "") -> Reply:
        """One request; OSError or EOFError where the server is gone."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._where)
        reader, writer = self._streams
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._where[0]}:{self._where[1]}\r\nCookie: {cookie}\r\n"
        if body:
            head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
        try:
            writer.write((head + "\r\n" + body).encode())
            await writer.drain()
            start = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"content-length: (\d+)", start, re.IGNORECASE)
            text = (await reader.readexactly(int(length[1]))).decode() if length else ""
        except (OSError, EOFError):
            self.close()
            raise
        if "connection: close" in start.lower():
            self.close()
        return Reply(int(start.split()[1]), start, text)

    def close(self) -> None:
        """Let the connection go."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def patient(line: Line, again: bool, *request: str) -> Reply:
    """Ask, and where that is wanted ask again until there is a server."""
    for _ in range(TRIES if again else 2):  # a kept-alive connection may be closed while it is not used
        try:
            return await line.ask(*request)
        except (OSError, EOFError):
            await asyncio.sleep(0.1 if again else 0.0)
    raise ConnectionError("the server is gone")


async def rate(name: str, link: str, log: Log, until: Callable[[], bool], again: bool, pace: float) -> None:
    """One rater's work: links, pages and forms, as a browser would send them."""
    chance = random.Random(name)
    url = urlsplit(link)
    line = Line(url.hostname or "", url.port or 80)
    await asyncio.sleep(pace * chance.random())  # people do not open their links in the same millisecond
    entered = await patient(line, again, "GET", url.path)
    cookie = re.findall(r"set-cookie: ([^;]+)", entered.head, re.IGNORECASE)[0]
    while not until():
        begun = time.perf_counter()
        page = await patient(line, again, "GET", "/work", cookie)
        log.fetching.append(time.perf_counter() - begun)
        if page.status != 200 or "assignment" not in page.text:
            log.errors[f"page {page.status}"] += 1
            break
        form = dict(_FIELD.findall(page.text))
        for aspect, value in _CHOICE.findall(page.text):
            if aspect not in form or chance.random() < 0.4:
                form[aspect] = value
        await asyncio.sleep(pace * chance.uniform(0.5, 1.5))
        begun = time.perf_counter()
        sent = await patient(line, again, "POST", "/work", cookie, urlencode(form))
        log.sending.append(time.perf_counter() - begun)
        if sent.status == 303:
            said = {key: value for key, value in form.items() if key not in ("csrf", "assignment")}
            log.acknowledged.append((name, form["assignment"], json.dumps(said, sort_keys=True)))
        else:
            log.errors[f"form {sent.status}"] += 1
    line.close()


def write_project(folder: Path, raters: int, judgements: int) -> Path:
    """A project with more than enough to judge."""
    with (folder / "data.jsonl").open("w") as file:
        for n in range(max(200, judgements // 5 + raters)):
            turns = [{"speaker": "a", "text": f"Number {n}: what shall we do tonight?"}, {"text": "Any ideas?"}]
            file.write(json.dumps({"kind": "item", "id": f"i{n}", "context": turns}) + "\n")
            reply = {"kind": "response", "id": f"r{n}", "item": f"i{n}", "system": "s", "text": "We could go out."}
            file.write(json.dumps(reply) + "\n")
    path = folder / "load.toml"
    path.write_text('form = "rate"\ndata = ["data.jsonl"]\nraters_per_unit = 5\n')
    return path


class Server:
    """The command in a process of its own, that can be killed and started again at the same port."""

    def __init__(self, path: Path, database: str, raters: int) -> None:
        self._command = [sys.executable, "-m", "rejoinder", "annotate", str(path), "--database", database]
        self.links = self._start(["--port", "0", "--raters", str(raters)])
        self.port = str(urlsplit(self.links["owner"]).port)

    def _start(self, options: list[str]) -> dict[str, str]:
        self._process = subprocess.Popen(
            [*self._command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        links: dict[str, str] = {}
        while "owner" not in links and "--keep-owner-link" not in options:
            assert self._process.stdout is not None
            name, _, link = self._process.stdout.readline().strip().partition("\t")
            if not name:
                raise RejoinderError("the server did not start")
            links[name] = link
        return links

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def start_again(self) -> None:
        """Start it where it was."""
        self._start(["--port", self.port, "--keep-owner-link"])


def under_load(path: Path, database: str, raters: int, seconds: float, pace: float) -> Log:
    """So many raters at once, for so long."""
    log, server = Log(), Server(path, database, raters)
    try:
        links = {name: link for name, link in server.links.items() if name != "owner"}

        async def all_of_them() -> None:
            end = time.perf_counter() + seconds
            work = [
                rate(name, link, log, lambda: time.perf_counter() > end, False, pace) for name, link in links.items()
            ]
            for found in await asyncio.gather(*work, return_exceptions=True):
                if isinstance(found, BaseException):
                    log.errors[type(found).__name__] += 1

        asyncio.run(all_of_them())
    finally:
        server.kill()
    return log


def under_kills(path: Path, database: str, raters: int, kills: int, pace: float) -> Log:
    """Raters who do not give up, and a server that is killed again and again."""
    log, server = Log(), Server(path, database, raters)
    chance, over = random.Random(0), False

    async def killing() -> None:
        nonlocal over
        for _ in range(kills):
            # Only a server that works is worth killing.
            wanted = len(log.acknowledged) + raters
            while len(log.acknowledged) < wanted:
                await asyncio.sleep(0.05)
            await asyncio.sleep(chance.uniform(0.0, 0.5))
            server.kill()
            server.start_again()
        await asyncio.sleep(3.0)
        over = True

    async def all_of_them() -> None:
        links = {name: link for name, link in server.links.items() if name != "owner"}
        work = [rate(name, link, log, lambda: over, True, pace) for name, link in links.items()]
        for found in await asyncio.gather(killing(), *work, return_exceptions=True):
            if isinstance(found, BaseException):
                log.errors[type(found).__name__] += 1

    try:
        asyncio.run(all_of_them())
    finally:
        server.kill()
    return log


def lost_and_doubled(path: Path, database: str, log: Log) -> tuple[int, int]:
    """Acknowledged answers that the database lacks; judgements too many for a rater and unit, or for a unit."""
    project = read_project(path)
    store = open_store(project, database)
    try:
        kept = store.judgements(superseded=True)
    finally:
        store.close()
    there = {
        (one.rater, one.assignment, json.dumps({k: str(v) for k, v in one.answer.items()}, sort_keys=True))
        for one in kept
    }
    lost = sum(one not in there for one in log.acknowledged)
    twice = sum(count - 1 for count in Counter((one.rater, one.unit) for one in kept).values())
    full = sum(max(0, n - project.raters_per_unit) for n in Counter(one.unit for one in kept).values())
    return lost, twice + full


@contextmanager
def databases(folder: Path) -> Iterator[dict[str, str]]:
    """A new database of each kind that can be had here."""
    from tests.postgres_server import start, why_not

    found = {"SQLite": str(folder / "load.sqlite")}
    if why_not() is not None:
        yield found
        return
    url, stop = start()
    try:
        yield {**found, "PostgreSQL": url}
    finally:
        stop()


def entries(kind: str, what: str, log: Log, wrong: tuple[int, int]) -> list[dict[str, Any]]:
    """The figures of one run."""
    errors = sum(log.errors.values())
    found: list[dict[str, Any]] = [
        {
            "name": f"annotate, {kind}, {what}: errors, lost and doubled of {len(log.acknowledged):,} judgements",
            "value": f"{errors} / {wrong[0]} / {wrong[1]} {dict(log.errors) or ''}".strip(),
            "unit": "",
            "against": "none",
            "ratio": errors + sum(wrong),
            "floor": 0,
            "at_most": True,
        }
    ]
    return found


def times(kind: str, what: str, log: Log) -> list[dict[str, Any]]:
    """The 99th percentiles of a run."""
    found = []
    for name, seconds in (("sending a judgement", log.sending), ("fetching a page", log.fetching)):
        slowest = float(np.quantile(seconds, 0.99)) if seconds else float("nan")
        median = float(np.median(seconds)) if seconds else float("nan")
        found.append(
            {
                "name": f"annotate, {kind}, {what}: {name}, 99th percentile (median {1000 * median:.0f} ms)",
                "value": round(1000 * slowest),
                "unit": "ms",
                "against": f"at most {1000 * LIMIT:.0f} ms",
                "ratio": round(slowest / LIMIT, 3),
                "floor": 1.0,
                "at_most": True,
            }
        )
    return found


def measure(raters: int = 50, seconds: float = 60, kills: int = 20, pace: float = PACE) -> list[dict[str, Any]]:
    """Errors, lost and doubled judgements and times, for each database; then the same with kills."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place, databases(Path(place)) as known:
        for kind, database in known.items():
            folder = Path(place) / kind
            folder.mkdir()
            path = write_project(folder, raters, int(raters * (seconds / max(pace, 0.05) + 6 * kills)))
            what = f"{raters} raters for {seconds:g} s"
            log = under_load(path, database, raters, seconds, pace)
            found += entries(kind, what, log, lost_and_doubled(path, database, log)) + times(kind, what, log)
            if kills:
                other = path.rename(folder / "kills.toml")
                log = under_kills(other, database, raters, kills, pace)
                found += entries(kind, f"{kills} kills -9", log, lost_and_doubled(other, database, log))
    return found
