"""Annotation and exploration on one server: each request goes to the app that its path, link or cookie belongs to.

The two have separate tokens: raters see nothing of runs, and those who explore runs are not raters.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from rejoinder.server.annotation_app import OWNER_PATHS, RATER_PATHS
from rejoinder.server.api.auth import TokenAuth
from rejoinder.server.templates import BOTH

ANNOTATION_STATIC = frozenset({"/static/annotate.css", "/static/annotate.js"})
SHARED_PATHS = frozenset({"/", "/static/icon.svg"})  # both apps have these


class AppDispatcher:
    """Two apps behind one address; ``auth`` belongs to the exploring one."""

    def __init__(self, explore: ASGIApp, annotate: ASGIApp, auth: TokenAuth) -> None:
        self._explore, self._annotate, self._auth = explore, annotate, auth

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; pages then link to the other app."""
        scope[BOTH] = True
        app = self._annotate if scope["type"] == "http" and self._is_of_annotation(Request(scope)) else self._explore
        await app(scope, receive, send)

    def _is_of_annotation(self, request: Request) -> bool:
        path = request.url.path
        if path in SHARED_PATHS:
            return not self._auth.knows(request)
        if path.startswith("/r/"):
            return not self._auth.is_token(path.removeprefix("/r/"))
        return path in RATER_PATHS or path in OWNER_PATHS or path.startswith("/owner/") or path in ANNOTATION_STATIC
