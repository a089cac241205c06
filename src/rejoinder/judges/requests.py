"""Many requests to one endpoint: a limited number in flight, retries with growing pauses, answers stored at once."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TypeAlias

from rejoinder.engines import request_counts
from rejoinder.errors import JudgeError, brief
from rejoinder.judges.answer_store import AnswerOutcome, AnswerStore, StoredAnswer
from rejoinder.judges.budget import Budget, Charge
from rejoinder.judges.completion import ChatCompletion, parse_chat_completion
from rejoinder.judges.connection import CHAT, PLAIN, BrokenConnectionError, EndpointConnection, HttpAnswer
from rejoinder.judges.negotiation import StyleNegotiation
from rejoinder.judges.protocol import EndpointRequest, RequestStyle, read_error_message
from rejoinder.judges.settings import EndpointSettings

_RETRYABLE = frozenset({408, 409, 425, 429})  # and 5xx: a retry may succeed
_REFUSED = frozenset({400, 413, 422})  # this request will never be answered; others may
_OUT_OF_MONEY = ("insufficient_quota", "credit balance")  # no retry helps, and no other request either
_MAX_REFUSED = 3  # at the start: then something is wrong with all of them
_LONGEST_RETRY_AFTER = 3600.0
_TICK = 0.2  # seconds between two checks of the time limits
_SLOW_HINT = ": for a slow model set REJOINDER_JUDGE_TIMEOUT higher, or REJOINDER_JUDGE_IN_FLIGHT lower"
_RESUME_HINT = "every answer so far is stored: run the same command again to continue"

Readable: TypeAlias = Callable[[ChatCompletion], bool]
ChatConverter: TypeAlias = Callable[[bytes, bytes], bytes]
_Event: TypeAlias = tuple[StoredAnswer, Charge] | JudgeError | None  # None: a worker is done


def send_requests(
    requests: Iterable[EndpointRequest],
    settings: EndpointSettings,
    store: AnswerStore,
    readable: Readable,
    plain: ChatConverter | None = None,
    budget: Budget | None = None,
) -> None:
    """Send every request and store its answer; requests with a stored answer are not sent. The store must be claimed.

    With ``plain``, requests go to /completions, and it converts a request and its answer to a chat answer. With a
    ``budget``, which must be claimed too, no request is sent that might pass it.
    """
    unanswered = _find_unanswered(requests, settings.tries, store, readable)
    # If any request was answered before, a refusal concerns only its own request.
    negotiation = StyleNegotiation(settings, plain is not None, store.last_style)
    only_refusals = not store.has_answers
    pool = _RequestPool(settings, unanswered, readable, plain, negotiation, only_refusals, budget)
    try:
        pool.start()
        for event in pool.events():
            if isinstance(event, JudgeError):
                raise event
            answer, charge = event
            store.add(answer)
            charge.settle(answer)
            if pool.stopped:
                break
        if pool.refusal is not None:
            raise _refusal_error(pool.refusal, settings, negotiation)
    finally:
        pool.stop()


def is_unanswered(stored: Sequence[StoredAnswer], tries: int, readable: Readable) -> bool:
    """Whether a request still needs an answer: no stored answer can be read, and tries are left."""
    paid = [answer for answer in stored if answer.outcome != "refused"]
    return len(paid) < tries and not any(readable(parse_chat_completion(answer.body.encode())) for answer in paid)


def _find_unanswered(
    requests: Iterable[EndpointRequest], tries: int, store: AnswerStore, readable: Readable
) -> Iterator[tuple[EndpointRequest, int]]:
    """The requests that still need an answer, each once, with the number of unreadable answers so far."""
    seen: set[str] = set()
    for request in requests:
        if request.key in seen:
            continue
        seen.add(request.key)
        stored = store.get_all(request.key)
        if is_unanswered(stored, tries, readable):
            yield request, sum(answer.outcome != "refused" for answer in stored)


@dataclass
class _RequestPool:
    """The workers of one call of ``send_requests``: threads that send requests and return the answers.

    They stop by themselves after the first refusals if nothing else has arrived, because the reader may be slower.
    Where it is not known how the endpoint wants its requests, one worker finds out before the others begin.
    """

    settings: EndpointSettings
    todo: Iterator[tuple[EndpointRequest, int]]
    readable: Readable
    plain: ChatConverter | None
    negotiation: StyleNegotiation
    only_refusals: bool  # only refusals so far
    budget: Budget | None = None
    _refused: list[StoredAnswer] = field(default_factory=list)
    _events: queue.SimpleQueue[_Event] = field(default_factory=queue.SimpleQueue)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _failed: threading.Event = field(default_factory=threading.Event)  # the reader will raise; what arrived is stored
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _connections: list[EndpointConnection] = field(default_factory=list)
    _not_before: float = 0.0  # the endpoint asked to wait until then
    _workers: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Start as many workers as requests may be in flight, but none without work."""
        while len(self._workers) < self.settings.in_flight:
            first = self._next()
            if first is None:
                return
            if not self._workers:
                self.negotiation.choose(first[0].form)
            connection = EndpointConnection(self.settings, CHAT if self.plain is None else PLAIN)
            self._connections.append(connection)
            # Daemons: a program that is stopped does not wait for the endpoint.
            arguments = (first, connection, not self._workers)
            worker = threading.Thread(target=self._work, args=arguments, daemon=True)
            worker.start()
            self._workers.append(worker)

    def events(self) -> Iterator[tuple[StoredAnswer, Charge] | JudgeError]:
        """The answers and errors of the workers until all have ended; checks time limits meanwhile."""
        n_running, checked_at = len(self._workers), time.monotonic()
        while n_running:
            if time.monotonic() - checked_at >= _TICK:
                checked_at = time.monotonic()
                for connection in self._connections:
                    connection.check_deadline()
            try:
                event = self._events.get(timeout=_TICK)
            except queue.Empty:
                continue
            if event is None:
                n_running -= 1
            else:
                yield event

    @property
    def stopped(self) -> bool:
        """Whether the workers take no more requests."""
        return self._stopped.is_set()

    @property
    def refusal(self) -> StoredAnswer | None:
        """The first refusal, if nothing else has arrived."""
        return self._refused[0] if self.only_refusals and self._refused else None

    def stop(self) -> None:
        """Stop all workers; requests in flight are lost."""
        self._stopped.set()
        self.negotiation.ready.set()
        for connection in self._connections:
            connection.abort()
        for worker in self._workers:
            worker.join(_TICK)

    def _next(self) -> tuple[EndpointRequest, int] | None:
        with self._lock:
            return next(self.todo, None)

    def _work(self, task: tuple[EndpointRequest, int] | None, connection: EndpointConnection, is_first: bool) -> None:
        try:
            if not is_first:
                self.negotiation.ready.wait()
            while task is not None and not self._stopped.is_set() and not self._failed.is_set():
                self._answer_request(*task, connection)
                task = self._next()
        except JudgeError as error:
            self._failed.set()
            self._events.put(error)
        except Exception as error:  # a bug must not leave the reader waiting
            self._events.put(JudgeError(f"the request to the judge failed: {type(error).__name__}: {error}"))
        finally:
            if is_first:
                self.negotiation.ready.set()
            connection.close()
            self._events.put(None)

    def _answer_request(self, request: EndpointRequest, unreadable: int, connection: EndpointConnection) -> None:
        """Send a request until an answer can be read or the tries are used up."""
        while unreadable < self.settings.tries:
            started = time.monotonic()
            charge = Charge(self.budget, lambda: self.stopped)
            sent = self._send_in_style(request, bool(unreadable), connection, charge)
            if sent is None:
                return
            response, style = sent
            readable = response.status == 200 and self.readable(parse_chat_completion(response.body))
            outcome: AnswerOutcome = "answered" if readable else "unreadable" if response.status == 200 else "refused"
            body = self.settings.without_key(response.body.decode(errors="replace"))
            seconds = round(time.monotonic() - started, 3)
            answer = StoredAnswer(
                request.key, outcome, response.status, body, seconds, self.negotiation.describe(style)
            )
            self._report(answer, charge)
            if outcome == "answered":
                return
            request_counts.count_request(
                "unreadable answer" if outcome == "unreadable" else f"refused with {response.status}"
            )
            if outcome == "refused":
                return
            unreadable += 1
            if unreadable < self.settings.tries:
                request_counts.count_request(request_counts.RETRIES)

    def _report(self, answer: StoredAnswer, charge: Charge) -> None:
        with self._lock:
            if answer.outcome == "refused":
                self._refused.append(answer)
            elif not self.stopped:
                self.only_refusals = False
            if self.only_refusals and len(self._refused) >= _MAX_REFUSED:
                self._stopped.set()
        self._events.put((answer, charge))

    def _send_in_style(
        self, request: EndpointRequest, again: bool, connection: EndpointConnection, charge: Charge
    ) -> tuple[HttpAnswer, RequestStyle] | None:
        """An answer and the style in which it was asked for; None if the pool was stopped."""
        while True:
            style = self.negotiation.style
            raw = self.negotiation.write(request, again, style)
            is_final = partial(self.negotiation.refuses, request, style)
            response = self._send_with_retries(raw, connection, is_final, charge)
            if response is None:
                return None
            if response.status == 200:
                self.negotiation.confirm(style)
            if response.status == 200 or not self.negotiation.adapt(request, style, response):
                return response, style

    def _send_with_retries(
        self, body: bytes, connection: EndpointConnection, is_final: Callable[[HttpAnswer], bool], charge: Charge
    ) -> HttpAnswer | None:
        """An answer with status 200, a refusal of this request or a final one; None if the pool was stopped."""
        why = ""
        for attempt in range(self.settings.retries + 1):
            self._stopped.wait(max(0.0, self._not_before - time.monotonic()))
            if self._stopped.is_set() or not charge.reserve(body):
                return None
            wait = min(self.settings.longest_wait, self.settings.first_wait * 2.0**attempt)
            wait *= random.uniform(0.5, 1.0)  # so that requests that failed together are not retried together
            if attempt:
                request_counts.count_request(request_counts.RETRIES)
            try:
                response = connection.send(body)
            except BrokenConnectionError as error:
                why = str(error)
                request_counts.count_request("no answer")
                charge.cancel(maybe_paid=error.sent)
            else:
                if response.status == 200 and self.plain is not None:
                    return response._replace(body=self.plain(body, response.body))
                if response.status == 200:
                    return response
                charge.cancel(maybe_paid=False)
                message = read_error_message(response.body.decode(errors="replace"))
                if any(mark in message[:1000] for mark in _OUT_OF_MONEY):
                    raise _http_error(response, self.settings)
                if is_final(response) or response.status in _REFUSED:
                    return response
                request_counts.count_request(f"HTTP {response.status}")
                why = f"HTTP {response.status}{_error_message(message, self.settings)}"
                if response.status not in _RETRYABLE and response.status < 500:
                    raise _http_error(response, self.settings)
                pause = _parse_retry_after(response.retry_after)
                if pause > _LONGEST_RETRY_AFTER:
                    raise JudgeError(f"the judge's endpoint asks to wait for {pause:,.0f} s ({why}); {_RESUME_HINT}")
                if pause:
                    self._not_before = max(self._not_before, time.monotonic() + pause)
            if attempt < self.settings.retries:
                self._stopped.wait(wait)
        slow = _SLOW_HINT if "complete answer within" in why else ""
        raise JudgeError(
            f"the judge's endpoint gave no answer in {self.settings.retries + 1} tries (last: {why}{slow}); "
            f"{_RESUME_HINT}"
        )


