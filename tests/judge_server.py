"""A server on loopback that speaks the chat protocol, and misbehaves as told."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rejoinder.judges import negotiation, provider
from rejoinder.judges.settings import EndpointSettings

Act = Callable[["Handler", dict[str, Any]], None]


def forget_endpoints(monkeypatch: pytest.MonkeyPatch, *, hasty: bool = False) -> None:
    """No endpoint of this machine's user is known to a test; ``hasty`` retries without waiting."""
    for name in list(os.environ):
        if name.startswith(("REJOINDER_JUDGE_", "OPENAI_", "ANTHROPIC_", "OLLAMA_")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(provider, "LOCAL_PORTS", {})
    negotiation._known_styles.clear()
    if hasty:
        init = EndpointSettings.__init__

        def make(self: EndpointSettings, *given: Any, **named: Any) -> None:
            init(self, *given, **{"first_wait": 0.001, **named})

        monkeypatch.setattr(EndpointSettings, "__init__", make)


def completion(content: Any, usage: Any = None, **more: Any) -> bytes:
    """The body of a chat completion."""
    counts = {"prompt_tokens": 100, "completion_tokens": 10} if usage is None else usage
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return json.dumps({"model": "test-1", "choices": [choice], "usage": counts, **more}).encode()


def says(content: Any, **more: Any) -> Act:
    """Answer with a content."""
    return lambda handler, _: handler.give(200, completion(content, **more))


def message(*parts: dict[str, Any], **more: Any) -> bytes:
    """The body of a message in Anthropic's protocol."""
    usage = {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 10}
    whole = {"type": "message", "role": "assistant", "model": "claude-test-1", "stop_reason": "end_turn"}
    return json.dumps({**whole, "content": list(parts), "usage": usage, **more}).encode()


def scores(score: Any, reason: Any = "so") -> Act:
    """Answer with a score."""
    return says(json.dumps({"score": score, "reason": reason}))


def judges(
    choose: Callable[[str, str], str] = lambda first, second: "tie",
    rate: Callable[[str, list[str]], Any] = lambda reply, context: 3,
) -> Act:
    """Answer each request by what it shows: two replies by ``choose``, one reply and its context by ``rate``."""

    def act(handler: Handler, sent: dict[str, Any]) -> None:
        shown = json.loads(sent["messages"][-1]["content"].splitlines()[1])
        if "first reply" in shown:
            verdict = {"better": choose(shown["first reply"], shown["second reply"])}
        else:
            verdict = {"score": rate(shown["reply"], [turn["text"] for turn in shown["conversation"]])}
        handler.give(200, completion(json.dumps({**verdict, "reason": "so"})))

    return act


def fails(status: int, body: bytes = b'{"error": {"message": "no"}}', **headers: str) -> Act:
    """Answer with an error."""
    return lambda handler, _: handler.give(status, body, **headers)


def hangs_up(handler: Handler, _: dict[str, Any]) -> None:
    """Close the connection without a word."""
    handler.close_connection = True
    handler.connection.close()


def cuts_short(handler: Handler, _: dict[str, Any]) -> None:
    """Promise more than is sent."""
    body = completion('{"score": 3, "reason": "so"}')
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body) + 100))
    handler.end_headers()
    handler.wfile.write(body)
    handler.close_connection = True


def cuts_chunks(handler: Handler, _: dict[str, Any]) -> None:
    """Begin a body in chunks, and hang up before its end."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    part = completion('{"score": 5, "reason": "so"}')[:40]
    handler.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
    handler.wfile.flush()
    handler.close_connection = True


def trickles(handler: Handler, _: dict[str, Any]) -> None:
    """Send a whole answer, slowly: byte by byte."""
    body = completion('{"score": 3, "reason": "so"}')
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    for at in range(len(body)):
        handler.wfile.write(body[at : at + 1])
        handler.wfile.flush()
        time.sleep(0.001)


def shows_page(status: int) -> Act:
    """Answer with the HTML page of a proxy."""
    page = b"<!doctype html><html><head><title>Bad gateway</title></head><body>nginx</body></html>"

    def act(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Content-Length", str(len(page)))
        handler.end_headers()
        handler.wfile.write(page)

    return act


def stalls(handler: Handler, _: dict[str, Any]) -> None:
    """Say nothing until the server ends."""
    handler.server.ended.wait(30)  # type: ignore[attr-defined]
    handler.close_connection = True


def drips(handler: Handler, _: dict[str, Any]) -> None:
    """Send a byte now and then, so that no single read takes long."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while not handler.server.ended.wait(0.02):  # type: ignore[attr-defined]
        handler.wfile.write(b" ")
        handler.wfile.flush()


class Handler(BaseHTTPRequestHandler):
    """Answers a request with the next act; the last one is played for ever."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Judge

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        act = self.server.received(self, sent)
        try:
            time.sleep(self.server.delay)
            act(self, sent)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.server.done()

    def do_GET(self) -> None:
        listed = {"object": "list", "data": [{"id": name} for name in self.server.models]}
        self.give(200 if self.server.models else 404, json.dumps(listed).encode())

    def give(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


class Judge(ThreadingHTTPServer):
    """The server, what it was sent, and how many requests it had at once."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, acts: list[Act], delay: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.acts, self.delay = acts, delay
        self.sent: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.models: list[str] = []  # that it lists
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.at_once = self.most_at_once = 0
        self.ended = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def received(self, handler: Handler, sent: dict[str, Any]) -> Act:
        with self._lock:
            self.sent.append(sent)
            self.paths.append(handler.path)
            self.headers.append(dict(handler.headers))
            self.times.append(time.monotonic())
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            return self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]

    def done(self) -> None:
        with self._lock:
            self.at_once -= 1

    def handle_error(self, *_: Any) -> None:
        """A client that went away is none of the test's concern."""


@contextmanager
def served(*acts: Act, delay: float = 0.0) -> Iterator[Judge]:
    """A server that plays acts, one a request."""
    server = Judge(list(acts), delay)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
