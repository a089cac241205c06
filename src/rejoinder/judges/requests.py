"""Many requests to one endpoint: so many in flight, each tried again with growing pauses, each answer kept at once."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TypeAlias

import orjson

from rejoinder.engines import request_counts
from rejoinder.errors import JudgeError, brief
from rejoinder.judges.answer import read_body
from rejoinder.judges.answer_store import Answer, AnswerOutcome, AnswerStore
from rejoinder.judges.connection import CHAT, PLAIN, BrokenConnectionError, Connection, HttpAnswer
from rejoinder.judges.settings import KEY, URL, EndpointSettings

_RETRYABLE = frozenset({408, 409, 425, 429})  # and 5xx: another time it may go well
_REFUSED = frozenset({400, 413, 422})  # this request will never be answered; others may
_MAX_REFUSED = 3  # at the beginning: then something is wrong with all of them
_LONGEST_RETRY_AFTER = 3600.0
_TICK = 0.2  # seconds between two looks at the clock
_RESUME_HINT = "every answer so far is kept: the same command goes on where it was"


@dataclass(frozen=True)
class Request:
    """What is sent, and what is sent after an answer that could not be read; the key is its digest."""

    key: str
    body: bytes
    again: bytes


Readable: TypeAlias = Callable[[str | None], bool]
ChatConverter: TypeAlias = Callable[[bytes, bytes], bytes]
_Event: TypeAlias = Answer | JudgeError | None  # None: a worker has nothing more to do


def send_requests(
    requests: Iterable[Request],
    settings: EndpointSettings,
    store: AnswerStore,
    readable: Readable,
    plain: ChatConverter | None = None,
) -> None:
    """Have every request answered into the store; what it already has is not sent. The store must be claimed.

    With ``plain`` they go to /completions, and it makes of a request and its answer what a chat would have answered.
    """
    todo = _find_unanswered(requests, settings.tries, store, readable)
    # Where one was answered, a refusal concerns its own request alone.
    asking = _RequestPool(settings, todo, readable, plain, alike=not store.has_answers)
    try:
        asking.start()
        for event in asking.events():
            if isinstance(event, JudgeError):
                raise event
            store.add(event)
            if asking.stopped:
                break
        if asking.refusal is not None:
            raise _refusal_error(asking.refusal, settings)
    finally:
        asking.stop()


def is_unanswered(kept: Sequence[Answer], tries: int, readable: Readable) -> bool:
    """Whether a request is still to be answered: nothing that was kept can be read, and it was not given up."""
    said = [answer for answer in kept if answer.outcome != "refused"]
    return len(said) < tries and not any(readable(read_body(answer.body.encode()).content) for answer in said)


def _find_unanswered(
    requests: Iterable[Request], tries: int, store: AnswerStore, readable: Readable
) -> Iterator[tuple[Request, int]]:
    """The requests that still need an answer, each once, with how often an unreadable one has come already."""
    seen: set[str] = set()
    for request in requests:
        if request.key in seen:
            continue
        seen.add(request.key)
        kept = store.of(request.key)
        if is_unanswered(kept, tries, readable):
            yield request, sum(answer.outcome != "refused" for answer in kept)


@dataclass
class _RequestPool:
    """The workers of one call of ``ask``: threads that take requests, send them and hand back what came.

    They stop by themselves after the first refusals where nothing else has come: whoever reads may be slower than they.
    """

    settings: EndpointSettings
    todo: Iterator[tuple[Request, int]]
    readable: Readable
    plain: ChatConverter | None
    alike: bool  # nothing but refusals has come
    _refused: list[Answer] = field(default_factory=list)
    _came: queue.SimpleQueue[_Event] = field(default_factory=queue.SimpleQueue)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _taking: threading.Lock = field(default_factory=threading.Lock)
    _connections: list[Connection] = field(default_factory=list)
    _not_before: float = 0.0  # the endpoint asked all of us to wait
    _workers: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Start as many workers as there may be requests in flight, but none without work."""
        while len(self._workers) < self.settings.in_flight:
            first = self._next()
            if first is None:
                return
            connection = Connection(self.settings, CHAT if self.plain is None else PLAIN)
            self._connections.append(connection)
            # Daemons: a program that is stopped does not wait for an endpoint.
            worker = threading.Thread(target=self._work, args=(first, connection), daemon=True)
            worker.start()
            self._workers.append(worker)

    def events(self) -> Iterator[Answer | JudgeError]:
        """What the workers hand back, until all have ended; the clock is watched meanwhile."""
        under_way, looked = len(self._workers), time.monotonic()
        while under_way:
            if time.monotonic() - looked >= _TICK:
                looked = time.monotonic()
                for connection in self._connections:
                    connection.overdue()
            try:
                event = self._came.get(timeout=_TICK)
            except queue.Empty:
                continue
            if event is None:
                under_way -= 1
            else:
                yield event

    @property
    def stopped(self) -> bool:
        """Whether the workers take nothing more."""
        return self._stopped.is_set()

    @property
    def refusal(self) -> Answer | None:
        """The first refusal, where nothing else has come."""
        return self._refused[0] if self.alike and self._refused else None

    def stop(self) -> None:
        """End all workers; what is in flight is lost."""
        self._stopped.set()
        for connection in self._connections:
            connection.abort()
        for worker in self._workers:
            worker.join(_TICK)

    def _next(self) -> tuple[Request, int] | None:
        with self._taking:
            return next(self.todo, None)

    def _work(self, given: tuple[Request, int] | None, connection: Connection) -> None:
        try:
            while given is not None and not self._stopped.is_set():
                self._settle(*given, connection)
                given = self._next()
        except JudgeError as error:
            self._came.put(error)
        except Exception as error:  # a bug of ours must not leave the reader waiting
            self._came.put(JudgeError(f"asking the judge failed: {type(error).__name__}: {error}"))
        finally:
            connection.close()
            self._came.put(None)

    def _settle(self, request: Request, unreadable: int, connection: Connection) -> None:
        """Ask until an answer can be read, or so often that it is given up."""
        while unreadable < self.settings.tries:
            begun = time.monotonic()
            received = self._answered(request.again if unreadable else request.body, connection)
            if received is None:
                return
            readable = received.status == 200 and self.readable(read_body(received.body).content)
            outcome: AnswerOutcome = "answered" if readable else "unreadable" if received.status == 200 else "refused"
            body = self.settings.without_key(received.body.decode(errors="replace"))
            self._hand_back(Answer(request.key, outcome, received.status, body, round(time.monotonic() - begun, 3)))
            if outcome == "answered":
                return
            request_counts.count("unreadable answer" if outcome == "unreadable" else f"refused with {received.status}")
            if outcome == "refused":
                return
            unreadable += 1
            if unreadable < self.settings.tries:
                request_counts.count(request_counts.RETRIES)

    def _hand_back(self, answer: Answer) -> None:
        with self._taking:
            if answer.outcome == "refused":
                self._refused.append(answer)
            elif not self.stopped:
                self.alike = False
            if self.alike and len(self._refused) >= _MAX_REFUSED:
                self._stopped.set()
        self._came.put(answer)

    def _answered(self, body: bytes, connection: Connection) -> HttpAnswer | None:
        """An answer of 200, or one that refuses this request; None where all was stopped."""
        why = ""
        for attempt in range(self.settings.retries + 1):
            self._stopped.wait(max(0.0, self._not_before - time.monotonic()))
            if self._stopped.is_set():
                return None
            wait = min(self.settings.longest_wait, self.settings.first_wait * 2.0**attempt)
            wait *= random.uniform(0.5, 1.0)  # so that requests that failed together do not come back together
            if attempt:
                request_counts.count(request_counts.RETRIES)
            try:
                received = connection.send(body)
            except BrokenConnectionError as error:
                why = str(error)
                request_counts.count("no answer")
            else:
                if received.status == 200 and self.plain is not None:
                    return received._replace(body=self.plain(body, received.body))
                if received.status == 200 or received.status in _REFUSED:
                    return received
                why = f"HTTP {received.status}"
                request_counts.count(why)
                if received.status not in _RETRYABLE and received.status < 500:
                    raise _http_error(received, self.settings)
                asked = _parse_retry_after(received.retry_after)
                if asked > _LONGEST_RETRY_AFTER:
                    raise JudgeError(f"the judge's endpoint asks to wait for {asked:,.0f} s ({why}); {_RESUME_HINT}")
                if asked:
                    self._not_before = max(self._not_before, time.monotonic() + asked)
            if attempt < self.settings.retries:
                self._stopped.wait(wait)
        raise JudgeError(
            f"the judge's endpoint gave no answer in {self.settings.retries + 1} tries (last: {why}); {_RESUME_HINT}"
        )


def _parse_retry_after(header: str | None) -> float:
    """The seconds of a Retry-After header: a number or a date; 0 where there is none or it makes no sense."""
    if not header:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError, TypeError):
            return 0.0
    return seconds if seconds > 0 else 0.0


def _http_error(received: HttpAnswer, settings: EndpointSettings) -> JudgeError:
    cure = {401: f"set {KEY}", 403: f"set {KEY}", 404: f"set {URL} (it ends in /v1, as a rule) and name a model it has"}
    said = _error_message(received.body.decode(errors="replace"), settings)
    return JudgeError(
        f"the judge's endpoint answered HTTP {received.status}{said}; {cure.get(received.status, f'set {URL}')}"
    )


def _refusal_error(answer: Answer, settings: EndpointSettings) -> JudgeError:
    said = _error_message(answer.body, settings)
    return JudgeError(f"the judge's endpoint refuses every request with HTTP {answer.status}{said}")


def _error_message(body: str, settings: EndpointSettings) -> str:
    """The message of an error as the endpoint words it."""
    try:
        message = orjson.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError, IndexError):
        message = body
    text = " ".join(settings.without_key(str(message)).split())
    return f" and says {brief(text, 200)}" if text else ""
