"""The table of replies of ``rejoinder serve`` over a large run: the first look, and pages with mixed filters after it.

A run of made-up replies of four systems is scored with quick metrics and rated in part; the real command serves it, and
one client asks for pages over loopback, none of them twice.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from benchmarks.serving import Asked, Server, asked, gauge, serving
from benchmarks.synthetic import records, sentences
from rejoinder.data.writer import write
from rejoinder.errors import RejoinderError
from rejoinder.scoring.run import Plan, run
from rejoinder.types import Item, Rating, Record, Response

METRICS = ("length", "context_overlap", "bleu")
SYSTEMS, TOPICS = 4, ("refund", "delivery", "account", "other")
PAGE, CPU = "text/html", "process_cpu_seconds_total"
SECONDS = 0.3  # what the 95th percentile may take


def make_run(folder: Path, replies: int) -> None:
    """Score so many replies; every tenth is rated, and every item has a topic."""
    chance = random.Random(0)

    def rated() -> Any:
        for record in records(replies // SYSTEMS, SYSTEMS, references=2):
            yield _with_topic(record, chance)
            if isinstance(record, Response) and chance.random() < 0.1:
                yield Rating("rater", "apt", chance.randint(1, 5), response=record.id)

    write(rated(), folder / "replies.jsonl")
    run([folder / "replies.jsonl"], Plan.of(list(METRICS)), folder / "runs" / "large", cache=False)


def _with_topic(record: Record, chance: random.Random) -> Record:
    if not isinstance(record, Item):
        return record
    return Item(
        record.id,
        record.context,
        record.references,
        dialogue=record.dialogue,
        meta={"topic": chance.choice(TOPICS), "tier": chance.randint(1, 3)},
    )


def addresses(count: int, replies: int) -> list[Asked]:
    """Pages as somebody would ask for them: searches, ranges, slices, sorts, further pages, replies, items, charts."""
    chance, words = random.Random(1), " ".join(sentences(2_000)).split()
    kinds = ("replies", "replies", "replies", "replies", "reply", "items", "distributions")
    found = []
    for n in range(count):
        kind, query = kinds[n % len(kinds)], []
        if chance.random() < 0.5:
            query.append(("q", chance.choice(words).strip(".?!")))
        if chance.random() < 0.5 and kind != "items":
            low = 20 * chance.random()
            query.append(("range", f"length:{low:.3g}..{low + 10 * chance.random():.3g}"))
        if chance.random() < 0.3 and kind != "items":
            query.append(("slice", f"meta.topic={chance.choice(TOPICS)}"))
        if chance.random() < 0.3 and kind != "items":
            query.append(("system", f"system-{chance.randrange(SYSTEMS)}"))
        if chance.random() < 0.7 and kind in ("replies", "reply"):
            query.append(("sort", chance.choice("-+").strip("+") + chance.choice([*METRICS, "rating:apt", "system"])))
        place = f"replies/{chance.randrange(replies // 2)}" if kind == "reply" else kind
        found.append(Asked(f"/runs/large/{place}?{urlencode(query)}", b"", PAGE))
    return found


def wait_for_first_look(server: Server) -> float:
    """Ask for the table until it is there; the seconds that took."""

    async def look() -> None:
        line = server.line()
        while (await line.ask("/runs/large/replies", accept=PAGE))[0] == 503:
            await asyncio.sleep(0.2)
        line.close()

    begun = time.perf_counter()
    asyncio.run(look())
    return time.perf_counter() - begun


def measure(replies: int = 200_000, pages: int = 700, *, folder: str | None = None) -> list[dict[str, Any]]:
    """The 95th percentile of the pages after the first look; ``folder`` keeps the run, and is used again."""
    with tempfile.TemporaryDirectory() as temporary:
        name = folder or temporary
        if not (Path(name) / "runs" / "large").is_dir():
            make_run(Path(name), replies)
        with serving(str(Path(name) / "runs")) as server:
            first = wait_for_first_look(server)
            before = gauge(server, CPU)
            log, _ = asked(server, addresses(pages, replies), 1)
            work, held = (gauge(server, CPU) - before) / pages, gauge(server) / 2**20
    if set(log.ends) != {"200"}:
        raise RejoinderError(f"not all pages were answered: {dict(log.ends)}")
    middle, slow, slowest = (float(np.percentile(log.seconds, q)) for q in (50, 95, 100))
    return [
        {
            "name": f"pages of a run of {replies:,} replies with mixed filters, 95th percentile of {pages:,}",
            "value": round(1000 * slow, 1),
            "unit": "ms",
            "against": f"the target of {1000 * SECONDS:.0f} ms (median {1000 * middle:.1f} ms, slowest "
            f"{1000 * slowest:.0f} ms, mean processor time {1000 * work:.1f} ms, first look {first:.1f} s, "
            f"{held:.0f} MiB, load average {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores)",
            "ratio": round(slow / SECONDS, 2),
            "floor": 1.0,
            "at_most": True,
        }
    ]


if __name__ == "__main__":
    for entry in measure(*map(int, sys.argv[1:3]), folder=next(iter(sys.argv[3:]), None)):
        print(entry)
