"""Authentication: clients need the server's token, in a header or, in a browser, as the cookie that its link sets.

A program sends ``Authorization: Bearer TOKEN``. A browser sends its cookie automatically, whichever site made it do so:
therefore requests that change or compute something must also carry the mark that only our own pages have.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping, Sequence

from starlette.requests import Request

from rejoinder.errors import InputError
from rejoinder.server.access import cookie_name, is_genuine, make_csrf_mark, token_digest
from rejoinder.server.limits import RecentDigests
from rejoinder.server.middleware import BEARER
from rejoinder.server.site import is_own_origin

MARK_HEADER = "x-rejoinder-mark"
MIN_TOKEN = 16  # characters of a token
_SAFE_METHODS = frozenset({"GET", "HEAD"})


class TokenAuth:
    """A server's token, and how requests are checked for it (by comparing digests)."""

    def __init__(self, token: str | None, url: str) -> None:
        self.token = token or secrets.token_urlsafe(24)
        if len(self.token) < MIN_TOKEN or not self.token.isascii() or not self.token.isprintable() or " " in self.token:
            raise InputError(
                f"a token needs at least {MIN_TOKEN} ASCII characters and no spaces; leave it out to get a new one"
            )
        self.url = url.rstrip("/")
        # Browsers do not tell ports apart, so servers on one machine need different cookie names.
        self.cookie = cookie_name(f"serve {token_digest(self.token)}", "owner")
        self.known = RecentDigests(1)
        self.known.add(token_digest(self.token))
        self.mark = make_csrf_mark(self.token)

    @property
    def secure(self) -> bool:
        """Whether cookies are sent over encrypted connections only."""
        return self.url.startswith("https:")

    @property
    def link(self) -> str:
        """The link that logs a browser in."""
        return f"{self.url}/r/{self.token}"

    def is_token(self, text: str) -> bool:
        """Whether a text is the token, compared in constant time."""
        return hmac.compare_digest(token_digest(text), token_digest(self.token))

    def knows(self, request: Request) -> bool:
        """Whether a request carries the token."""
        return self._by_header(request.headers) or self.is_token(request.cookies.get(self.cookie, ""))

    def is_forged(self, request: Request, form: Sequence[tuple[str, str]] | None = None) -> bool:
        """Whether another site may have made the browser send this; the mark is in the form, or else in a header."""
        if request.method in _SAFE_METHODS or self._by_header(request.headers):
            return False
        marks = [("csrf", mark) for mark in request.headers.getlist(MARK_HEADER)] if form is None else form
        return not (is_own_origin(request.headers) and is_genuine(self.token, marks))

    def _by_header(self, headers: Mapping[str, str]) -> bool:
        authorization = headers.get("authorization", "")
        return authorization[: len(BEARER)].lower() == BEARER and self.is_token(authorization[len(BEARER) :].strip())
