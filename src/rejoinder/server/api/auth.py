"""Who may use the server: who has its token, in a header or, in a browser, as the cookie that its link leaves.

A program sends ``Authorization: Bearer TOKEN``. A browser sends its cookie by itself, whoever asked it to: so what
changes or computes something must also carry the mark that only a page of ours can have.
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
    """A server's token, of which only the digest is kept for comparing, and how it comes with requests."""

    def __init__(self, token: str | None, url: str) -> None:
        self.token = token or secrets.token_urlsafe(24)
        if len(self.token) < MIN_TOKEN or not self.token.isascii() or not self.token.isprintable() or " " in self.token:
            raise InputError(
                f"a token has at least {MIN_TOKEN} letters, digits or signs and no space; leave it out to get one"
            )
        self.url = url.rstrip("/")
        # Browsers do not tell ports apart, so servers of one machine must not take each other's cookies.
        self.cookie = cookie_name(f"serve {token_digest(self.token)}", "owner")
        self.known = RecentDigests(1)
        self.known.add(token_digest(self.token))
        self.mark = make_csrf_mark(self.token)

    @property
    def secure(self) -> bool:
        """Whether cookies are for encrypted connections only."""
        return self.url.startswith("https:")

    @property
    def link(self) -> str:
        """The address that lets a browser in."""
        return f"{self.url}/r/{self.token}"

    def is_token(self, given: str) -> bool:
        """Whether a text is the token; it takes as long whatever it is."""
        return hmac.compare_digest(token_digest(given), token_digest(self.token))

    def knows(self, request: Request) -> bool:
        """Whether a request comes with the token."""
        return self._by_header(request.headers) or self.is_token(request.cookies.get(self.cookie, ""))

    def is_forged(self, request: Request, form: Sequence[tuple[str, str]] | None = None) -> bool:
        """Whether another site may have made the browser send this; the mark is in its form, or else in a header."""
        if request.method in _SAFE_METHODS or self._by_header(request.headers):
            return False
        sent = [("csrf", mark) for mark in request.headers.getlist(MARK_HEADER)] if form is None else form
        return not (is_own_origin(request.headers) and is_genuine(self.token, sent))

    def _by_header(self, headers: Mapping[str, str]) -> bool:
        given = headers.get("authorization", "")
        return given[: len(BEARER)].lower() == BEARER and self.is_token(given[len(BEARER) :].strip())
