"""``rejoinder serve`` under load: its throughput beside the library's, how long ranking takes, and a long soak.

Clients speak to the real command over loopback, each over one connection that is kept open. The library's figures are
of this process, of the same calls that the server makes, in turns with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from rejoinder.data.collection import Collection, from_lists
from rejoinder.errors import RejoinderError
from rejoinder.scoring.api import score
from rejoinder.selection.answers import score_questions
from rejoinder.server.api.records import question_of
from rejoinder.server.api.service import ApiService

CLIENTS = 32
METRIC = "aptness(model='bi')"
WORDS = (
    "the a to you i it is that we on what do have this at for not are be was shop garden train ticket sunday morning "
    "kitchen window open closed late early please thanks maybe really never often blue small table lamp river music "
    "bring take find leave stay call write read cook walk wait friend sister teacher doctor station hotel market"
).split()


class Asked(NamedTuple):
    """One request."""

    path: str
    body: bytes
    accept: str = "application/json"


def text(chance: random.Random, shortest: int = 5, longest: int = 16) -> str:
    """A text that nobody has encoded before."""
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(shortest, longest))) + "."


def pair(chance: random.Random) -> dict[str, Any]:
    """A reply to two turns."""
    return {"context": [text(chance), text(chance)], "reply": text(chance)}


def collection(chance: random.Random, count: int) -> Collection:
    """As many replies as the library takes them."""
    pairs = [pair(chance) for _ in range(count)]
    return from_lists([one["reply"] for one in pairs], [one["context"] for one in pairs])


def question(chance: random.Random, statements: int = 12, candidates: int = 10) -> dict[str, Any]:
    """A request in a situation, with what might be done about it."""
    return {
        "context": [text(chance)],
        "situation": [text(chance) for _ in range(statements)],
        "candidates": [text(chance) for _ in range(candidates)],
    }


class Line:
    """One connection that stays open."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._where, self._token = (host, port), token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, body: bytes = b"", accept: str = "application/json") -> tuple[int, bytes]:
        """The status and the body of an answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._where)
        reader, writer = self._streams
        method = "POST" if body else "GET"
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._where[0]}\r\nAuthorization: Bearer {self._token}\r\n"
        head += f"Accept: {accept}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        start = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", start, re.IGNORECASE)
        found = await reader.readexactly(int(length[1])) if length else b""
        if "connection: close" in start.lower():
            self.close()
        return int(start.split()[1]), found

    def close(self) -> None:
        """Let the connection go."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Server(NamedTuple):
    """Where a server is reached."""

    host: str
    port: int
    token: str

    def line(self) -> Line:
        """A new connection."""
        return Line(*self)


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """The real command in a process of its own."""
    command = [sys.executable, "-m", "rejoinder", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            link = urlsplit(process.stdout.readline().strip().partition("\t")[2])
            if not link.port:
                raise RejoinderError("the server did not start")
            yield Server(link.hostname or "", link.port, link.path.rpartition("/")[2])
        finally:
            process.kill()


class Log:
    """How long each request took, and how they ended."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.ends: Counter[str] = Counter()


async def client(server: Server, work: Iterator[Asked], log: Log) -> None:
    """Ask one thing after the other, as long as there is any."""
    line = server.line()
    for one in work:
        begun = time.perf_counter()
        try:
            status, _ = await line.ask(*one)
        except (OSError, EOFError) as error:
            log.ends[type(error).__name__] += 1
            line.close()
            continue
        log.seconds.append(time.perf_counter() - begun)
        log.ends[str(status)] += 1
    line.close()


def asked(server: Server, work: Sequence[Asked] | Iterator[Asked], clients: int = CLIENTS) -> tuple[Log, float]:
    """All of it, by so many clients at once: what they saw, and how long it took."""
    log, waiting = Log(), iter(work)

    async def everybody() -> None:
        await asyncio.gather(*(client(server, waiting, log) for _ in range(clients)))

    begun = time.perf_counter()
    asyncio.run(everybody())
    return log, time.perf_counter() - begun


def scoring(bodies: Sequence[dict[str, Any]]) -> list[Asked]:
    """A request a reply."""
    return [Asked("/score", json.dumps({"metrics": [METRIC], "pairs": [one]}).encode()) for one in bodies]


def throughput(server: Server, count: int, rounds: int = 3) -> dict[str, Any]:
    """Replies a second of 32 clients with one reply a request, beside one call of the library; all texts are new."""
    chance = random.Random(0)
    rates: dict[str, list[float]] = {"server": [], "library": []}
    asked(server, scoring([pair(chance) for _ in range(CLIENTS)]))
    score(collection(chance, 1), METRIC)
    for _ in range(rounds):
        data = collection(chance, count)
        begun = time.perf_counter()
        score(data, METRIC)
        rates["library"].append(count / (time.perf_counter() - begun))
        log, seconds = asked(server, scoring([pair(chance) for _ in range(count)]))
        if log.ends != {"200": count}:
            raise RejoinderError(f"not all was answered: {dict(log.ends)}")
        rates["server"].append(count / seconds)
    ours, theirs = (float(np.median(rates[name])) for name in ("server", "library"))
    return {
        "name": f"POST /score, {METRIC}, {CLIENTS} clients, one reply a request, {count:,} replies, nothing cached",
        "value": round(ours, 1),
        "unit": "replies/s",
        "against": f"one call of the library, {theirs:.1f} replies/s (medians of {rounds} rounds in turns)",
        "ratio": round(ours / theirs, 2),
        "floor": 0.7,
    }


def ranking(server: Server, count: int) -> dict[str, Any]:
    """The median seconds of one question after the other, beside the library's; all texts are new."""
    desk, chance = ApiService(), random.Random(1)
    name = desk.default_system
    system, took = desk.offer.system(name), []
    asked(server, [Asked("/rank", json.dumps(question(chance)).encode()) for _ in range(5)], 1)
    score_questions(system, [question_of({"id": "q", **question(chance)})])
    log = Log()
    for _ in range(count):
        one = question_of({"id": "q", **question(chance)})
        begun = time.perf_counter()
        score_questions(system, [one])
        took.append(time.perf_counter() - begun)
    log, _ = asked(server, [Asked("/rank", json.dumps(question(chance)).encode()) for _ in range(count)], 1)
    if log.ends != {"200": count}:
        raise RejoinderError(f"not all was answered: {dict(log.ends)}")
    ours, theirs = float(np.median(log.seconds)), float(np.median(took))
    return {
        "name": f"POST /rank, {name}, 12 statements and 10 candidates, median of {count:,}",
        "value": round(1000 * ours, 2),
        "unit": "ms",
        "against": f"the library call, {1000 * theirs:.2f} ms",
        "ratio": round(ours / theirs, 2),
        "floor": 2.0,
        "at_most": True,
    }


def gauge(server: Server, name: str = "process_resident_memory_bytes") -> float:
    """What the server says of itself: by default, the bytes that it holds."""

    async def one() -> bytes:
        line = server.line()
        found = (await line.ask("/metrics"))[1]
        line.close()
        return found

    told = re.search(rb"^%s ([0-9.e+]+)" % name.encode(), asyncio.run(one()), re.MULTILINE)
    return float(told[1]) if told else float("nan")


def mixed(count: int) -> Iterator[Asked]:
    """What many would ask over an hour: mostly scores, of few texts again and again, and a little of everything."""
    chance = random.Random(2)
    pairs = [pair(chance) for _ in range(200)]
    for n in range(count):
        one = {**chance.choice(pairs), "references": [chance.choice(pairs)["reply"]]}
        if n % 10 == 0:
            yield Asked("/rank", json.dumps({"system": "tfidf", **question(chance, 4, 4)}).encode())
        elif n % 97 == 0:
            yield Asked("/try", json.dumps({**one, "metrics": ["length", "bleu", "rouge_l"]}).encode())
        else:
            names = [METRIC] if n % 2 else ["bleu", "length"]
            yield Asked("/score", json.dumps({"metrics": names, "pairs": [one]}).encode())


def soak(server: Server, count: int) -> list[dict[str, Any]]:
    """Many requests: how much memory the server held after a tenth of them and at the end, and what was dropped."""
    asked(server, mixed(count // 10))
    before = gauge(server) / 2**20
    log, seconds = asked(server, mixed(count))
    after = gauge(server) / 2**20
    lost = count - log.ends["200"]
    about = f"{count:,} requests of {CLIENTS} clients in {seconds:.0f} s"
    held = {
        "name": f"memory of the server at the end of a soak against its start, {about}",
        "value": round(after, 1),
        "unit": "MiB",
        "against": f"{before:.1f} MiB after the first tenth",
        "ratio": round(after / before, 3),
        "floor": 1.1,
        "at_most": True,
    }
    dropped = {
        "name": f"requests that were not answered with 200, {about}",
        "value": lost,
        "unit": "requests",
        "against": f"99th percentile of the others {1000 * float(np.percentile(log.seconds, 99)):.0f} ms",
        "ratio": lost,
        "floor": 0,
        "at_most": True,
    }
    return [held, dropped]


def measure(replies: int = 400, questions: int = 300, requests: int = 100_000) -> list[dict[str, Any]]:
    """All of it, with an empty cache of embeddings."""
    before = os.environ.get("REJOINDER_CACHE")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["REJOINDER_CACHE"] = cache
        try:
            with serving() as server:
                return [throughput(server, replies), ranking(server, questions), *soak(server, requests)]
        finally:
            os.environ.pop("REJOINDER_CACHE")
            if before is not None:
                os.environ["REJOINDER_CACHE"] = before


if __name__ == "__main__":
    for entry in measure(*map(int, sys.argv[1:])):
        print(entry)
