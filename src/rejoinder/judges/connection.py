"""One connection to an endpoint: sends a request and returns the complete answer, within a time limit.

A socket's own timeout limits each read, so a server that sends one byte per minute could hold it forever. So whoever
waits for the answer calls ``check_deadline``, which breaks the connection when the whole exchange takes too long.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from typing import NamedTuple
from urllib.parse import urlsplit

from rejoinder.judges.settings import EndpointSettings

CHAT, PLAIN, MESSAGES = "/chat/completions", "/completions", "/messages"
_ANTHROPIC_VERSION = "2023-06-01"
_MAX_BYTES = 8 << 20  # of one answer
_STALE = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)


class HttpAnswer(NamedTuple):
    """A complete HTTP response."""

    status: int
    body: bytes
    retry_after: str | None


class BrokenConnectionError(Exception):
    """No complete answer: refused, interrupted, cut short or too late; ``sent`` if the request may have arrived."""

    def __init__(self, why: str, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class EndpointConnection:
    """A connection that stays open between requests; used by one thread."""

    def __init__(self, settings: EndpointSettings, path: str = CHAT) -> None:
        """Connect to a path below the URL of the settings; Anthropic's messages have their own."""
        path = MESSAGES if settings.is_anthropic else path
        parts = urlsplit(settings.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._http = kind(parts.hostname or "", parts.port, timeout=settings.timeout)
        self._path = parts.path.removesuffix(path) + path
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if settings.is_anthropic:
            self._headers |= {"anthropic-version": _ANTHROPIC_VERSION, "x-api-key": settings.key}
        elif settings.key:
            self._headers["Authorization"] = f"Bearer {settings.key}"
        self._timeout = settings.timeout
        self._deadline: float | None = None
        self._late = False
        self._sent = False

    def send(self, body: bytes) -> HttpAnswer:
        """Post a request and read its answer."""
        was_open = self._http.sock is not None
        try:
            return self._exchange(body)
        except _STALE as error:
            # The server may close a connection that it kept open just when it is used again: this is not an error.
            if not was_open or self._late:
                raise BrokenConnectionError(self._why(error), self._sent) from None
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            # The last two: what http.client raises when its socket was closed meanwhile.
            raise BrokenConnectionError(self._why(error), self._sent) from None
        try:
            return self._exchange(body)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            raise BrokenConnectionError(self._why(error), self._sent) from None

    def _exchange(self, body: bytes) -> HttpAnswer:
        self._late, self._sent, self._deadline = False, False, time.monotonic() + self._timeout
        try:
            if self._http.sock is None:
                self._http.connect()  # this also turns off Nagle's algorithm
            self._sent = True
            self._http.request("POST", self._path, body, self._headers)
            answer = self._http.getresponse()
            raw = answer.read(_MAX_BYTES + 1)
            if len(raw) > _MAX_BYTES:
                raise http.client.HTTPException("the answer is longer than 8 MiB")
            if answer.length:  # read() with a size returns what is there, however little
                raise http.client.IncompleteRead(raw, answer.length)
            if self._late:
                raise TimeoutError
            return HttpAnswer(answer.status, raw, answer.getheader("Retry-After"))
        except BaseException:
            self._http.close()
            raise
        finally:
            self._deadline = None

    def close(self) -> None:
        """Close the connection; call it from the thread that uses it."""
        self._http.close()

    def check_deadline(self) -> None:
        """Break off the current exchange if its time is up; called from another thread."""
        deadline = self._deadline
        if deadline is not None and time.monotonic() > deadline:
            self._late = True
            self.abort()

    def abort(self) -> None:
        """Break off the current exchange; called from another thread."""
        open_socket = self._http.sock
        if open_socket is not None:
            with contextlib.suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    def _why(self, error: Exception) -> str:
        if self._late or isinstance(error, TimeoutError):
            return f"no complete answer within {self._timeout:g} s"
        if isinstance(error, http.client.IncompleteRead | http.client.HTTPException):
            return "the answer was cut off or is not valid HTTP"
        return f"the connection failed ({getattr(error, 'strerror', None) or type(error).__name__})"
