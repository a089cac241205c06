"""A judge at an endpoint with a fixed delay: the time for many replies against the ideal of 32 requests at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rejoinder.metric import parse
from rejoinder.types import Item, Pair, Response, Turn

# A process of its own: the endpoint's work is not the judge's. One thread serves all, as a real one's front does.
SERVER = """
import asyncio, json, sys
delay = float(sys.argv[1])
answer = json.dumps({"score": 4, "reason": "It answers."})
body = json.dumps({"model": "fixed", "choices": [{"message": {"role": "assistant", "content": answer}}],
                   "usage": {"prompt_tokens": 300, "completion_tokens": 12}}).encode()
head = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body)
at_once = most = 0
async def serve(reader, writer):
    global at_once, most
    try:
        while True:
            asked = await reader.readuntil(b"\\r\\n\\r\\n")
            size = next(int(l[15:]) for l in asked.split(b"\\r\\n") if l.lower().startswith(b"content-length:"))
            await reader.readexactly(size)
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(delay)
            at_once -= 1
            writer.write(head + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(most, flush=True)
asyncio.run(main())
"""


@contextmanager
def served(delay: float) -> Iterator[tuple[str, list[int]]]:
    """An endpoint that answers after a delay; afterwards the list holds the most requests it had at once."""
    command = [sys.executable, "-c", SERVER, str(delay)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if server.stdin is None or server.stdout is None:
        raise RuntimeError("the server has no pipes")
    most: list[int] = []
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1", most
    finally:
        server.stdin.close()
        most.append(int(server.stdout.readline()))
        server.wait()
        server.stdout.close()


def measure(in_flight: int = 32, waves: int = 20, delay: float = 0.5) -> list[dict[str, Any]]:
    """Seconds for so many full waves of requests, against the waves' delays alone."""
    item = Item("i", (Turn("What did you do at the weekend?", "user"),))
    count = in_flight * waves
    pairs = [Pair(item, Response(f"r{i}", "i", "s", f"We went for walk number {i} by the lake.")) for i in range(count)]
    with tempfile.TemporaryDirectory() as cache, served(delay) as (url, most):
        os.environ |= {
            "REJOINDER_CACHE": cache,
            "REJOINDER_JUDGE_URL": url,
            "REJOINDER_JUDGE_IN_FLIGHT": str(in_flight),
        }
        metric = parse("judge(model='fixed')")
        begun = time.perf_counter()
        scores = metric.score(pairs)
        seconds = time.perf_counter() - begun
        begun = time.perf_counter()
        again = metric.score(pairs)
        resumed = time.perf_counter() - begun
    if scores != [4.0] * count or again != scores:
        raise RuntimeError("the judge did not say what the endpoint said")
    ideal = waves * delay
    return [
        {
            "name": f"{count} requests to a judge that takes {delay} s, {most[0]} of {in_flight} in flight",
            "value": round(seconds, 2),
            "unit": "s",
            "against": f"the delays alone, {ideal:.2f} s",
            "ratio": round(seconds / ideal, 3),
            "floor": 1.05,
            "at_most": True,
        },
        {
            "name": f"{count} answers that are kept already",
            "value": round(resumed, 3),
            "unit": "s",
            "against": "asking for them",
            "ratio": round(resumed / seconds, 3),
            "floor": None,
        },
    ]


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