def _parse_retry_after(header: str | None) -> float:
    """The seconds of a Retry-After header: a number or a date; 0 if there is none or it is invalid."""
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


def _http_error(response: HttpAnswer, settings: EndpointSettings) -> JudgeError:
    remedy = f"set {settings.url_name}"
    if response.status in (401, 403):
        remedy = f"set {settings.key_name}"
    elif response.status in (400, 402, 429):
        remedy = f"add credit to the account, then continue: {_RESUME_HINT}"
    elif response.status == 404 and settings.provider == "ollama":
        remedy = f"run: ollama pull {settings.model}"
    elif response.status == 404:
        remedy += " (usually ending in /v1) and use a model that it has"
    message = _error_message(response.body.decode(errors="replace"), settings)
    return JudgeError(f"the judge's endpoint answered HTTP {response.status}{message}; {remedy}")


def _refusal_error(answer: StoredAnswer, settings: EndpointSettings, negotiation: StyleNegotiation) -> JudgeError:
    message = _error_message(answer.body, settings)
    named = negotiation.describe_format(negotiation.style)
    remedy = f"; if it does not take {named}, leave format out" if named else ""
    return JudgeError(f"the judge's endpoint refuses every request with HTTP {answer.status}{message}{remedy}")


def _error_message(body: str, settings: EndpointSettings) -> str:
    """The endpoint's own error message."""
    text = " ".join(settings.without_key(read_error_message(body)).split())
    return f" and says {brief(text, 200)}" if text and not text.startswith("<") else ""  # no page of a proxy
