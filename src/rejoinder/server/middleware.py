"""Middleware: security headers on every answer, limits on every request."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import math
import time
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rejoinder.server.access import token_digest
from rejoinder.server.limits import RecentDigests, RequestRate, ServerLimits, TokenBuckets, client_key

# The style of pages for those who may not see style sheets; the policy allows exactly this text between <style> tags.
BARE_STYLE = (
    ":root{color-scheme:light dark}body{font:1.05rem/1.5 system-ui,sans-serif;margin:0}"
    "main{max-width:34rem;margin:18vh auto 0;padding:0 1.25rem}h1{font-size:1.5rem;margin:0 0 .5rem}p{margin:.5rem 0}"
    "a{color:inherit}"
)
_BARE_DIGEST = base64.b64encode(hashlib.sha256(BARE_STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'self' 'sha256-{_BARE_DIGEST}'; script-src 'self'; "
    "connect-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Robots-Tag": "noindex, nofollow",
}
TOO_LONG = "The request is too large."
TOO_SLOW = "The request took too long to arrive."
CLOSE_HEADERS = {"Connection": "close"}  # the rest of the body is not used
MOST_DISCARDED = 16  # times the largest body: so much is read of one that is larger, and forgotten


BEARER = "bearer "
Refuse = Callable[[Headers, int, str], Response]


class RequestGuard:
    """An app with security headers, a rate limit, a size limit on bodies and a time limit.

    A session is recognised by its cookie, or by the token in the request's header; ``refuse`` writes refusals.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: ServerLimits,
        known: RecentDigests,
        cookies: tuple[str, ...],
        clock: Callable[[], float] | None,
        refuse: Refuse | None = None,
    ) -> None:
        self.app = app
        self._limits, self._known, self._cookies = limits, known, cookies
        self._clock = clock or time.monotonic
        self._refuse = refuse or _refuse_plainly
        self._buckets = TokenBuckets(limits.clients)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        started = is_received = is_held = False

        async def received() -> Message:
            nonlocal is_received
            message = await receive()
            is_received = not message.get("more_body", False)
            return message

        async def guarded(message: Message) -> None:
            nonlocal started, is_held
            if message["type"] == "http.response.start":
                started, is_held = True, message["status"] == 413
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            elif is_held:  # the end of the answer closes the connection, so it waits for the rest of the body
                message = {**message, "more_body": True}
            await send(message)

        await self._answer(scope, received, guarded, lambda: started)
        if is_held:
            if not is_received:
                await self._discard_body(received)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _discard_body(self, receive: Receive) -> None:
        """Read the rest of a body that is too large, within limits: a client that still sends would see no answer."""
        size, end = 0, time.monotonic() + self._limits.body_seconds
        with contextlib.suppress(asyncio.TimeoutError):
            while size < MOST_DISCARDED * self._limits.body_bytes:
                message = await asyncio.wait_for(receive(), timeout=max(0.01, end - time.monotonic()))
                size += len(message.get("body", b""))
                if not message.get("more_body", False):  # it ends, or the client went away
                    return

    async def _answer(self, scope: Scope, receive: Receive, guarded: Send, has_started: Callable[[], bool]) -> None:
        if refusal := self._refusal(scope):
            await refusal(scope, receive, guarded)
            return
        try:
            await asyncio.wait_for(
                self.app(scope, self._limit_body(receive), guarded), timeout=self._limits.request_seconds
            )
        except TimeoutError:
            if not has_started():
                late = self._refuse(Headers(scope=scope), 503, "The request took too long; please try again.")
                await late(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if wait := self._buckets.wait(*self._bucket(scope, headers), self._clock()):
            busy = self._refuse(headers, 429, "Too many requests; please wait a moment, then try again.")
            busy.headers["Retry-After"] = str(math.ceil(wait))
            return busy
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 12 or int(length) > self._limits.body_bytes:
            long = self._refuse(headers, 413, TOO_LONG)
            long.headers.update(CLOSE_HEADERS)
            return long
        return None

    def _bucket(self, scope: Scope, headers: Headers) -> tuple[str, RequestRate]:
        """Return a session's own bucket if its cookie or token has been recognised before, else that of its address."""
        cookies = cookie_parser(headers.get("cookie", ""))
        authorization = headers.get("authorization", "")
        if (
            authorization[: len(BEARER)].lower() == BEARER
            and (key := token_digest(authorization[len(BEARER) :].strip())) in self._known
        ):
            return key, self._limits.session
        for name in self._cookies:
            if name in cookies and (key := token_digest(cookies[name])) in self._known:
                return key, self._limits.session
        client = scope.get("client")
        return "address " + client_key(client[0] if client else None), self._limits.address

    def _limit_body(self, receive: Receive) -> Receive:
        """Wrap ``receive`` so that a body that is too large or too slow is refused."""
        size, is_complete = 0, False
        end = time.monotonic() + self._limits.body_seconds

        async def bounded() -> Message:
            nonlocal size, is_complete
            if is_complete:  # a long response waits here for the client to disconnect
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), timeout=max(0.01, end - time.monotonic()))
            except TimeoutError:
                raise HTTPException(408, TOO_SLOW, CLOSE_HEADERS) from None
            is_complete = not message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > self._limits.body_bytes:
                raise HTTPException(413, TOO_LONG, CLOSE_HEADERS)
            return message

        return bounded


def _refuse_plainly(headers: Headers, status: int, sentence: str) -> Response:
    return PlainTextResponse(sentence, status)
